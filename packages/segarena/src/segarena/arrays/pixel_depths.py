"""Depths of a mask's pixels: squared distances to its outside, computed for those pixels alone.

Errors of a prediction are mostly thin: an outline, a few specks. Visiting their few pixels a few times takes a tenth of
the time of a distance transform, which visits every pixel of the window.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window
from segarena.samples import Mask

# Measured: 14 ns for each visit to a pixel; a transform takes 8 to 10 ns for every pixel of its window.
_VISIT_NS = 14
_TRANSFORM_NS = 8
# A mask is thin when it has at most one pixel to this many of its rows' pixels.
_THIN = 10
# Below this many pixels a transform takes no longer.
_SMALL = 1 << 12
# Up to this side sums of two squares of distances within the mask fit into 32 bits.
_MAX_SIDE = 1 << 15


class PixelDepths(NamedTuple):
    """The pixels of a mask, in raster order, with their depths.

    Attributes:
        window: one that holds the mask.
        pixels: flat indices in the window, ascending.
        squared: squared distance of each pixel to the nearest one outside; whole numbers.
    """

    window: Window
    pixels: NDArray[np.int64]
    squared: NDArray[Any]

    def position(self, place: int) -> tuple[int, ...]:
        """Return the position in the array of the pixel at index `place` of `pixels`."""
        return position_of_pixel(self.window, int(self.pixels[place]))

    def deepest(self, forbidden: Collection[tuple[int, ...]] = ()) -> int | None:
        """Return the index in `pixels` of the first deepest pixel not in `forbidden`; None if there is none."""
        squared = self.squared
        while len(squared):
            place = int(squared.argmax())
            if not squared[place]:
                return None
            if self.position(place) not in forbidden:
                return place
            if squared is self.squared:
                squared = squared.copy()
            squared[place] = 0
        return None


def position_of_pixel(window: Window, pixel: int) -> tuple[int, ...]:
    """Convert a flat index in the crop to `window` into a position in the whole array.

    >>> position_of_pixel((slice(2, 4), slice(5, 8)), 4)
    (3, 6)
    """
    position: list[int] = []
    for side in reversed(window):
        pixel, within = divmod(pixel, side.stop - side.start)
        position.append(side.start + within)
    return tuple(reversed(position))


def pixel_depths(mask: Mask) -> PixelDepths:
    """Return `squared_distance` at the True pixels of `mask`; the frame's border is an edge.

    >>> pixel_depths(np.array([[0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool)).squared.tolist()
    [1, 1, 1, 1, 2, 4, 1, 1, 1, 1]

    Args:
        mask: bool, any number of axes.
    """
    from segarena.arrays.distance_transform import (
        squared_distance,  # here, so that samples and prompts can be imported without OpenCV
    )

    (thin,) = thin_mask_depths(mask)
    if thin is not None:
        return thin
    window = bounding_window(mask)
    crop = mask[window]
    pixels = np.flatnonzero(crop)
    return PixelDepths(window, pixels, squared_distance(crop).ravel()[pixels])


def thin_mask_depths(*masks: Mask) -> list[PixelDepths | None]:
    """Return `pixel_depths` of several masks of one shape at once; None for those that are not images or not thin.

    The distance to the nearest edge within a row follows from the row's runs. The nearest edge lies in that row or in
    one above or below; these are visited outwards for as long as an edge in them could be nearer.

    >>> mask = np.zeros((60, 80), bool)
    >>> mask[3:6, 4:7] = True
    >>> few, many = thin_mask_depths(mask, ~mask)
    >>> few.squared.tolist(), many
    ([1, 1, 1, 1, 4, 1, 1, 1, 1], None)
    """
    found: list[PixelDepths | None] = [None] * len(masks)
    shape = masks[0].shape
    if len(shape) != 2 or max(shape) > _MAX_SIDE or masks[0].size < _SMALL:
        return found
    height, width = shape
    pixels_of = [np.flatnonzero(mask) for mask in masks]
    thin: list[int] = []
    for number, pixels in enumerate(pixels_of):
        if _THIN * len(pixels) <= _size(pixels, width):
            thin.append(number)
    if not thin:
        return found
    # All masks are put into one image, one below the other, with an empty row between.
    stride = (height + 1) * width
    stacked: list[NDArray[np.int64]] = []
    row_starts: list[NDArray[np.int64]] = []
    for number in thin:
        first_column = np.flatnonzero(masks[number][:, :1])
        stacked.append(pixels_of[number] + number * stride)
        row_starts.append(first_column * width + number * stride)
    squared = _squared(np.concatenate(stacked), np.concatenate(row_starts), width)
    if squared is None:
        return found
    window = (slice(0, height), slice(0, width))
    ends = np.cumsum([len(pixels) for pixels in stacked[:-1]])
    for number, own in zip(thin, np.split(squared, ends), strict=True):
        found[number] = PixelDepths(window, pixels_of[number], own)
    return found


def _size(pixels: NDArray[np.int64], width: int) -> int:
    """Return the number of pixels in all rows from the first to the last of `pixels`."""
    if len(pixels):
        return (int(pixels[-1]) // width - int(pixels[0]) // width + 1) * width
    return 0


def _squared(
    pixels: NDArray[np.int64], starts: NDArray[np.int64], width: int
) -> NDArray[np.int32] | None:
    """Return the squared distance of each pixel to the nearest other one; None if a transform would be faster.

    Args:
        pixels: flat indices, ascending.
        starts: those that are the first of a row.
        width: width of the image.
    """
    size = _size(pixels, width)
    squared = np.square(_to_end_of_run(pixels, starts))
    # Pad with an empty row above and below; no search goes beyond them.
    first_row = int(pixels[0]) // width if len(pixels) else 1
    places = pixels - (first_row - 1) * width
    in_row = np.zeros(size + 2 * width, dtype=np.int32)
    in_row[places] = squared
    step = 1
    left = np.flatnonzero(squared > 1)
    while len(left):
        here = places.take(left)
        nearest = squared.take(left)
        above = in_row.take(here - step * width)
        below = in_row.take(here + step * width)
        np.minimum(nearest, np.minimum(above, below) + step**2, out=nearest)
        squared[left] = nearest
        left = left[nearest > (step + 1) ** 2]
        if _takes_long(size, len(pixels), len(left), step):
            return None
        step += 1
    return squared


def _to_end_of_run(pixels: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return for each pixel the distance along its row to the nearest one outside `pixels`."""
    count = len(pixels)
    if not count:
        return np.zeros(0, dtype=np.int32)
    is_first = np.ones(count, dtype=np.bool_)
    np.not_equal(pixels[1:], pixels[:-1] + 1, out=is_first[1:])
    # A run also ends with its row, though flat indices go on.
    is_first[pixels.searchsorted(starts)] = True
    firsts = is_first.nonzero()[0].astype(np.int32)
    ends = np.append(firsts[1:], np.int32(count))
    lengths = ends - firsts
    places = np.arange(count, dtype=np.int32)
    to_left = places - (firsts - 1).repeat(lengths)
    to_right = ends.repeat(lengths) - places
    return np.minimum(to_left, to_right)


def _takes_long(size: int, pixels: int, left: int, steps: int) -> bool:
    """Tell whether a transform is faster than the remaining steps, if each finishes as many pixels as so far."""
    finished_per_step = (pixels - left) / steps
    # left / finished_per_step more steps visit left / 2 pixels each on average.
    return _VISIT_NS * left**2 > 2 * finished_per_step * _TRANSFORM_NS * size
