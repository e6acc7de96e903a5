"""Limits on the size that a file header may claim, checked before memory is allocated.

A file of a few hundred bytes can claim an image of many gigabytes. There are four limits:
`pixel_limit()` for an image and for the values in a file of arrays; `mask_pixel_limit()` for all
masks of one annotated image, each cropped to its object; `voxel_limit()` for a volume, the labels
of a video or a table; and `xml_element_limit()` for XML tags and attributes. All of them scale with
`segarena --max-pixels N ...` or SEGARENA_MAX_PIXELS, which worker processes inherit.
"""

from __future__ import annotations

import os
from pathlib import Path

from segarena.errors import InvalidInput

PIXEL_LIMIT_VARIABLE = "SEGARENA_MAX_PIXELS"
DEFAULT_PIXEL_LIMIT = 2**30 // 12
"""89 million pixels, the default of Pillow's own warning: a quarter of a GiB as RGB."""
MASK_FACTOR = 2
"""The masks of an image may have as many pixels as this many images; reading a mask takes two bytes per pixel."""

PIXELS_PER_ELEMENT = 40
"""An XML tag or attribute counts as this many pixels, because it takes up to 350 bytes."""

DEFAULT_VOXEL_LIMIT = 2**31
"""Limit for all planes or frames together: a cube with edges of 1290 voxels, or 24 images."""


def pixel_limit() -> int:
    """Return the limit on the pixels of an image.

    Raises:
        InvalidInput: the environment variable is not a positive integer.
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
    """Return the limit on the pixels of all masks of an image together."""
    return MASK_FACTOR * pixel_limit()


def voxel_limit() -> int:
    """Return the limit on the values in a volume, the labels of a video or a table; it scales with `pixel_limit`."""
    return DEFAULT_VOXEL_LIMIT * pixel_limit() // DEFAULT_PIXEL_LIMIT


def xml_element_limit() -> int:
    """Return the limit on tags and attributes of XML, by default 2.2 million; it scales with `pixel_limit`."""
    return pixel_limit() // PIXELS_PER_ELEMENT


def check_pixels(
    claimed: int,
    path: Path | str,
    *,
    error: type[Exception] = InvalidInput,
    most: int | None = None,
) -> None:
    """Raise an error if a header claims more pixels than the limit.

    Args:
        claimed: number of pixels that the header claims.
        path: the file, or another name for messages.
        error: the exception type to raise.
        most: the limit; None takes `pixel_limit()`.
    """
    limit = pixel_limit() if most is None else most
    if claimed > limit:
        raise error(
            f"{path}: expected at most {limit:,} pixels, but the header claims {claimed:,}; scale it down or crop it, "
            f"or raise the limit with segarena --max-pixels or {PIXEL_LIMIT_VARIABLE}"
        )


def check_mask_pixels(
    claimed: int,
    path: Path | str,
    *,
    error: type[Exception] = InvalidInput,
) -> None:
    """Raise an error if the masks of an image exceed their limit; see `check_pixels`."""
    check_pixels(claimed, path, error=error, most=mask_pixel_limit())


def check_voxels(
    claimed: int,
    path: Path | str,
    *,
    error: type[Exception] = InvalidInput,
    most: int | None = None,
) -> None:
    """Raise an error if a volume, the labels of a video or a table exceed their limit; see `check_pixels`."""
    limit = voxel_limit() if most is None else most
    if claimed > limit:
        if most is None:
            remedy = f"the limit with segarena --max-pixels or {PIXEL_LIMIT_VARIABLE}"
        else:
            remedy = "max_voxels"
        problem = f"{path}: expected at most {limit:,} voxels, but the header claims {claimed:,}"
        raise error(f"{problem}; crop or split it, or raise {remedy}")
