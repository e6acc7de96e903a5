"""Which pixels a polygon covers, by one of two named rules. On the same polygon they differ by up to 1 % of its area.

"pixel-centre": the pixels whose centre lies inside, even-odd. Polygons that share sides share no pixel and leave
none out. "coco": the rule by which the COCO tools turn polygons into masks; published figures on COCO data use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, join_windows, window_shape, within_window
from segarena.samples import Mask
from segarena.systems.scenes.model.polygons import Points

FillRule: TypeAlias = Literal["pixel-centre", "coco"]

_FINENESS = 5  # the COCO tools draw outlines on a grid five times finer than the pixels
_FARTHEST = float(1 << 18)


class Patch(NamedTuple):
    """A mask, cropped: `mask` is what lies in `window` of the whole image."""

    window: Window
    mask: Mask

    def full(self, shape: tuple[int, int]) -> Mask:
        """Return the mask of the whole image, bool (H, W)."""
        whole = np.zeros(shape, dtype=np.bool_)
        whole[self.window] = self.mask
        return whole


def fill_polygon(
    points: Points, shape: tuple[int, int], *, rule: FillRule = "pixel-centre"
) -> Patch:
    """Return the pixels of a polygon, (N, 2), inside the frame (H, W); without pixels below three vertices.

    Source: "coco" behaves as `rleFrPoly` of the COCO API: outline points at whole columns of a five times finer
    grid toggle the pixels below them.
    """
    if len(points) < 3:
        return Patch((slice(0, 0), slice(0, 0)), np.zeros((0, 0), dtype=np.bool_))
    # Nothing this far out is in any image, and larger numbers would not fit the integers below.
    points = np.clip(points, -_FARTHEST, _FARTHEST)
    low = np.maximum(np.floor(points.min(axis=0)).astype(int) - 1, 0)
    high = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 1, shape)
    window = tuple(slice(int(a), max(int(a), int(b))) for a, b in zip(low, high, strict=True))
    fill = _fill_centres if rule == "pixel-centre" else _fill_coco
    return Patch(window, fill(points, shape, window))


def fill_polygons(
    polygons: Iterable[Points], shape: tuple[int, int], *, rule: FillRule = "pixel-centre"
) -> Patch:
    """Return the union of several polygons."""
    patches = [fill_polygon(points, shape, rule=rule) for points in polygons]
    return patches[0] if len(patches) == 1 else join_patches(patches)


def join_patches(patches: Iterable[Patch]) -> Patch:
    """Return the union of patches; without pixels when there are none."""
    patches = [patch for patch in patches if patch.mask.size]
    window: Window = (slice(0, 0), slice(0, 0))
    for patch in patches:
        window = join_windows(window, patch.window)
    mask = np.zeros(window_shape(window), dtype=np.bool_)
    for patch in patches:
        mask[within_window(patch.window, window)] |= patch.mask
    return Patch(window, mask)


def _fill_centres(points: Points, shape: tuple[int, int], window: Window) -> Mask:
    rows, columns = window
    height = rows.stop - rows.start
    width = columns.stop - columns.start
    ends = np.roll(points, -1, axis=0)
    is_down = (points[:, 0] < ends[:, 0])[:, None]
    # Sides always run downwards, so that neighbours who share one find the same pixels on it.
    tops = np.where(is_down, points, ends)
    bottoms = np.where(is_down, ends, points)
    first = np.clip(np.ceil(tops[:, 0] - 0.5), rows.start, rows.stop).astype(np.int64)
    last = np.clip(np.ceil(bottoms[:, 0] - 0.5), rows.start, rows.stop).astype(np.int64)
    counts = last - first
    side = np.repeat(np.arange(len(points)), counts)
    row = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[side]
    fall = bottoms[side, 0] - tops[side, 0]
    across = tops[side, 1] + (row + 0.5 - tops[side, 0]) * (
        (bottoms[side, 1] - tops[side, 1]) / fall
    )
    column = np.clip(np.ceil(across - 0.5), columns.start, columns.stop).astype(np.int64)
    toggles = _odd((row - rows.start) * (width + 1) + column - columns.start, height * (width + 1))
    return np.bitwise_xor.accumulate(toggles.reshape(height, width + 1), axis=1)[:, :width]


def _fill_coco(points: Points, shape: tuple[int, int], window: Window) -> Mask:
    rows, columns = window
    height = shape[0]
    across, down = _outline(points)
    change = np.flatnonzero(across[1:] != across[:-1]) + 1
    before = change - 1
    here = change
    fine = np.where(across[here] < across[before], across[here], across[here] - 1)
    column = (fine + 0.5) / _FINENESS - 0.5
    kept = (np.floor(column) == column) & (column >= 0) & (column <= shape[1] - 1)
    row = np.ceil(
        np.clip((np.minimum(down[here], down[before]) + 0.5) / _FINENESS - 0.5, 0, height)
    )
    flat = (column[kept].astype(np.int64) - columns.start) * height + row[kept].astype(np.int64)
    size = (columns.stop - columns.start) * height
    # A toggle below the last row is one at the top of the next column: what is left open there goes on.
    return np.bitwise_xor.accumulate(_odd(flat, size + 1)[:size]).reshape(-1, height).T[rows]


def _odd(places: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Return which of `size` places are there an odd number of times."""
    found, counts = np.unique(places, return_counts=True)
    is_odd = np.zeros(size, dtype=np.bool_)
    is_odd[found[counts % 2 == 1]] = True
    return is_odd


def _outline(points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns and rows of every point that the COCO tools draw on the finer grid, side after side."""
    grid = np.trunc(_FINENESS * points + 0.5).astype(np.int64)
    across: list[NDArray[np.int64]] = []
    down: list[NDArray[np.int64]] = []
    for (start_row, start_column), (end_row, end_column) in zip(
        grid, np.roll(grid, -1, axis=0), strict=True
    ):
        wide = abs(end_column - start_column)
        tall = abs(end_row - start_row)
        is_flat = wide >= tall
        is_back = start_column > end_column if is_flat else start_row > end_row
        if is_back:
            start_row, end_row, start_column, end_column = (
                end_row,
                start_row,
                end_column,
                start_column,
            )
        steps = np.arange(max(wide, tall) + 1)
        if is_flat:
            slope = (end_row - start_row) / wide if wide else 0.0
            side = steps + start_column, np.trunc(start_row + slope * steps + 0.5).astype(np.int64)
        else:
            slope = (end_column - start_column) / tall
            side = np.trunc(start_column + slope * steps + 0.5).astype(np.int64), steps + start_row
        across.append(side[0][::-1] if is_back else side[0])
        down.append(side[1][::-1] if is_back else side[1])
    return np.concatenate(across), np.concatenate(down)
