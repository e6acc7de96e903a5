"""Windows: the bounding box of a mask as slices, to crop arrays to the pixels that matter."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from segarena.samples import Mask

Window: TypeAlias = tuple[slice, ...]
"""One half-open slice per axis; `array[window]` is the crop. Empty windows have start == stop."""


def bounding_window(mask: Mask) -> Window:
    """Return the smallest window that holds every True pixel; slices 0:0 when there is none.

    >>> mask = np.zeros((6, 9), bool)
    >>> mask[2:4, 3] = True
    >>> bounding_window(mask)
    (slice(2, 4, None), slice(3, 4, None))

    Args:
        mask: bool, any number of axes.
    """
    if mask.ndim == 2 and mask.size:
        import cv2  # here, so that samples and prompts can be imported without OpenCV

        column, row, width, height = cv2.boundingRect(mask.view(np.uint8))
        return slice(row, row + height), slice(column, column + width)
    slices: list[slice] = []
    rest: Mask = mask
    for axis in range(mask.ndim):
        # Reduce to one axis, find its ends, and go on inside them: later axes see less.
        others = tuple(range(1, mask.ndim - axis))
        hits = np.flatnonzero(rest.any(axis=others))
        if not len(hits):
            return (slice(0, 0),) * mask.ndim
        extent = slice(int(hits[0]), int(hits[-1]) + 1)
        slices.append(extent)
        if others:
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
    pairs = zip(first, second, strict=True)
    return tuple(slice(min(a.start, b.start), max(a.stop, b.stop)) for a, b in pairs)


def intersect_windows(first: Window, second: Window) -> Window:
    """Return the intersection of two windows, which may be empty (see `is_empty`).

    >>> intersect_windows((slice(0, 5),), (slice(3, 9),))
    (slice(3, 5, None),)
    """
    pairs = zip(first, second, strict=True)
    return tuple(slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in pairs)


def within_window(window: Window, outer: Window) -> Window:
    """Return `window`, which lies in `outer`, in coordinates of a crop to `outer`.

    >>> within_window((slice(11, 13),), (slice(10, 20),))
    (slice(1, 3, None),)
    """
    return tuple(
        slice(w.start - o.start, w.stop - o.start) for w, o in zip(window, outer, strict=True)
    )


def from_window(window: Window, outer: Window) -> Window:
    """Return `window`, in coordinates of a crop to `outer`, in those of the whole array: undoes `within_window`.

    >>> from_window((slice(1, 3),), (slice(10, 20),))
    (slice(11, 13, None),)
    """
    return tuple(
        slice(w.start + o.start, w.stop + o.start) for w, o in zip(window, outer, strict=True)
    )


def window_start(window: Window) -> tuple[int, ...]:
    """Return the first position of `window`: the offset from positions in the crop to those in the array.

    >>> window_start((slice(2, 5), slice(0, 7)))
    (2, 0)
    """
    return tuple(side.start for side in window)


def window_shape(window: Window) -> tuple[int, ...]:
    """Return the shape of the crop to `window`.

    >>> window_shape((slice(2, 5), slice(0, 7)))
    (3, 7)
    """
    return tuple(side.stop - side.start for side in window)


def grow_window(window: Window, margin: int, shape: tuple[int, ...]) -> Window:
    """Return `window` with `margin` pixels more on every side, cut at the frame.

    >>> grow_window((slice(2, 5), slice(0, 7)), 3, (10, 8))
    (slice(0, 8, None), slice(0, 8, None))
    """
    return tuple(
        slice(max(0, s.start - margin), min(n, s.stop + margin))
        for s, n in zip(window, shape, strict=True)
    )


def is_empty(window: Window) -> bool:
    """Tell whether `window` holds no pixel.

    >>> is_empty((slice(4, 4), slice(0, 7)))
    True
    """
    return any(s.start >= s.stop for s in window)
