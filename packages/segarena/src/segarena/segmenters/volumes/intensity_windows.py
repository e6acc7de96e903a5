"""Intensity windows of scans: percentile ranges and conversion to grey levels, as in RadioActive.

Pure functions on arrays in (plane, row, column). Where the code of RadioActive has a mistake, the
function has a parameter `is_published`. By default the mistake is corrected, and the docstring
describes it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidImage

Range: TypeAlias = tuple[float, float]
"""Lowest and highest intensity of a window; values beyond them are clipped."""

_EPSILON = 1e-10
"""Avoids a division by zero, as in RadioActive's code."""

_SCAN_WITH_NAN = "the scan contains NaN; replace it with the value of air or background first"


def percentile_range(
    values: NDArray[Any],
    low: float = 0.5,
    high: float = 99.5,
) -> Range:
    """Return two percentiles of all values, interpolated linearly between ranks; (0, 0) without values.

    Integers of at most 16 bits are counted instead of sorted, which avoids a copy of the scan.

    Raises:
        InvalidImage: a value is NaN.
    """
    if not values.size:
        return 0.0, 0.0
    if values.dtype.kind in "iub" and values.dtype.itemsize <= 2:
        return _counted_range(values, low, high)
    bounds = np.percentile(values, (low, high)).astype(np.float64)
    if np.isnan(bounds).any():
        raise InvalidImage(_SCAN_WITH_NAN)
    return float(bounds[0]), float(bounds[1])


def slice_range(
    plane: NDArray[Any],
    low: float = 0.5,
    high: float = 99.5,
    *,
    is_published: bool = False,
) -> Range:
    """Return two percentiles of a slice's foreground; (0, 0) without foreground.

    The foreground is all values above the slice's minimum. The published code uses the values above
    0. This is the same if the background is 0 and 0 is the minimum, but in CT it drops fat, lungs
    and all other negative HU.
    """
    floor = 0 if is_published else plane.min()
    return percentile_range(plane[plane > floor], low, high)


def to_grey(plane: NDArray[Any], window: Range) -> NDArray[np.uint8]:
    """Scale the intensities in a window to 0..255, rounded half to even; clip intensities outside it.

    A window of width 0 gives 0 everywhere.

    Raises:
        InvalidImage: a value of the slice is NaN.
    """
    low, high = window
    clipped = np.clip(np.asarray(plane, dtype=np.float64), low, high)
    if np.isnan(clipped).any():
        raise InvalidImage(_SCAN_WITH_NAN)
    scaled = (clipped - low) / (high - low + _EPSILON) * 255
    return np.round(scaled).astype(np.uint8)


def resize_to_unit_square(image: NDArray[Any], side: int) -> NDArray[np.float32]:
    """Resize an image (H, W, 3) bicubically to a square, ignoring its aspect ratio, and stretch values to 0..1."""
    wide = image.astype(np.float64)
    square = np.asarray(cv2.resize(wide, (side, side), interpolation=cv2.INTER_CUBIC))
    low = float(square.min())
    high = float(square.max())
    stretched = (square - low) / max(high - low, 1e-8)
    return stretched.astype(np.float32)


def _counted_range(
    values: NDArray[Any],
    low: float,
    high: float,
) -> Range:
    first = int(values.min())
    last = int(values.max())
    counts = np.zeros(last - first + 1, np.int64)
    # One slice at a time, because counting copies its input.
    slices = values if values.ndim > 2 else (values,)
    for part in slices:
        offsets = part.ravel().astype(np.int32) - first
        counts += np.bincount(offsets, minlength=len(counts))
    ranks = np.cumsum(counts)

    def value_at(percentile: float) -> float:
        rank = percentile / 100 * (values.size - 1)
        lower_rank = np.floor(rank)
        neighbours = [lower_rank, np.ceil(rank)]
        below, above = np.searchsorted(ranks, neighbours, side="right")
        # Interpolated linearly between ranks, like `np.percentile`.
        return first + float(below) + float(above - below) * (rank - lower_rank)

    return value_at(low), value_at(high)
