"""Polygon filling by one of two rules, whose results differ by up to 1 % of the area.

"pixel-centre" fills the pixels whose centre is inside by the even-odd rule, so polygons that share
edges neither overlap nor leave gaps. "coco" is the rule by which the COCO tools rasterize polygons.
Published results on COCO data use it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, is_empty, join_windows, window_shape, within_window
from segarena.arrays.polygon_points import Points
from segarena.samples import Mask

FillRule: TypeAlias = Literal["pixel-centre", "coco"]

_FINENESS = 5  # the COCO tools draw outlines on a grid five times finer than the pixels
_OUTSIDE = 2
"""Number of columns of the finer grid that are kept to the left and right of the frame."""
_PIECE_STEPS = 1 << 20
"""Number of steps along the finer grid that are drawn at once, to limit the memory."""

_Outline: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Columns and rows on the finer grid."""

_LARGEST_COORDINATE = float(1 << 18)


class Patch(NamedTuple):
    """A cropped mask: `mask` is the content of `window` in the full image."""

    window: Window
    mask: Mask

    def full(self, shape: tuple[int, int]) -> Mask:
        """Return the mask of the full image, bool (H, W)."""
        whole = np.zeros(shape, dtype=np.bool_)
        whole[self.window] = self.mask
        return whole


def fill_polygon(
    points: Points,
    shape: tuple[int, int],
    *,
    rule: FillRule = "pixel-centre",
) -> Patch:
    """Return the pixels of a polygon (N, 2) inside the frame (H, W); empty for fewer than three vertices.

    >>> square = np.array([(1.0, 1.0), (1.0, 3.0), (3.0, 3.0), (3.0, 1.0)])
    >>> fill_polygon(square, (4, 4)).full((4, 4)).astype(int)
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 0]])

    Source: "coco" behaves like `rleFrPoly` of the COCO API: it draws the outline on a grid that is
    five times finer, and outline points in integer columns toggle the pixels below them.
    """
    if len(points) < 3:
        return Patch((slice(0, 0), slice(0, 0)), np.zeros((0, 0), dtype=np.bool_))
    # No image is larger than this, and larger coordinates would overflow the integers below.
    points = np.clip(points, -_LARGEST_COORDINATE, _LARGEST_COORDINATE)
    # One pixel of margin on every side, because the COCO rule may round outlines outwards.
    lowest = np.floor(points.min(axis=0)).astype(int) - 1
    highest = np.ceil(points.max(axis=0)).astype(int) + 1
    top, left = np.maximum(lowest, 0).tolist()
    bottom, right = np.minimum(highest, shape).tolist()
    window = (slice(top, max(top, bottom)), slice(left, max(left, right)))
    if rule == "pixel-centre":
        mask = _fill_pixel_centres(points, window)
    else:
        mask = _fill_coco(points, shape, window)
    return Patch(window, mask)


def fill_polygons(
    polygons: Iterable[Points],
    shape: tuple[int, int],
    *,
    rule: FillRule = "pixel-centre",
    is_even_odd: bool = False,
) -> Patch:
    """Return the union of several polygons, or the pixels in an odd number of them.

    >>> squares = [np.array([(k, k), (k, k + 1.0), (k + 1.0, k + 1.0), (k + 1.0, k)]) for k in (0.0, 1.0)]
    >>> fill_polygons(squares, (2, 2)).mask.astype(int)
    array([[1, 0],
           [0, 1]])
    """
    patches = [fill_polygon(points, shape, rule=rule) for points in polygons]
    if len(patches) == 1:
        return patches[0]
    return join_patches(patches, is_even_odd=is_even_odd)


def join_patches(patches: Iterable[Patch], *, is_even_odd: bool = False) -> Patch:
    """Return the union of patches, or the pixels in an odd number of them; an empty list gives an empty patch.

    >>> join_patches([]).mask.shape
    (0, 0)
    """
    patches = [patch for patch in patches if patch.mask.size]
    window: Window = (slice(0, 0), slice(0, 0))
    for patch in patches:
        window = join_windows(window, patch.window)
    mask = np.zeros(window_shape(window), dtype=np.bool_)
    for patch in patches:
        part = mask[within_window(patch.window, window)]
        if is_even_odd:
            part ^= patch.mask
        else:
            part |= patch.mask
    return Patch(window, mask)


def _fill_pixel_centres(points: Points, window: Window) -> Mask:
    """Fill by the even-odd rule: toggle where an edge crosses a row of pixel centres, then accumulate along rows."""
    rows, columns = window
    height, width = window_shape(window)
    ends = np.roll(points, -1, axis=0)
    is_down = (points[:, 0] < ends[:, 0])[:, None]
    # All edges are directed downwards, so that two polygons with a common edge compute the same
    # pixels on it.
    tops = np.where(is_down, points, ends)
    bottoms = np.where(is_down, ends, points)
    first_rows = _first_centres(tops[:, 0], rows)
    end_rows = _first_centres(bottoms[:, 0], rows)
    counts = end_rows - first_rows
    # One entry for each edge and each row of pixel centres that the edge crosses.
    edge = np.repeat(np.arange(len(points)), counts)
    first_entries = np.cumsum(counts) - counts
    step = np.arange(counts.sum()) - first_entries[edge]
    row = step + first_rows[edge]
    top_row, top_column = tops[edge].T
    bottom_row, bottom_column = bottoms[edge].T
    slope = (bottom_column - top_column) / (bottom_row - top_row)
    across = top_column + (row + 0.5 - top_row) * slope
    column = _first_centres(across, columns)
    # An additional column receives the toggles at the right border of the window.
    stride = width + 1
    flat = (row - rows.start) * stride + column - columns.start
    toggles = _odd_counts(flat, height * stride).reshape(height, stride)
    filled = np.bitwise_xor.accumulate(toggles, axis=1)
    return filled[:, :width]


def _first_centres(positions: NDArray[np.float64], side: slice) -> NDArray[np.int64]:
    """Return, for each position along an axis, the first pixel of the window whose centre is at or beyond it."""
    pixels = np.ceil(positions - 0.5)
    return np.clip(pixels, side.start, side.stop).astype(np.int64)


def _fill_coco(
    points: Points,
    shape: tuple[int, int],
    window: Window,
) -> Mask:
    """Fill column by column like `rleFrPoly` of the COCO API."""
    window_height, window_width = window_shape(window)
    if is_empty(window):
        return np.zeros((window_height, window_width), dtype=np.bool_)
    # One more row for toggles below the last row of the image.
    stride = window_height + 1
    toggles = np.zeros(window_width * stride, dtype=np.bool_)
    for across, down in _coco_outline(points, shape):
        toggles ^= _odd_counts(_coco_toggles(across, down, shape, window), len(toggles))
    toggles = toggles.reshape(window_width, stride)
    # COCO's run lengths run down the columns, so a run that is open at the end of a column continues
    # at the top of the next one.
    open_after = np.bitwise_xor.accumulate(np.bitwise_xor.reduce(toggles, axis=1))
    toggles[1:, 0] ^= open_after[:-1]
    return _accumulate_xor(toggles.T[:window_height])


def _coco_toggles(
    across: NDArray[np.int64],
    down: NDArray[np.int64],
    shape: tuple[int, int],
    window: Window,
) -> NDArray[np.int64]:
    """Return where a piece of the outline toggles the window, column by column with one more row in each."""
    height, width = shape
    rows, columns = window
    here = np.flatnonzero(across[1:] != across[:-1]) + 1
    before = here - 1
    fine = np.where(across[here] < across[before], across[here], across[here] - 1)
    column = (fine + 0.5) / _FINENESS - 0.5
    is_whole = np.floor(column) == column
    is_toggle = is_whole & (column >= 0) & (column <= width - 1)
    higher = np.minimum(down[here], down[before])
    centre = (higher + 0.5) / _FINENESS - 0.5
    row = np.ceil(np.clip(centre, 0, height))
    toggled_columns = column[is_toggle].astype(np.int64) - columns.start
    toggled_rows = row[is_toggle].astype(np.int64) - rows.start
    return toggled_columns * (window_shape(window)[0] + 1) + toggled_rows


def _accumulate_xor(toggles: Mask) -> Mask:
    """Return, for each pixel, whether an odd number of toggles lies at or above it; bool (H, W)."""
    filled = np.array(toggles, order="C")
    # Row by row: `np.bitwise_xor.accumulate` is several times slower, because it goes down each column.
    for row in range(1, len(filled)):
        filled[row] ^= filled[row - 1]
    return filled


def _odd_counts(indices: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Return, for each integer below `size`, whether it occurs an odd number of times in `indices`."""
    values, counts = np.unique(indices, return_counts=True)
    is_odd = np.zeros(size, dtype=np.bool_)
    is_odd[values[counts % 2 == 1]] = True
    return is_odd


class _Edges(NamedTuple):
    """Edges of a polygon on the finer grid, from their lower to their higher end along their longer axis.

    Like the COCO tools, points are rounded along the slope from the lower end, and reversed afterwards.
    """

    lows: NDArray[np.int64]
    lengths: NDArray[np.int64]
    slopes: NDArray[np.float64]
    is_flat: NDArray[np.bool_]
    is_backward: NDArray[np.bool_]

    @classmethod
    def of(cls, points: Points) -> _Edges:
        """Return the edges of a closed polygon, in order."""
        starts = np.trunc(_FINENESS * points + 0.5).astype(np.int64)
        ends = np.roll(starts, -1, axis=0)
        tall, wide = np.abs(ends - starts).T
        is_flat = wide >= tall
        is_backward = np.where(is_flat, starts[:, 1] > ends[:, 1], starts[:, 0] > ends[:, 0])
        lows = np.where(is_backward[:, None], ends, starts)
        highs = np.where(is_backward[:, None], starts, ends)
        lengths = np.maximum(wide, tall)
        rise = np.where(is_flat, highs[:, 0] - lows[:, 0], highs[:, 1] - lows[:, 1])
        slopes = rise / np.maximum(lengths, 1)
        return cls(lows, lengths, slopes, is_flat, is_backward)

    def points_at(self, edge: Any, step: NDArray[np.int64]) -> _Outline:
        """Return the columns and rows of the points `step` from the lower ends of edges."""
        is_flat = self.is_flat[edge]
        low_row, low_column = self.lows[edge].T
        drift = self.slopes[edge] * step
        rounded_column = np.trunc(low_column + drift + 0.5)
        rounded_row = np.trunc(low_row + drift + 0.5)
        across = np.where(is_flat, low_column + step, rounded_column)
        down = np.where(is_flat, rounded_row, low_row + step)
        return across.astype(np.int64), down.astype(np.int64)


def _coco_outline(points: Points, shape: tuple[int, int]) -> Iterator[_Outline]:
    """Yield the columns and rows of the outline that the COCO tools draw on the finer grid, in pieces.

    An edge has one point per step along its longer axis. Each piece starts with the last point of the previous one.
    """
    edges = _Edges.of(points)
    height, width = shape
    is_long = edges.lengths > 4 * _FINENESS * (height + width)
    # A piece has one long edge, or short ones of a limited number of steps.
    piece = np.cumsum(is_long | np.roll(is_long, 1)) + np.cumsum(edges.lengths + 1) // _PIECE_STEPS
    last: _Outline = (np.empty(0, np.int64), np.empty(0, np.int64))
    bounds = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(points)]
    for first, end in pairwise(bounds):
        if is_long[first]:
            drawn = _points_near_frame(edges, first, shape)
        else:
            drawn = _all_points(edges, first, end)
        across, down = (np.concatenate(both) for both in zip(last, drawn, strict=True))
        yield across, down
        last = (across[-1:], down[-1:])


def _all_points(edges: _Edges, first: int, end: int) -> _Outline:
    """Return all points of consecutive edges."""
    counts = edges.lengths[first:end] + 1
    edge = np.repeat(np.arange(first, end), counts)
    first_entries = np.cumsum(counts) - counts
    step = np.arange(counts.sum()) - first_entries[edge - first]
    step = np.where(edges.is_backward[edge], edges.lengths[edge] - step, step)
    return edges.points_at(edge, step)


def _points_near_frame(edges: _Edges, edge: int, shape: tuple[int, int]) -> _Outline:
    """Return the points of an edge that toggle pixels, and at least one point.

    Only a step from a column to the next one toggles a pixel, and only in the columns of the frame.
    """
    length = int(edges.lengths[edge])
    low_column = int(edges.lows[edge, 1])
    slope = float(edges.slopes[edge])
    first_column, last_column = -_OUTSIDE, _FINENESS * shape[1] + _OUTSIDE
    steps = np.zeros(1, dtype=np.int64)
    if edges.is_flat[edge]:
        first = max(0, first_column - low_column)
        steps = np.arange(first, min(length, last_column - low_column) + 1)
    elif slope:
        left, right = sorted((low_column, low_column + slope * length))
        columns = np.arange(
            max(math.floor(left), first_column), min(math.ceil(right), last_column) + 1
        )
        # The steps on both sides of the place where the edge enters the column, whatever the rounding.
        entered = np.floor((columns - 0.5 - low_column) / slope).astype(np.int64)
        steps = np.unique(np.clip(entered[:, None] + np.arange(-1, 3), 0, length))
    if not len(steps):
        steps = np.zeros(1, dtype=np.int64)
    if edges.is_backward[edge]:
        steps = steps[::-1]
    return edges.points_at(edge, steps)
