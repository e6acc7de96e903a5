"""Polygon filling by one of two rules, whose results differ by up to 1 % of the area.

"pixel-centre" fills the pixels whose centre is inside by the even-odd rule, so polygons that share
edges neither overlap nor leave gaps. "coco" is the rule by which the COCO tools rasterize polygons.
Published results on COCO data use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, join_windows, window_shape, within_window
from segarena.arrays.polygon_points import Points
from segarena.samples import Mask

FillRule: TypeAlias = Literal["pixel-centre", "coco"]

_FINENESS = 5  # the COCO tools draw outlines on a grid five times finer than the pixels


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
    rows, columns = window
    height, width = shape
    across, down = _coco_outline(points)
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
    toggled_rows = row[is_toggle].astype(np.int64)
    window_height, window_width = window_shape(window)
    # One more row for toggles below the last row of the image. All others lie in the window.
    stride = window_height + 1
    flat = toggled_columns * stride + toggled_rows - rows.start
    toggles = _odd_counts(flat, window_width * stride).reshape(window_width, stride)
    # COCO's run lengths run down the columns, so a run that is open at the end of a column continues
    # at the top of the next one.
    open_after = np.bitwise_xor.accumulate(np.bitwise_xor.reduce(toggles, axis=1))
    toggles[1:, 0] ^= open_after[:-1]
    return _accumulate_xor(toggles.T[:window_height])


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


def _coco_outline(points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns and rows of the outline that the COCO tools draw on the finer grid, edge by edge.

    An edge has one point per step along its longer axis.
    """
    starts = np.trunc(_FINENESS * points + 0.5).astype(np.int64)
    ends = np.roll(starts, -1, axis=0)
    tall, wide = np.abs(ends - starts).T
    is_flat = wide >= tall
    # Like the COCO tools, round along the slope from the lower end, and reverse the points
    # afterwards.
    is_backward = np.where(is_flat, starts[:, 1] > ends[:, 1], starts[:, 0] > ends[:, 0])
    lows = np.where(is_backward[:, None], ends, starts)
    highs = np.where(is_backward[:, None], starts, ends)
    lengths = np.maximum(wide, tall)
    rise = np.where(is_flat, highs[:, 0] - lows[:, 0], highs[:, 1] - lows[:, 1])
    slopes = rise / np.maximum(lengths, 1)
    counts = lengths + 1
    edge = np.repeat(np.arange(len(points)), counts)
    first_entries = np.cumsum(counts) - counts
    step = np.arange(counts.sum()) - first_entries[edge]
    step = np.where(is_backward[edge], lengths[edge] - step, step)
    low_row, low_column = lows[edge].T
    drift = slopes[edge] * step
    across = np.where(is_flat[edge], step + low_column, np.trunc(low_column + drift + 0.5))
    down = np.where(is_flat[edge], np.trunc(low_row + drift + 0.5), step + low_row)
    return across.astype(np.int64), down.astype(np.int64)
