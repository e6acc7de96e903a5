"""What a hand sees of the part it is to draw on: how far each place lies inside or outside, and what shape it has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, window_shape, window_start
from segarena.samples import Mask

Floats: TypeAlias = NDArray[np.floating[Any]]

SHAPE = ("thinness", "fullness", "solidity", "elongation", "parts", "holes")
"""What is told of a goal's shape: how its size compares with its depth, its mean depth with its greatest, its area with
its hull's, its length with its breadth; of how many parts it seems, and what share of it filled would be holes."""

STRIDE = 0.16
"""A hand's step, over the geometric mean of a goal's size and depth."""

_LEAST_STRIDE_PX = 0.75
_MARGIN = 0.75
"""So far around a goal a hand may go, over its size."""
_CELLS = 144
"""The most cells along a side of what a hand looks at."""
RIM = 14
"""Cells around: a hand in a corner looks no farther."""
_MOST_PIXELS = 1200
_DEPTHS = (-1.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A goal as a hand sees it; lengths in px, places as (row, column) of the window.

    Attributes:
        window: around the goal, with a margin where the frame leaves one; hands stay in it.
        size: root of the goal's area, the unit of how much is drawn.
        depth: how far its deepest pixel is from what is not the goal.
        stride: how far a hand moves in a step.
        cell: edge of the cells in which it looks and remembers.
        depths: of each cell, how deep it lies over `depth`, negative outside; with `RIM` cells around.
        inside: of each pixel of the window how deep it lies, px, 0 outside.
        near: pixels outside where people may begin, (n, 2).
        pixels: pixels of the goal, (n, 2), some where there are many.
        centre, axis: the mean of its pixels, and the direction in which it is longest.
        corner, extent: of its smallest box.
        shape: numbers for `SHAPE`.
        part_of: of each pixel of the window, which part of the goal it is of, from 1; 0 outside.
        shares: which share of the goal each part is, 0 first.
    """

    window: tuple[slice, ...]
    size: float
    depth: float
    stride: float
    cell: float
    depths: Floats
    inside: Floats
    near: Floats
    pixels: Floats
    centre: Floats
    axis: Floats
    corner: Floats
    extent: Floats
    shape: Floats
    part_of: NDArray[np.int32]
    shares: Floats

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width of the window."""
        height, width = self.inside.shape
        return height, width


def surface_of(goal: Mask) -> Surface:
    """Return what a hand sees of `goal`, bool (H, W), which has at least one pixel."""
    tight = bounding_window(goal)
    size = math.sqrt(np.count_nonzero(goal[tight]))
    window = grow_window(tight, math.ceil(_MARGIN * size) + 2, goal.shape)
    crop = np.ascontiguousarray(goal[window])
    inside: Any = cv2.distanceTransform(np.pad(crop, 1).view(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    outside: Any = cv2.distanceTransform((~crop).view(np.uint8), cv2.DIST_L2, 5)
    depth = float(inside.max())
    stride = max(_LEAST_STRIDE_PX, STRIDE * math.sqrt(size * depth))
    cell = max(1.0, stride / 2, max(crop.shape) / _CELLS)
    corner = np.subtract(window_start(tight), window_start(window))
    extent = window_shape(tight)
    centre, axis, lengths = _moments(crop, corner, extent)
    count, part_of, stats, _ = cv2.connectedComponentsWithStats(crop.view(np.uint8), connectivity=8)
    shares = stats[:count, cv2.CC_STAT_AREA].astype(np.float32) / np.float32(size**2)
    filled, hull = _outlines(crop)
    shape = (
        math.log(size / depth),
        float(inside.sum()) / size**2 / depth,
        min(1.0, size**2 / max(hull, 1.0)),
        math.log(lengths[0] / lengths[1]),
        -math.log(float(np.square(shares[1:]).sum())),
        1 - size**2 / filled,
    )
    flat = np.flatnonzero(crop)
    flat = flat[:: max(1, len(flat) // _MOST_PIXELS)]
    near = np.flatnonzero((outside > 0) & (outside < max(1.5, 0.5 * depth)))
    near = near[:: max(1, len(near) // _MOST_PIXELS)]
    return Surface(
        window=window, size=size, depth=depth, stride=stride, cell=cell,
        depths=_cells((inside - outside) / depth, cell), inside=inside,
        near=_places(near, crop.shape[1]), pixels=_places(flat, crop.shape[1]),
        centre=centre, axis=axis, corner=corner.astype(np.float32), extent=np.array(extent, np.float32),
        shape=np.array(shape, np.float32), part_of=part_of.astype(np.int32, copy=False), shares=shares,
    )  # fmt: skip


def _moments(
    crop: Mask, corner: NDArray[np.int64], extent: tuple[int, ...]
) -> tuple[Floats, Floats, tuple[float, float]]:
    """Return the mean of the pixels, the direction in which they spread most, and how much they spread both ways."""
    (top, left), (height, width) = corner.tolist(), extent
    m = cv2.moments(crop[top : top + height, left : left + width].view(np.uint8), binaryImage=True)
    row, column = m["m01"] / m["m00"], m["m10"] / m["m00"]
    # A pixel is a square, whose own spread is a twelfth.
    spread = np.array([[m["mu02"], m["mu11"]], [m["mu11"], m["mu20"]]]) / m["m00"] + np.eye(2) / 12
    lengths, axes = np.linalg.eigh(spread)
    long, short = math.sqrt(lengths[1]), math.sqrt(lengths[0])
    return np.array([row + top, column + left], np.float32), axes[:, 1].astype(np.float32), (long, short)


def _outlines(crop: Mask) -> tuple[float, float]:
    """Return the pixels of the goal with its holes filled, and the area of its hull."""
    contours, _ = cv2.findContours(crop.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    filled = cv2.drawContours(np.zeros(crop.shape, np.uint8), contours, -1, 1, cv2.FILLED)
    hull = cv2.convexHull(np.concatenate(contours))
    # Contours run through the middles of pixels: half a pixel is added all around.
    return float(np.count_nonzero(filled)), cv2.contourArea(hull) + cv2.arcLength(hull, closed=True) / 2 + 1


def _cells(depths: Floats, cell: float) -> Floats:
    """Return depths at the middles of cells, with `RIM` of them around that continue the outermost."""
    rows, columns = (
        np.minimum(((np.arange(int(side / cell) + 1) + 0.5) * cell).astype(np.intp), side - 1) for side in depths.shape
    )
    return np.pad(np.clip(depths[np.ix_(rows, columns)], *_DEPTHS), RIM, mode="edge").astype(np.float32)


def _places(flat: NDArray[np.intp], width: int) -> Floats:
    return np.stack(np.divmod(flat, width), axis=1).astype(np.float32)
