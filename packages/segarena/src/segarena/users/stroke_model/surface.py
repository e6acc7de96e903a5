"""What a hand sees of the part it is to draw on: how far each place lies inside or outside, and what shape it has.

Places are complex numbers, column + row j, so that a direction is a number of length 1 and a turn a product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, is_empty, window_shape, window_start
from segarena.errors import InvalidMask
from segarena.samples import Mask

FloatArray: TypeAlias = NDArray[np.floating[Any]]
ComplexPoints: TypeAlias = NDArray[np.complexfloating[Any, Any]]
"""Places or directions, (...), as column + row j."""

SHAPE_FEATURES = ("thinness", "fullness", "solidity", "elongation", "parts", "holes")
"""What is told of a goal's shape: how its size compares with its depth, its mean depth with its greatest, its area with
its hull's, its length with its breadth; of how many parts it seems, and what share of it filled would be holes."""

STRIDE_SHARE = 0.16
LEAST_STRIDE_SHARE = 0.065
"""A hand's step, over the geometric mean of a goal's size and depth; the least one, over its size."""

RIM_CELLS = 14
"""Cells around a goal's window: a hand in a corner looks no farther."""
_LEAST_STRIDE_PX = 0.75
_MARGIN = 0.75
"""So far around a goal a hand may go, over its size."""
_CELLS = 144
"""The most cells along a side of what a hand looks at."""
_FINE_SIZE_PX = 100
_FINE_DEPTH_PX = 4
"""Goals so large and so deep are looked at in pixels that are farther apart."""
_MOST_PLACES = 1200
_DEPTHS = (-1.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class DrawingSurface:
    """A goal as a hand sees it; lengths and places in px of the surface, from the window's first one on.

    Attributes:
        window: around the goal in the frame, with a margin where the frame leaves one; hands stay in it.
        coarseness: px of the frame to a px of the surface.
        size: root of the goal's area, the unit of how much is drawn.
        depth: how far its deepest pixel is from what is not the goal.
        stride: how far a hand moves in a step.
        cell: edge of the cells in which it looks and remembers.
        depths: of each cell, how deep it lies over `depth`, negative outside; with `RIM` cells around.
        inside: of each pixel how deep it lies, px, 0 outside.
        near: pixels outside where people may begin, (n,).
        pixels: pixels of the goal, (n,), some where there are many.
        centre, axis: the mean of its pixels, and the direction in which it is longest.
        corner, extent: of its smallest box, (column, row) and (width, height).
        shape: numbers for `SHAPE`.
        part_of: of each pixel, which part of the goal it is of, from 1; 0 outside.
        shares: which share of the goal each part is, 0 first.
    """

    window: tuple[slice, ...]
    coarseness: int
    size: float
    depth: float
    stride: float
    cell: float
    depths: FloatArray
    inside: FloatArray
    near: ComplexPoints
    pixels: ComplexPoints
    centre: complex
    axis: complex
    corner: FloatArray
    extent: FloatArray
    shape: FloatArray
    part_of: NDArray[np.int32]
    shares: FloatArray

    @property
    def sides(self) -> tuple[int, int]:
        """Height and width, px."""
        height, width = self.inside.shape
        return height, width

    def within(self, places: ComplexPoints) -> ComplexPoints:
        """Return places, those outside moved to the edge."""
        height, width = self.sides
        moved = np.array(places, np.complex64, ndmin=1)
        both = as_xy(moved)
        np.maximum(both, 0, out=both)
        np.minimum(both, (width - 1, height - 1), out=both)
        return moved

    def to_frame(self, places: ComplexPoints) -> NDArray[np.float64]:
        """Return places as positions in the frame, (n, 2) as (row, column)."""
        start = np.array(window_start(self.window), np.float64)
        return start + self.coarseness * np.stack([places.imag, places.real], axis=1)

    def from_frame(self, positions: NDArray[np.float64]) -> ComplexPoints:
        """Return positions in the frame, (n, 2) as (row, column), as places."""
        rows, columns = ((positions - window_start(self.window)) / self.coarseness).T
        return self.within(columns + 1j * rows)


def as_xy(places: ComplexPoints) -> FloatArray:
    """Return a view of complex64 places (...) as numbers (..., 2), column and row."""
    return places.view(np.float32).reshape(*places.shape, 2)


def build_surface(goal: Mask) -> DrawingSurface:
    """Return what a hand sees of `goal`, bool (H, W).

    Raises:
        InvalidMask: it has no pixel.
    """
    tight = bounding_window(goal)
    if is_empty(tight):
        raise InvalidMask(
            "goal: expected at least one pixel to draw on, got none; ask about what there is"
        )
    size_px = math.sqrt(np.count_nonzero(goal[tight]))
    depth_px = float(_depths(goal[tight]).max())
    # Where pixels are taken `coarseness` apart the deepest place still holds a disc of some: a goal never loses all.
    coarseness = max(1, int(min(size_px / _FINE_SIZE_PX, depth_px / _FINE_DEPTH_PX)))
    window = grow_window(tight, math.ceil(_MARGIN * size_px) + 2, goal.shape)
    crop = np.ascontiguousarray(goal[window][::coarseness, ::coarseness])
    inside = _depths(crop)
    outside: Any = cv2.distanceTransform((~crop).view(np.uint8), cv2.DIST_L2, 5)
    size = math.sqrt(np.count_nonzero(crop))
    depth = float(inside.max())
    stride = max(
        _LEAST_STRIDE_PX, STRIDE_SHARE * math.sqrt(size * depth), LEAST_STRIDE_SHARE * size
    )
    cell = max(1.0, stride / 2, max(crop.shape) / _CELLS)
    tight = bounding_window(crop)
    centre, axis, lengths = _moments(crop)
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
    return DrawingSurface(
        window=window, coarseness=coarseness, size=size, depth=depth, stride=stride, cell=cell,
        depths=_cells((inside - outside) / depth, cell), inside=inside,
        near=_places((outside > 0) & (outside < max(1.5, 0.5 * depth))), pixels=_places(crop),
        centre=centre, axis=axis, corner=np.array(window_start(tight)[::-1], np.float32),
        extent=np.array(window_shape(tight)[::-1], np.float32), shape=np.array(shape, np.float32),
        part_of=part_of.astype(np.int32, copy=False), shares=shares,
    )  # fmt: skip


def _depths(mask: Mask) -> FloatArray:
    """Return how deep each pixel lies, the frame's border being an edge."""
    padded = np.pad(mask, 1).view(np.uint8)
    return np.asarray(cv2.distanceTransform(padded, cv2.DIST_L2, 5), np.float32)[1:-1, 1:-1]


def _moments(crop: Mask) -> tuple[complex, complex, tuple[float, float]]:
    """Return the mean of the pixels, the direction in which they spread most, and how much they spread both ways."""
    m = cv2.moments(crop.view(np.uint8), binaryImage=True)
    # A pixel is a square, whose own spread is a twelfth.
    spread = np.array([[m["mu20"], m["mu11"]], [m["mu11"], m["mu02"]]]) / m["m00"] + np.eye(2) / 12
    lengths, axes = np.linalg.eigh(spread)
    long = math.sqrt(lengths[1])
    short = math.sqrt(lengths[0])
    return complex(m["m10"], m["m01"]) / m["m00"], complex(axes[0, 1], axes[1, 1]), (long, short)


def _outlines(crop: Mask) -> tuple[float, float]:
    """Return the pixels of the goal with its holes filled, and the area of its hull."""
    contours, _ = cv2.findContours(crop.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    filled = cv2.drawContours(np.zeros(crop.shape, np.uint8), contours, -1, 1, cv2.FILLED)
    hull = cv2.convexHull(np.concatenate(contours))
    # Contours run through the middles of pixels: half a pixel is added all around.
    return float(np.count_nonzero(filled)), cv2.contourArea(hull) + cv2.arcLength(
        hull, closed=True
    ) / 2 + 1


def _cells(depths: FloatArray, cell: float) -> FloatArray:
    """Return depths at the middles of cells, with `RIM` of them around that continue the outermost."""
    rows, columns = (
        np.minimum(((np.arange(int(side / cell) + 1) + 0.5) * cell).astype(np.intp), side - 1)
        for side in depths.shape
    )
    return np.pad(np.clip(depths[np.ix_(rows, columns)], *_DEPTHS), RIM_CELLS, mode="edge").astype(
        np.float32
    )


def _places(mask: Mask) -> ComplexPoints:
    """Return the pixels of a mask, every so many where there are too many."""
    flat = np.flatnonzero(mask)
    rows, columns = np.divmod(flat[:: max(1, len(flat) // _MOST_PLACES)], mask.shape[1])
    return (columns + 1j * rows).astype(np.complex64)
