"""Windows: bounding boxes of masks as slices, for cropping arrays to the relevant pixels."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from segarena.samples import Mask

Window: TypeAlias = tuple[slice, ...]
"""One half-open slice per axis; `array[window]` is the crop. A window with start >= stop on an axis is empty."""


def bounding_window(mask: Mask) -> Window:
    """Return the smallest window that contains every True pixel; slices 0:0 if there is none.

    >>> mask = np.zeros((6, 9), bool)
    >>> mask[2:4, 3] = True
    >>> bounding_window(mask)
    (slice(2, 4, None), slice(3, 4, None))

    Args:
        mask: bool, any number of axes.
    """
    if mask.ndim == 2 and mask.size:
        import cv2  # imported here, so that samples and prompts can be imported without OpenCV

        column, row, width, height = cv2.boundingRect(mask.view(np.uint8))
        return slice(row, row + height), slice(column, column + width)
    slices: list[slice] = []
    rest: Mask = mask
    for axis in range(mask.ndim):
        # Reduce to one axis, find its ends and continue inside them, so that later axes scan fewer
        # pixels.
        other_axes = tuple(range(1, mask.ndim - axis))
        occupied = np.flatnonzero(rest.any(axis=other_axes))
        if not len(occupied):
            return (slice(0, 0),) * mask.ndim
        first = int(occupied[0])
        last = int(occupied[-1])
        extent = slice(first, last + 1)
        slices.append(extent)
        if other_axes:
            rest = np.asarray(rest[extent].any(axis=0))
    return tuple(slices)


def join_windows(first: Window, second: Window) -> Window:
    """Return the smallest window that contains both windows; an empty window adds nothing.

    >>> join_windows((slice(0, 2),), (slice(5, 6),))
    (slice(0, 6, None),)
    """
    if is_empty(first):
        return second
    if is_empty(second):
        return first
    joined: list[slice] = []
    for one, other in zip(first, second, strict=True):
        start = min(one.start, other.start)
        stop = max(one.stop, other.stop)
        joined.append(slice(start, stop))
    return tuple(joined)


def intersect_windows(first: Window, second: Window) -> Window:
    """Return the intersection of two windows, which may be empty (see `is_empty`).

    >>> intersect_windows((slice(0, 5),), (slice(3, 9),))
    (slice(3, 5, None),)
    """
    shared: list[slice] = []
    for one, other in zip(first, second, strict=True):
        start = max(one.start, other.start)
        stop = min(one.stop, other.stop)
        shared.append(slice(start, stop))
    return tuple(shared)


def within_window(window: Window, outer: Window) -> Window:
    """Convert `window`, which lies in `outer`, to the coordinates of a crop to `outer`.

    >>> within_window((slice(11, 13),), (slice(10, 20),))
    (slice(1, 3, None),)
    """
    return _shifted(window, tuple(-start for start in window_start(outer)))


def from_window(window: Window, outer: Window) -> Window:
    """Convert `window` from the coordinates of a crop to `outer` back to the whole array: invert `within_window`.

    >>> from_window((slice(1, 3),), (slice(10, 20),))
    (slice(11, 13, None),)
    """
    return _shifted(window, window_start(outer))


def window_start(window: Window) -> tuple[int, ...]:
    """Return the first position of `window`, which is the offset of a crop in the whole array.

    >>> window_start((slice(2, 5), slice(0, 7)))
    (2, 0)
    """
    # A list takes half the time of a generator, which matters for small images.
    return tuple([side.start for side in window])


def window_shape(window: Window) -> tuple[int, ...]:
    """Return the shape of a crop to `window`.

    >>> window_shape((slice(2, 5), slice(0, 7)))
    (3, 7)
    """
    return tuple([side.stop - side.start for side in window])


def grow_window(
    window: Window,
    margin: int,
    shape: tuple[int, ...],
) -> Window:
    """Grow `window` by `margin` pixels on every side, clipped at the frame.

    >>> grow_window((slice(2, 5), slice(0, 7)), 3, (10, 8))
    (slice(0, 8, None), slice(0, 8, None))
    """
    grown: list[slice] = []
    for side, size in zip(window, shape, strict=True):
        start = max(0, side.start - margin)
        stop = min(size, side.stop + margin)
        grown.append(slice(start, stop))
    return tuple(grown)


def is_empty(window: Window) -> bool:
    """Return whether `window` contains no pixel.

    >>> is_empty((slice(4, 4), slice(0, 7)))
    True
    """
    # This takes half the time of `any` with a generator, which matters for small images.
    return min(window_shape(window), default=1) <= 0


def _shifted(window: Window, offsets: tuple[int, ...]) -> Window:
    sides = zip(window, offsets, strict=True)
    return tuple([slice(side.start + offset, side.stop + offset) for side, offset in sides])
