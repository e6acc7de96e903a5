"""Drawing surface: the depth map and shape of a goal, in the coordinates in which agents draw.

Points are complex numbers, column + row j, so that a direction is a number of length 1 and a turn a
product.
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
"""Points or directions, (...), as column + row j."""

SHAPE_FEATURES = ("thinness", "fullness", "solidity", "elongation", "parts", "holes")
"""Shape features of a goal, in order.

- thinness: log of its size over its greatest depth
- fullness: its mean depth over its greatest
- solidity: its area over that of its convex hull
- elongation: log of its length over its breadth
- parts: log of the effective number of its connected parts
- holes: share of the filled goal that is holes
"""

STRIDE_SHARE = 0.16
"""Step length over the geometric mean of a goal's size and depth."""
LEAST_STRIDE_SHARE = 0.065
"""Least step length over a goal's size."""

RIM_CELLS = 14
"""Cells around a goal's window, as far as an agent in a corner can probe."""
_LEAST_STRIDE_PX = 0.75
_MARGIN = 0.75
"""Distance from a goal that agents may reach, over its size."""
_MOST_CELLS = 144
"""Most cells along a side of the depth map."""
_FINE_SIZE_PX = 100
_FINE_DEPTH_PX = 4
"""Goals larger and deeper than this are subsampled."""
_MOST_PIXELS = 1200
_DEPTH_RANGE = (-1.5, 1.0)
_NEAR_DEPTHS = 0.5
_LEAST_NEAR_PX = 1.5
"""Start points beside a goal lie within half its depth, and at least within this distance."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawingSurface:
    """Goal as drawing agents see it; lengths and points in px of the surface, from the window's corner.

    Attributes:
        window: window around the goal in the frame, with a margin where the frame leaves one;
            agents stay in it.
        coarseness: px of the frame per px of the surface.
        size: square root of the goal's area, the unit of line length.
        depth: distance of the deepest goal pixel from the background.
        stride: length of an agent's step.
        cell: edge of the cells of the depth map and of the ink.
        depths: depth at each cell over `depth`, negative outside; with `RIM_CELLS` cells around.
        inside: depth of each pixel, px, 0 outside.
        near: pixels outside in which a line may begin, (n,).
        pixels: pixels of the goal, (n,), a subsample of large goals.
        centre, axis: mean of its pixels, and the direction of its greatest extent.
        corner, extent: smallest box around it, (column, row) and (width, height).
        shape: values of `SHAPE_FEATURES`.
        part_of: connected part of each pixel, from 1; 0 outside.
        shares: share of the goal's area of each part, by part number.
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

    def clip(self, points: ComplexPoints) -> ComplexPoints:
        """Return points, those outside the surface moved to its edge."""
        height, width = self.sides
        clipped = np.array(points, np.complex64, ndmin=1)
        xy = as_xy(clipped)
        np.maximum(xy, 0, out=xy)
        np.minimum(xy, (width - 1, height - 1), out=xy)
        return clipped

    def to_frame(self, points: ComplexPoints) -> NDArray[np.float64]:
        """Return points as positions in the frame, (n, 2) as (row, column)."""
        start = np.array(window_start(self.window), np.float64)
        return start + self.coarseness * np.stack([points.imag, points.real], axis=1)

    def from_frame(self, positions: NDArray[np.float64]) -> ComplexPoints:
        """Return positions in the frame, (n, 2) as (row, column), as points of the surface."""
        rows, columns = ((positions - window_start(self.window)) / self.coarseness).T
        return self.clip(columns + 1j * rows)


def as_xy(points: ComplexPoints) -> FloatArray:
    """Return a view of complex64 points (...) as coordinates (..., 2), column and row."""
    return points.view(np.float32).reshape(*points.shape, 2)


def build_surface(goal: Mask) -> DrawingSurface:
    """Build the drawing surface of `goal`, bool (H, W).

    Raises:
        InvalidMask: the goal has no pixel.
    """
    tight = bounding_window(goal)
    if is_empty(tight):
        raise InvalidMask(
            "goal: expected at least one pixel to draw on, got none; ask about a goal with pixels"
        )
    size_px = math.sqrt(np.count_nonzero(goal[tight]))
    depth_px = float(_depths(goal[tight]).max())
    # The factor is bounded by the depth, so that the deepest disc keeps some pixels: no goal is lost entirely.
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
    cell = max(1.0, stride / 2, max(crop.shape) / _MOST_CELLS)
    is_near = (outside > 0) & (outside < max(_LEAST_NEAR_PX, _NEAR_DEPTHS * depth))
    tight = bounding_window(crop)
    centre, axis, lengths = _moments(crop)
    count, part_of, stats, _ = cv2.connectedComponentsWithStats(crop.view(np.uint8), connectivity=8)
    shares = stats[:count, cv2.CC_STAT_AREA].astype(np.float32) / np.float32(size**2)
    filled_area, hull_area = _outline_areas(crop)
    shape = (
        math.log(size / depth),
        float(inside.sum()) / size**2 / depth,
        min(1.0, size**2 / max(hull_area, 1.0)),
        math.log(lengths[0] / lengths[1]),
        -math.log(float(np.square(shares[1:]).sum())),
        1 - size**2 / filled_area,
    )
    return DrawingSurface(
        window=window,
        coarseness=coarseness,
        size=size,
        depth=depth,
        stride=stride,
        cell=cell,
        depths=_depth_map((inside - outside) / depth, cell),
        inside=inside,
        near=_to_points(is_near),
        pixels=_to_points(crop),
        centre=centre,
        axis=axis,
        corner=np.array(window_start(tight)[::-1], np.float32),
        extent=np.array(window_shape(tight)[::-1], np.float32),
        shape=np.array(shape, np.float32),
        part_of=part_of.astype(np.int32, copy=False),
        shares=shares,
    )


def _depths(mask: Mask) -> FloatArray:
    """Return the depth of each pixel; the frame's border counts as an edge."""
    padded = np.pad(mask, 1).view(np.uint8)
    return np.asarray(cv2.distanceTransform(padded, cv2.DIST_L2, 5), np.float32)[1:-1, 1:-1]


def _moments(crop: Mask) -> tuple[complex, complex, tuple[float, float]]:
    """Return the mean of the pixels, their principal axis, and their standard deviations along both axes."""
    moments = cv2.moments(crop.view(np.uint8), binaryImage=True)
    area = moments["m00"]
    covariance = np.array([[moments["mu20"], moments["mu11"]], [moments["mu11"], moments["mu02"]]])
    # A pixel is a unit square, whose own variance is 1/12.
    variances, axes = np.linalg.eigh(covariance / area + np.eye(2) / 12)
    length = math.sqrt(variances[1])
    breadth = math.sqrt(variances[0])
    centre = complex(moments["m10"], moments["m01"]) / area
    return centre, complex(axes[0, 1], axes[1, 1]), (length, breadth)


def _outline_areas(crop: Mask) -> tuple[float, float]:
    """Return the area of the goal with its holes filled, and that of its convex hull."""
    contours, _ = cv2.findContours(crop.view(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    filled = cv2.drawContours(np.zeros(crop.shape, np.uint8), contours, -1, 1, cv2.FILLED)
    hull = cv2.convexHull(np.concatenate(contours))
    # Contours run through pixel centres: a border of half a pixel is missing all around.
    border_area = cv2.arcLength(hull, closed=True) / 2 + 1
    return float(np.count_nonzero(filled)), cv2.contourArea(hull) + border_area


def _depth_map(depths: FloatArray, cell: float) -> FloatArray:
    """Return depths at the cell centres, padded by `RIM_CELLS` copies of the outermost cells."""
    rows = _cell_centres(depths.shape[0], cell)
    columns = _cell_centres(depths.shape[1], cell)
    sampled = np.clip(depths[np.ix_(rows, columns)], *_DEPTH_RANGE)
    return np.pad(sampled, RIM_CELLS, mode="edge").astype(np.float32)


def _cell_centres(side: int, cell: float) -> NDArray[np.intp]:
    centres = (np.arange(int(side / cell) + 1) + 0.5) * cell
    return np.minimum(centres.astype(np.intp), side - 1)


def _to_points(mask: Mask) -> ComplexPoints:
    """Return the pixels of a mask as points, evenly subsampled if there are too many."""
    flat = np.flatnonzero(mask)
    every = max(1, len(flat) // _MOST_PIXELS)
    rows, columns = np.divmod(flat[::every], mask.shape[1])
    return (columns + 1j * rows).astype(np.complex64)
