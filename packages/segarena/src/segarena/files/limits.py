"""How much one file may ask for, held against its header before anything is allocated. One limit, for every format.

A file of a few hundred bytes can claim an image of many gigabytes. What a header claims is counted first: a picture may
have `pixel_limit()` pixels and a file of arrays as many numbers; the masks of one annotated image
together, each cropped to what it shows, may have `mask_pixel_limit()`; a volume, a stack of labels of a video or a table as
many numbers as `voxel_limit()`; XML as many tags and attributes as `xml_element_limit()`.
`segarena --max-pixels N ...` raises the limit, and so does the environment variable, which worker processes inherit.
"""

from __future__ import annotations

import os
from pathlib import Path

from segarena.errors import InvalidInput

PIXEL_LIMIT_VARIABLE = "SEGARENA_MAX_PIXELS"
DEFAULT_PIXEL_LIMIT = 2**30 // 12
"""89 million pixels, where Pillow's own warning starts: a quarter of a GiB as RGB."""
IN_FILE = 2
"""The masks of one image may together be as large as this many pictures; each takes a byte per pixel, twice."""

PER_ELEMENT = 40
"""A tag or attribute of XML may stand for so many pixels: it takes up to 350 bytes."""

DEFAULT_VOXEL_LIMIT = 2**31
"""Of a volume, of all planes or frames together: 1290 along each edge of a cube, or 24 pictures."""


def pixel_limit() -> int:
    """Return how many pixels a picture may have.

    Raises:
        InvalidInput: the environment variable is not a number above 0.
    """
    text = os.environ.get(PIXEL_LIMIT_VARIABLE, "")
    if not text:
        return DEFAULT_PIXEL_LIMIT
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise InvalidInput(
            f"{PIXEL_LIMIT_VARIABLE}={text!r}: expected a number of pixels such as {DEFAULT_PIXEL_LIMIT}"
        )
    return int(text)


def mask_pixel_limit() -> int:
    """Return how many pixels the masks of one image may have together."""
    return IN_FILE * pixel_limit()


def voxel_limit() -> int:
    """Return how many numbers a volume, the labels of a video or a table may have; it grows with `pixel_limit`."""
    return DEFAULT_VOXEL_LIMIT * pixel_limit() // DEFAULT_PIXEL_LIMIT


def xml_element_limit() -> int:
    """Return how many tags and attributes XML may have together: 2.2 million; it grows with `pixel_limit`."""
    return pixel_limit() // PER_ELEMENT


def check_pixels(
    claimed: int,
    path: Path | str,
    *,
    error: type[Exception] = InvalidInput,
    most: int | None = None,
) -> None:
    """Raise unless a picture may have as many pixels as its header claims.

    Args:
        claimed: pixels, from the header.
        path: of the file, or what else names it.
        error: the type to raise.
        most: how many there may be; None takes `pixel_limit()`.
    """
    limit = pixel_limit() if most is None else most
    if claimed > limit:
        raise error(
            f"{path}: expected at most {limit:,} pixels, its header promises {claimed:,}; scale it down or crop it, or "
            f"raise the limit with segarena --max-pixels or {PIXEL_LIMIT_VARIABLE}"
        )


def check_mask_pixels(
    claimed: int, path: Path | str, *, error: type[Exception] = InvalidInput
) -> None:
    """Raise unless the masks of one image may be as large as is claimed; see `check_pixels`."""
    check_pixels(claimed, path, error=error, most=mask_pixel_limit())


def check_voxels(
    claimed: int,
    path: Path | str,
    *,
    error: type[Exception] = InvalidInput,
    most: int | None = None,
) -> None:
    """Raise unless a volume, the labels of a video or a table may have as many numbers; see `check_pixels`."""
    limit = voxel_limit() if most is None else most
    if claimed > limit:
        if most is None:
            how = f"the limit with segarena --max-pixels or {PIXEL_LIMIT_VARIABLE}"
        else:
            how = "max_voxels"
        told = f"{path}: expected at most {limit:,} voxels, the header promises {claimed:,}"
        raise error(f"{told}; crop or split it, or raise {how}")
