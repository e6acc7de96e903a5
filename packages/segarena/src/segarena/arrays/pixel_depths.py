"""How deep each pixel of a mask lies in it, for those pixels alone.

What is wrong with a prediction is mostly thin: an outline, a few specks. Its few pixels are found and looked at a few
times in a tenth of the time of a distance transform, which visits every pixel of the window.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window
from segarena.samples import Mask

# Measured: 14 ns for each look at a pixel; a transform takes 8 to 10 ns for every pixel of its window.
_LOOK_NS = 14
_TRANSFORM_NS = 8
# A mask is not thin when it has more than one pixel to so many of its window.
_THIN = 10
# Below this many pixels a transform takes no longer.
_SMALL = 1 << 12
# Up to this side sums of two squares of distances within the mask fit into 32 bits.
_MAX_SIDE = 1 << 15


class PixelDepths(NamedTuple):
    """The pixels of a mask, in raster order, and how deep each lies in it.

    Attributes:
        window: one that holds the mask.
        pixels: flat indices in the window, ascending.
        squared: of each pixel, the squared distance to the nearest one outside the mask; whole numbers.
    """

    window: Window
    pixels: NDArray[np.int64]
    squared: NDArray[Any]

    def position(self, place: int) -> tuple[int, ...]:
        """Return where in the array the pixel at a place in `pixels` lies."""
        return position_of_pixel(self.window, int(self.pixels[place]))

    def deepest(self, forbidden: Collection[tuple[int, ...]] = ()) -> int | None:
        """Return the place in `pixels` of the first of the deepest outside `forbidden`; None where there is none."""
        squared = self.squared
        while len(squared) and squared[place := int(squared.argmax())]:
            if self.position(place) not in forbidden:
                return place
            squared = squared.copy() if squared is self.squared else squared
            squared[place] = 0
        return None


def position_of_pixel(window: Window, pixel: int) -> tuple[int, ...]:
    """Return where in the whole array the pixel with a flat index in the crop to `window` lies.

    >>> position_of_pixel((slice(2, 4), slice(5, 8)), 4)
    (3, 6)
    """
    position: list[int] = []
    for side in reversed(window):
        pixel, within = divmod(pixel, side.stop - side.start)
        position.append(side.start + within)
    return tuple(reversed(position))


def pixel_depths(mask: Mask) -> PixelDepths:
    """Return how deep each pixel lies: `squared_distance` where `mask` is True, the frame's border being an edge.

    >>> pixel_depths(np.array([[0, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]], bool)).squared.tolist()
    [1, 1, 1, 1, 2, 4, 1, 1, 1, 1]

    Args:
        mask: bool, any number of axes.
    """
    from segarena.arrays.distance_transform import squared_distance

    (found,) = thin_mask_depths(mask)
    if found is not None:
        return found
    window = bounding_window(mask)
    crop = mask[window]
    pixels = np.flatnonzero(crop)
    return PixelDepths(window, pixels, squared_distance(crop).ravel()[pixels])


def thin_mask_depths(*masks: Mask) -> list[PixelDepths | None]:
    """Return the same of masks of one shape, all at once; None for those that are no images, or not so thin.

    The way to the nearest edge within a row follows from the row's runs. The nearest edge of all lies in that row or in
    one of those above and below, which are looked at in turn for as long as anything in them could be nearer.

    >>> mask = np.zeros((60, 80), bool)
    >>> mask[3:6, 4:7] = True
    >>> few, many = thin_mask_depths(mask, ~mask)
    >>> few.squared.tolist(), many
    ([1, 1, 1, 1, 4, 1, 1, 1, 1], None)
    """
    shape = masks[0].shape
    if len(shape) != 2 or max(shape) > _MAX_SIDE or masks[0].size < _SMALL:
        return [None] * len(masks)
    height, width = shape
    pixels = [np.flatnonzero(mask) for mask in masks]
    thin = [number for number, each in enumerate(pixels) if _THIN * len(each) <= _size(each, width)]
    if not thin:
        return [None] * len(masks)
    # All lie in one image, one below the other, with an empty row between.
    apart = (height + 1) * width
    places = [pixels[number] + number * apart for number in thin]
    starts = [np.flatnonzero(masks[number][:, :1]) * width + number * apart for number in thin]
    squared = _squared(np.concatenate(places), np.concatenate(starts), width)
    if squared is None:
        return [None] * len(masks)
    found = dict(
        zip(thin, np.split(squared, np.cumsum([len(each) for each in places[:-1]])), strict=True)
    )
    window = (slice(0, height), slice(0, width))
    return [
        PixelDepths(window, each, found[number]) if number in found else None
        for number, each in enumerate(pixels)
    ]


def _size(pixels: NDArray[np.int64], width: int) -> int:
    """Return how many pixels all rows have from the first to the last that has one of `pixels`."""
    if len(pixels):
        return (int(pixels[-1]) // width - int(pixels[0]) // width + 1) * width
    return 0


def _squared(
    pixels: NDArray[np.int64], starts: NDArray[np.int64], width: int
) -> NDArray[np.int32] | None:
    """Return the squared distance of each pixel to the nearest that is not among them; None when that takes long.

    Args:
        pixels: flat indices, ascending.
        starts: those of them that are the first of a row.
        width: of the image.
    """
    size = _size(pixels, width)
    squared = np.square(_to_end_of_run(pixels, starts))
    # A row more above and below, with nothing in it: nobody looks farther.
    places = pixels - ((int(pixels[0]) // width - 1) * width if len(pixels) else 0)
    beyond = np.zeros(size + 2 * width, dtype=np.int32)
    beyond[places] = squared
    step = 1
    left = np.flatnonzero(squared > 1)
    while len(left):
        here = places.take(left)
        nearest = squared.take(left)
        beside = np.minimum(beyond.take(here - step * width), beyond.take(here + step * width))
        np.minimum(nearest, beside + step**2, out=nearest)
        squared[left] = nearest
        left = left[nearest > (step + 1) ** 2]
        if _takes_long(size, len(pixels), len(left), step):
            return None
        step += 1
    return squared


def _to_end_of_run(pixels: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return for each pixel how many steps it is along its row to the nearest one that is not among `pixels`."""
    count = len(pixels)
    if not count:
        return np.zeros(0, dtype=np.int32)
    is_first = np.ones(count, dtype=np.bool_)
    np.not_equal(pixels[1:], pixels[:-1] + 1, out=is_first[1:])
    is_first[pixels.searchsorted(starts)] = True
    firsts = is_first.nonzero()[0].astype(np.int32)
    ends = np.append(firsts[1:], np.int32(count))
    lengths = ends - firsts
    places = np.arange(count, dtype=np.int32)
    return np.minimum(places - (firsts - 1).repeat(lengths), ends.repeat(lengths) - places)


def _takes_long(size: int, pixels: int, left: int, steps: int) -> bool:
    """Tell whether a transform takes less time than what is left, if as many pixels go with each step as so far."""
    gone_each = (pixels - left) / steps
    return _LOOK_NS * left**2 > 2 * gone_each * _TRANSFORM_NS * size
