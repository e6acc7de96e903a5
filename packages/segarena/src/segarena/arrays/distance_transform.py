"""Exact Euclidean distance transforms of masks and their maxima, in squared whole pixels.

Distances are measured from a True pixel to the nearest False pixel; unless stated otherwise,
everything outside the frame counts as False. They are squared integers, because floating-point
distances of different libraries differ in their last digit, which would break ties at random.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    grow_window,
    is_empty,
    window_shape,
    window_start,
)
from segarena.samples import Mask

# The ratio of OpenCV's fast 5 x 5 distance (steps 1, 1.4 and 2.1969) to the true distance lies
# between 0.98249, along (2, 1), and 1.01921, along (1, 0.1969). Both are rounded outwards, because
# OpenCV uses 16-bit fixed-point arithmetic.
_FAST_LOWEST = 0.9824
_FAST_HIGHEST = 1.0193
# OpenCV's fixed-point numbers hold distances below 8192 pixels; a mask with a shorter side than
# this has no larger ones.
_FAST_MAX_SIDE = 16000
# Up to this side, border included, OpenCV's float32 transform is exact after rounding: sums of
# squares stay below 2**24, and the rounding error where two parabolas cross stays below the
# smallest distance of that crossing from a whole column, 1 / (2 side).
_PRECISE_MAX_SIDE = 2050
# Below this many pixels the full transform is faster than any search.
_SMALL = 8192
# Candidates are many if there is more than one per this many pixels.
_MANY = 32
# Measured times of a search: per iteration, per candidate in it, and pixels scanned per nanosecond.
# The full transform takes 8 to 10 ns per pixel, so a search that has taken as long is abandoned.
_TURN_NS = 20_000
_CANDIDATE_NS = 10
_SEEN_PX_PER_NS = 4
_TRANSFORM_NS = 8
# Measured: comparing with a listed edge pixel takes as long as scanning this many pixels of a window.
_LISTED_PX = 16
# A search of a few small windows ends before the edge pixels of the whole mask are listed.
_WIDE_PX = 1 << 13

_CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))

_Edges: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and columns of the zeros next to a mask."""


class DeepestPixel(NamedTuple):
    """A position in a mask and its squared distance in pixels to the nearest pixel outside the mask."""

    position: tuple[int, ...]
    squared_distance: int


def squared_distance(mask: Mask, *, frame_is_edge: bool = True) -> NDArray[np.int64]:
    """Return the squared distance of every pixel to the nearest pixel that is not in `mask`.

    >>> wide = np.ones((3, 4), bool)
    >>> wide[:, 3] = False
    >>> squared_distance(wide)[1].tolist()
    [1, 4, 1, 0]
    >>> squared_distance(wide, frame_is_edge=False)[1].tolist()
    [9, 4, 1, 0]

    Args:
        mask: bool, any number of axes.
        frame_is_edge: whether pixels beyond the frame count as outside the mask, so that a mask that is True
            everywhere has 1 along the border. If False, they are ignored, and a mask that is True everywhere gets 1
            everywhere, because no pixel is nearer to an edge than another.

    Returns:
        int64, same shape, exact; 0 where `mask` is False.
    """
    squared = np.zeros(mask.shape, dtype=np.int64)
    window, found = squared_distance_in_window(mask, frame_is_edge=frame_is_edge)
    squared[window] = found
    return squared


def squared_distance_in_window(
    mask: Mask, *, frame_is_edge: bool = True
) -> tuple[Window, NDArray[Any]]:
    """Return a window outside which `squared_distance` is 0, and the distances inside it as whole numbers.

    >>> wide = np.ones((3, 4), bool)
    >>> wide[:, 3] = False
    >>> window, squared = squared_distance_in_window(wide)
    >>> window, squared[1].tolist()
    ((slice(0, 3, None), slice(0, 3, None)), [1.0, 4.0, 1.0])

    Args:
        mask: as for `squared_distance`; without a True pixel the window is empty.
        frame_is_edge: as for `squared_distance`.
    """
    window = bounding_window(mask)
    if is_empty(window):
        return window, np.zeros(window_shape(window), dtype=np.int64)
    if frame_is_edge:
        return window, _squares_in(np.pad(mask[window], 1))
    if mask.all():
        return window, np.ones(mask.shape, dtype=np.int64)
    # The nearest pixel outside the mask lies in the window or directly next to it.
    near = grow_window(window, 1, mask.shape)
    return near, _squares(np.ascontiguousarray(mask[near]))


def _squares_in(padded: Mask) -> NDArray[Any]:
    """Return the squared distances in a mask padded with a False border, without that border."""
    return _squares(padded)[(slice(1, -1),) * padded.ndim]


def _squares(padded: Mask) -> NDArray[Any]:
    """Return the squared distance of each pixel to the nearest False pixel of the array, which must have one."""
    if padded.ndim == 2 and max(padded.shape) <= _PRECISE_MAX_SIDE:
        pixels = padded.view(np.uint8)
        distance = cv2.distanceTransform(pixels, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        squared_floats = np.square(distance, dtype=np.float64)
        return np.rint(squared_floats, out=squared_floats)
    from scipy.ndimage import distance_transform_edt

    # Use SciPy's indices, which are whole numbers; its distances would have to be rounded after
    # squaring.
    nearest: Any = distance_transform_edt(padded, return_distances=False, return_indices=True)
    squared = np.zeros(padded.shape, dtype=np.int64)
    for axis, size in enumerate(padded.shape):
        shape_along_axis = [1] * padded.ndim
        shape_along_axis[axis] = size
        own = np.arange(size).reshape(shape_along_axis)
        squared += np.square(nearest[axis] - own, dtype=np.int64)
    return squared


def deepest_pixel(
    mask: Mask,
    *,
    forbidden: Collection[tuple[int, ...]] = (),
    at_least: int = 1,
) -> DeepestPixel | None:
    """Return the pixel of `mask` farthest from its outside; break ties by row-major order.

    The result equals the first maximum of `squared_distance`, but an image takes much less time: an
    approximate distance, accurate to 2 %, leaves few candidates, and each exact measurement of one
    rules out most of the others.

    >>> deepest_pixel(np.ones((5, 9), bool))
    DeepestPixel(position=(2, 2), squared_distance=9)
    >>> deepest_pixel(np.ones((5, 9), bool), forbidden=[(2, 2)]).position
    (2, 3)

    Args:
        mask: bool, any number of axes; the frame's border counts as an edge.
        forbidden: positions to exclude from the result. They still belong to the mask, so distances are unchanged.
        at_least: the smallest squared distance of interest.

    Returns:
        The pixel; None if no allowed pixel of `mask` has a squared distance of `at_least` or more.
    """
    is_small = mask.size <= _SMALL
    if is_small and mask.ndim != 2:
        window = tuple([slice(0, size) for size in mask.shape])
    else:
        # Cropping an image takes as long as transforming a hundred of its pixels.
        window = bounding_window(mask)
    if is_empty(window):
        return None
    crop = mask[window]
    padded_shape = [size + 2 for size in crop.shape]
    inner = (slice(1, -1),) * mask.ndim
    padded = np.zeros(padded_shape, dtype=np.bool_)
    padded[inner] = crop
    forbidden_in_window = _inside(forbidden, window)
    at_least = max(at_least, 1)
    found = None
    if mask.ndim == 2 and not is_small and min(crop.shape) <= _FAST_MAX_SIDE:
        found = _deepest_by_search(padded.view(np.uint8), forbidden_in_window, at_least)
    if found is None:
        found = _deepest_by_full_transform(padded, forbidden_in_window)
    if found.squared_distance < at_least:
        return None
    position = tuple(map(operator.add, found.position, window_start(window)))
    return DeepestPixel(position, found.squared_distance)


def _inside(positions: Collection[tuple[int, ...]], window: Window) -> list[tuple[int, ...]]:
    """Return the positions that lie in `window`, relative to its start."""
    inside: list[tuple[int, ...]] = []
    if not positions:
        return inside
    starts = window_start(window)
    shape = window_shape(window)
    for position in positions:
        relative = tuple(map(operator.sub, position, starts))
        if min(relative) >= 0 and all(map(operator.lt, relative, shape)):
            inside.append(relative)
    return inside


def _deepest_by_full_transform(padded: Mask, forbidden: list[tuple[int, ...]]) -> DeepestPixel:
    # With the border, whose distance is 0, because searching an array without gaps takes less time.
    squared = _squares(padded)
    inner = squared[(slice(1, -1),) * squared.ndim]
    for position in forbidden:
        inner[position] = 0
    rest = int(squared.argmax())
    highest = int(squared.flat[rest])
    # `np.unravel_index` takes ten times as long as this loop, which matters for small images.
    reversed_position: list[int] = []
    for size in reversed(squared.shape):
        rest, index = divmod(rest, size)
        reversed_position.append(index - 1)  # positions do not count the border
    return DeepestPixel(tuple(reversed(reversed_position)), highest)


def _deepest_by_search(
    padded: NDArray[np.uint8],
    forbidden: list[tuple[int, ...]],
    at_least: int,
) -> DeepestPixel | None:
    """Return the deepest pixel, or any pixel if all are below `at_least`; None if a full transform is cheaper."""
    approximate = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_5)
    fast = np.asarray(approximate, dtype=np.float32)
    for row, column in forbidden:
        fast[row + 1, column + 1] = 0  # positions do not count the border
    first = int(fast.argmax())
    highest = float(fast.flat[first])
    upper_bound = highest / _FAST_LOWEST
    if upper_bound**2 < at_least:
        return DeepestPixel((0, 0), 0)
    # A pixel below this distance cannot be as deep as the one with the highest fast distance.
    lowest_hopeful = highest * (_FAST_LOWEST / _FAST_HIGHEST)
    hopeful = (fast >= lowest_hopeful).ravel()
    reach = int(upper_bound) + 1
    edges = _list_edges(padded, reach)
    if np.count_nonzero(hopeful) > hopeful.size // _MANY:
        _thin_out(hopeful, padded, edges, first, reach)
    candidates = np.flatnonzero(hopeful)
    candidate_distances = fast.ravel()[candidates]
    found = _search(padded, edges, candidates, candidate_distances, at_least)
    if found is None:
        return None
    index, squared = found
    row, column = divmod(index, padded.shape[1])
    return DeepestPixel((row - 1, column - 1), squared)


def _list_edges(padded: NDArray[np.uint8], reach: int) -> _Edges | None:
    """Return rows and columns of the zeros next to the mask; None if scanning windows of this reach is faster.

    The nearest zero of a pixel is always one of them: one step from it towards the pixel, along an axis, is nearer to
    the pixel and therefore in the mask.
    """
    window_px = (2 * reach + 1) ** 2
    if window_px < _WIDE_PX:
        return None
    grown = cv2.dilate(padded, _CROSS)
    pixels = np.flatnonzero(grown > padded)
    if _LISTED_PX * len(pixels) > window_px:
        return None
    return np.divmod(pixels, padded.shape[1])


def _thin_out(
    hopeful: Mask,
    padded: NDArray[np.uint8],
    edges: _Edges | None,
    first: int,
    reach: int,
) -> None:
    """Remove from `hopeful` the pixels after `first` that cannot be deeper; see `_search` for the rule.

    If many pixels are candidates, shifting the whole mask is faster than indexing each of them.
    """
    flat = padded.ravel().view(np.bool_)
    rows, columns = _nearest_edge(padded, edges, first, reach)
    for step in _mirrored(rows, columns, padded.shape[1]):
        # Apply the step only where it stays in the array.
        start = max(first + 1, -step)
        stop = min(flat.size, flat.size - step)
        hopeful[start:stop] &= flat[start + step : stop + step]


def _search(
    padded: NDArray[np.uint8],
    edges: _Edges | None,
    candidates: NDArray[np.int64],
    fast: NDArray[np.float32],
    at_least: int,
) -> tuple[int, int] | None:
    """Return flat index and squared distance of the deepest candidate; None if the full transform is cheaper.

    Each iteration measures the candidate with the highest fast distance exactly. The offset of its
    nearest edge pixel, with the mirror images of this offset, then rules out every candidate with
    an edge pixel at the same offset, because such a candidate is not deeper.
    """
    flat = padded.ravel().view(np.bool_)
    best = -1
    depth = at_least - 1
    elapsed_ns = 0
    while len(candidates):
        pick = int(fast.argmax())
        index = int(candidates[pick])
        reach = int(fast[pick] / _FAST_LOWEST) + 1
        rows, columns = _nearest_edge(padded, edges, index, reach)
        measured = rows**2 + columns**2
        is_earlier = index < best  # in row-major order, which breaks ties
        if measured > depth or (measured == depth and is_earlier):
            best = index
            depth = measured
        lowest_hopeful = math.sqrt(depth) * _FAST_LOWEST
        hopeful = fast >= lowest_hopeful
        hopeful[pick] = False
        candidates = candidates[hopeful]
        fast = fast[hopeful]
        # All steps at once, because single ones take longer for the usual few candidates.
        steps = np.array(list(_mirrored(rows, columns, padded.shape[1])))
        # A step out of the frame reads an unrelated pixel, which is harmless: such a candidate is
        # nearer to the frame than the step is long, so it may be removed; if it remains, it is
        # measured later.
        neighbours = flat.take(candidates + steps[:, np.newaxis], mode="clip")
        stays = neighbours.all(axis=0)
        if measured == depth:
            stays |= candidates < best  # as deep, but earlier
        candidates = candidates[stays]
        fast = fast[stays]
        if edges is None:
            pixels_seen = min((2 * reach + 1) ** 2, padded.size)
        else:
            pixels_seen = _LISTED_PX * len(edges[0])
        elapsed_ns += _TURN_NS + _CANDIDATE_NS * len(candidates) + pixels_seen // _SEEN_PX_PER_NS
        if elapsed_ns > _TRANSFORM_NS * padded.size and len(candidates):
            return None
    return best, depth


def _nearest_edge(
    padded: NDArray[np.uint8],
    edges: _Edges | None,
    index: int,
    reach: int,
) -> tuple[int, int]:
    """Return the row and column distances from a pixel to its nearest zero, which is within `reach`."""
    row, column = divmod(index, padded.shape[1])
    if edges is not None:
        edge_rows, edge_columns = edges
        down = edge_rows - row
        right = edge_columns - column
        nearest_edge = int((down * down + right * right).argmin())
        return abs(int(down[nearest_edge])), abs(int(right[nearest_edge]))
    top = max(0, row - reach)
    left = max(0, column - reach)
    around = padded[top : row + reach + 1, left : column + reach + 1]
    is_zero = around == 0
    row_indices = np.arange(len(is_zero)) + top
    rows = np.abs(row_indices - row)
    own_column = column - left
    best_rows = 0
    best_columns = 0
    best_squared = 2 * reach**2 + 1  # farther than any zero within reach
    for side in (is_zero[:, own_column:], is_zero[:, own_column::-1]):
        # Going out from the pixel's own column, the first zero of a row is the nearest one on that
        # side.
        columns = side.argmax(axis=1)
        has_zero = side[:, 0] | (columns > 0)
        squared = np.where(has_zero, rows**2 + columns**2, best_squared)
        nearest = int(squared.argmin())
        nearest_squared = int(squared[nearest])
        if nearest_squared < best_squared:
            best_rows = int(rows[nearest])
            best_columns = int(columns[nearest])
            best_squared = nearest_squared
    return best_rows, best_columns


def _mirrored(
    rows: int,
    columns: int,
    width: int,
) -> set[int]:
    """Return the flat index steps of an offset and its mirror images, up to eight."""
    steps: set[int] = set()
    for down, right in ((rows, columns), (columns, rows)):
        below = down * width
        steps.add(below + right)
        steps.add(below - right)
        steps.add(-below + right)
        steps.add(-below - right)
    return steps
