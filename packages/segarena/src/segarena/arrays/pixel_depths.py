"""Depths of a mask's pixels: squared distances to its outside, computed only for those pixels.

Prediction errors are mostly thin: an outline and a few specks. Visiting their few pixels several
times takes a tenth of the time of a distance transform, which visits every pixel of the window.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window
from segarena.samples import Mask

# Measured: each visit to a pixel takes 14 ns; a transform takes 8 to 10 ns for every pixel of its
# window.
_VISIT_NS = 14
_TRANSFORM_NS = 8
# A mask is thin if it has at most one True pixel per this many pixels in the rows that it spans.
_THIN = 15
# Below this many pixels a transform is just as fast.
_SMALL = 1 << 12
# Up to this side, sums of two squared distances within the mask fit into 32 bits.
_MAX_SIDE = 1 << 15


class PixelDepths(NamedTuple):
    """Pixels of a mask in raster order, with their depths.

    Attributes:
        window: a window that contains the mask.
        pixels: flat indices in the window, ascending.
        squared: squared distance of each pixel to the nearest pixel outside the mask; whole numbers.
    """

    window: Window
    pixels: NDArray[np.int64]
    squared: NDArray[Any]

    def position(self, index: int) -> tuple[int, ...]:
        """Return the position in the whole array of the pixel at `index` in `pixels`."""
        pixel = int(self.pixels[index])
        return position_of_pixel(self.window, pixel)

    def deepest(self, forbidden: Collection[tuple[int, ...]] = ()) -> int | None:
        """Return the index in `pixels` of the first deepest pixel not in `forbidden`; None if there is none."""
        squared = self.squared
        while len(squared):
            index = int(squared.argmax())
            if squared[index] == 0:
                return None
            if self.position(index) not in forbidden:
                return index
            # Copy only here, because the first maximum is rarely forbidden.
            if squared is self.squared:
                squared = squared.copy()
            squared[index] = 0
        return None


def position_of_pixel(window: Window, pixel: int) -> tuple[int, ...]:
    """Convert a flat index in a crop to `window` into a position in the whole array.

    >>> position_of_pixel((slice(2, 4), slice(5, 8)), 4)
    (3, 6)
    """
    position: list[int] = []
    for side in reversed(window):
        pixel, within = divmod(pixel, side.stop - side.start)
        position.append(side.start + within)
    return tuple(reversed(position))


def pixel_depths(mask: Mask) -> PixelDepths:
    """Return `squared_distance` at the True pixels of `mask`; the frame's border counts as an edge.

    >>> pixel_depths(np.array([[0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool)).squared.tolist()
    [1, 1, 1, 1, 2, 4, 1, 1, 1, 1]

    Args:
        mask: bool, any number of axes.
    """
    # Imported here, so that samples and prompts can be imported without OpenCV.
    from segarena.arrays.distance_transform import squared_distance

    (thin,) = thin_mask_depths(mask)
    if thin is not None:
        return thin
    window = bounding_window(mask)
    crop = mask[window]
    pixels = np.flatnonzero(crop)
    squared = squared_distance(crop).ravel()
    return PixelDepths(window, pixels, squared[pixels])


def thin_mask_depths(*masks: Mask) -> list[PixelDepths | None]:
    """Return `pixel_depths` of several masks of one shape at once; None where a distance transform is as fast.

    The result is None for a mask that is not thin. It is None for every mask if they are volumes, or
    very small or very large images, or if the search would take too long.

    The distance to the nearest edge within a row follows from the runs of the row. The nearest edge
    overall lies in that row or in a row above or below; these rows are visited outwards as long as
    they can contain a nearer edge.

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
    # Keyed by the index of the mask.
    thin_pixels: dict[int, NDArray[np.int64]] = {}
    for number, mask in enumerate(masks):
        # Counting takes a twentieth of the time of listing the pixels.
        if _THIN * np.count_nonzero(mask) > mask.size:
            continue
        pixels = np.flatnonzero(mask)
        if _THIN * len(pixels) <= _size(pixels, width):
            thin_pixels[number] = pixels
    if not thin_pixels:
        return found
    # Stack all masks in one image with an empty row between them, because one search takes less
    # time than several.
    stride = (height + 1) * width
    stacked: list[NDArray[np.int64]] = []
    row_starts: list[NDArray[np.int64]] = []
    for number, pixels in thin_pixels.items():
        offset = number * stride
        in_first_column = np.flatnonzero(masks[number][:, :1])
        stacked.append(pixels + offset)
        row_starts.append(in_first_column * width + offset)
    squared = _squared(np.concatenate(stacked), np.concatenate(row_starts), width)
    if squared is None:
        return found
    window = (slice(0, height), slice(0, width))
    start = 0
    for number, pixels in thin_pixels.items():
        stop = start + len(pixels)
        found[number] = PixelDepths(window, pixels, squared[start:stop])
        start = stop
    return found


def _size(pixels: NDArray[np.int64], width: int) -> int:
    """Return the number of pixels in all rows from the first to the last that contain `pixels`."""
    if not len(pixels):
        return 0
    first_row = int(pixels[0]) // width
    last_row = int(pixels[-1]) // width
    return (last_row - first_row + 1) * width


def _squared(
    pixels: NDArray[np.int64],
    starts: NDArray[np.int64],
    width: int,
) -> NDArray[np.int32] | None:
    """Return the squared distance of each pixel to the nearest pixel outside the mask; None if a transform is faster.

    Args:
        pixels: flat indices, ascending.
        starts: flat indices of the first pixel of each row.
        width: width of the image.
    """
    if not len(pixels):
        return np.zeros(0, dtype=np.int32)
    size = _size(pixels, width)
    squared = np.square(_to_end_of_run(pixels, starts))
    # Pad with an empty row above and below, beyond which no search continues.
    first_row = int(pixels[0]) // width
    padded_pixels = pixels - (first_row - 1) * width
    squared_in_row = np.zeros(size + 2 * width, dtype=np.int32)
    squared_in_row[padded_pixels] = squared
    step = 1
    remaining = np.flatnonzero(squared > 1)
    while len(remaining):
        here = padded_pixels.take(remaining)
        nearest = squared.take(remaining)
        above = squared_in_row.take(here - step * width)
        below = squared_in_row.take(here + step * width)
        nearer_row = np.minimum(above, below)
        np.minimum(nearest, nearer_row + step**2, out=nearest)
        squared[remaining] = nearest
        # Rows one step farther away cannot contain a nearer edge for the other pixels.
        remaining = remaining[nearest > (step + 1) ** 2]
        if _takes_long(size, len(pixels), len(remaining), step):
            return None
        step += 1
    return squared


def _to_end_of_run(pixels: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the distance of each pixel along its row to the nearest pixel outside `pixels`."""
    count = len(pixels)
    is_first = np.ones(count, dtype=np.bool_)
    np.not_equal(pixels[1:], pixels[:-1] + 1, out=is_first[1:])
    # A run also ends at the end of its row, although flat indices continue.
    is_first[pixels.searchsorted(starts)] = True
    firsts = np.flatnonzero(is_first).astype(np.int32)
    ends = np.append(firsts[1:], np.int32(count))
    lengths = ends - firsts
    before_run = (firsts - 1).repeat(lengths)
    after_run = ends.repeat(lengths)
    index = np.arange(count, dtype=np.int32)
    return np.minimum(index - before_run, after_run - index)


def _takes_long(
    size: int,
    pixels: int,
    left: int,
    steps: int,
) -> bool:
    """Return whether a transform is faster than the remaining steps, judged by the progress so far."""
    finished_per_step = (pixels - left) / steps
    # On average, each of the remaining left / finished_per_step steps visits left / 2 pixels.
    return _VISIT_NS * left**2 > 2 * finished_per_step * _TRANSFORM_NS * size
