"""Drawing surface: the depth map and shape of a goal, in the coordinates that drawing agents use.

Points are complex numbers, column + row j, so that a direction is a number of length 1 and a turn
is a multiplication.
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

- thinness: logarithm of its size divided by its greatest depth
- fullness: its mean depth divided by its greatest depth
- solidity: its area divided by that of its convex hull
- elongation: logarithm of its length divided by its breadth
- parts: logarithm of the effective number of its connected parts
- holes: share of the filled goal that is holes
"""

STRIDE_SHARE = 0.16
"""Step length divided by the geometric mean of a goal's size and depth."""
LEAST_STRIDE_SHARE = 0.065
"""Minimum step length, as a share of a goal's size."""

RIM_CELLS = 14
"""Number of cells added around a goal's window, because an agent in a corner can probe as far as this."""
_LEAST_STRIDE_PX = 0.75
_MARGIN = 0.75
"""Distance that agents may move away from a goal, as a share of its size."""
_MOST_CELLS = 144
"""Maximum number of cells along a side of the depth map."""
_FINE_SIZE_PX = 100
_FINE_DEPTH_PX = 4
"""Goals that are at least twice this size and twice this depth are subsampled."""
_MOST_PIXELS = 1200
_DEPTH_RANGE = (-1.5, 1.0)
_NEAR_DEPTHS = 0.5
_LEAST_NEAR_PX = 1.5
"""Start points next to a goal are within half its depth, or within this distance if that is larger."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawingSurface:
    """Goal from the perspective of drawing agents; lengths and points in surface pixels from the window's corner.

    Attributes:
        window: window around the goal in the frame, with a margin if the frame permits; agents stay
            inside it.
        coarseness: frame pixels per surface pixel.
        size: square root of the goal's area, the unit of line length.
        depth: distance from the deepest goal pixel to the background.
        stride: length of an agent's step.
        cell: edge length of the cells of the depth map and of the ink map.
        depths: depth at each cell divided by `depth`, negative outside, clipped to `_DEPTH_RANGE`, with
            `RIM_CELLS` cells around.
        inside: depth of each pixel in pixels, 0 outside.
        near: pixels outside the goal in which a line may start, (n,).
        pixels: pixels of the goal, (n,), subsampled for large goals.
        centre, axis: mean of the goal's pixels, and the direction of its greatest extent.
        corner, extent: smallest box around the goal, (column, row) and (width, height).
        shape: values of `SHAPE_FEATURES`.
        part_of: connected part of each pixel, from 1; 0 outside.
        shares: share of the goal's area of each part, by index of the part.
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
        """Height and width in pixels."""
        height, width = self.inside.shape
        return height, width

    def clip(self, points: ComplexPoints) -> ComplexPoints:
        """Move points outside the surface to its edge."""
        height, width = self.sides
        clipped = np.array(points, np.complex64, ndmin=1)
        xy = as_xy(clipped)
        np.maximum(xy, 0, out=xy)
        np.minimum(xy, (width - 1, height - 1), out=xy)
        return clipped

    def to_frame(self, points: ComplexPoints) -> NDArray[np.float64]:
        """Convert points to positions in the frame, (n, 2) as (row, column)."""
        start = np.array(window_start(self.window), np.float64)
        positions = np.stack([points.imag, points.real], axis=1)
        return start + self.coarseness * positions

    def from_frame(self, positions: NDArray[np.float64]) -> ComplexPoints:
        """Convert positions in the frame, (n, 2) as (row, column), to points of the surface."""
        offsets = positions - window_start(self.window)
        rows, columns = (offsets / self.coarseness).T
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
            "goal: expected at least one pixel to draw on, got none; pass a goal with pixels"
        )
    goal_pixels = goal[tight]
    size_px = math.sqrt(np.count_nonzero(goal_pixels))
    depth_px = float(_depths(goal_pixels).max())
    # The factor is bounded by the depth, so that some pixels of the deepest disc remain and the
    # goal never vanishes.
    coarseness = max(1, int(min(size_px / _FINE_SIZE_PX, depth_px / _FINE_DEPTH_PX)))
    margin_px = math.ceil(_MARGIN * size_px) + 2
    window = grow_window(tight, margin_px, goal.shape)
    crop = np.ascontiguousarray(goal[window][::coarseness, ::coarseness])
    inside = _depths(crop)
    outside_pixels = (~crop).view(np.uint8)
    outside: Any = cv2.distanceTransform(outside_pixels, cv2.DIST_L2, cv2.DIST_MASK_5)
    size = math.sqrt(np.count_nonzero(crop))
    depth = float(inside.max())
    mean_stride = STRIDE_SHARE * math.sqrt(size * depth)
    stride = max(_LEAST_STRIDE_PX, mean_stride, LEAST_STRIDE_SHARE * size)
    cell = max(1.0, stride / 2, max(crop.shape) / _MOST_CELLS)
    near_distance = max(_LEAST_NEAR_PX, _NEAR_DEPTHS * depth)
    is_near = (outside > 0) & (outside < near_distance)
    tight = bounding_window(crop)
    first_row, first_column = window_start(tight)
    height, width = window_shape(tight)
    centre, axis, (length, breadth) = _moments(crop)
    pixels = crop.view(np.uint8)
    count, part_of, stats, _ = cv2.connectedComponentsWithStats(pixels, connectivity=8)
    part_areas = stats[:count, cv2.CC_STAT_AREA].astype(np.float32)
    shares = part_areas / np.float32(size**2)
    # Part 0 is the background, so it is skipped.
    sum_of_squared_shares = float(np.square(shares[1:]).sum())
    mean_depth = float(inside.sum()) / size**2
    filled_area, hull_area = _outline_areas(crop)
    # The order is that of `SHAPE_FEATURES`.
    shape = (
        math.log(size / depth),
        mean_depth / depth,
        min(1.0, size**2 / max(hull_area, 1.0)),
        math.log(length / breadth),
        -math.log(sum_of_squared_shares),
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
        corner=np.array([first_column, first_row], np.float32),
        extent=np.array([width, height], np.float32),
        shape=np.array(shape, np.float32),
        part_of=part_of.astype(np.int32, copy=False),
        shares=shares,
    )


def _depths(mask: Mask) -> FloatArray:
    """Return the depth of each pixel; the frame's border counts as an edge of the goal."""
    padded = np.pad(mask, 1).view(np.uint8)
    distance = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_5)
    return np.asarray(distance, np.float32)[1:-1, 1:-1]


def _moments(crop: Mask) -> tuple[complex, complex, tuple[float, float]]:
    """Return the mean of the pixels, their principal axis, and their standard deviations along both axes."""
    moments = cv2.moments(crop.view(np.uint8), binaryImage=True)
    area = moments["m00"]
    column_moment = moments["mu20"]
    row_moment = moments["mu02"]
    mixed_moment = moments["mu11"]
    central_moments = np.array([[column_moment, mixed_moment], [mixed_moment, row_moment]])
    # A pixel is a unit square, which has a variance of 1/12 itself.
    covariance = central_moments / area + np.eye(2) / 12
    # Eigenvalues are ascending, so the last axis has the greatest extent.
    variances, axes = np.linalg.eigh(covariance)
    breadth = math.sqrt(variances[0])
    length = math.sqrt(variances[1])
    axis = complex(axes[0, 1], axes[1, 1])
    centre = complex(moments["m10"], moments["m01"]) / area
    return centre, axis, (length, breadth)


def _outline_areas(crop: Mask) -> tuple[float, float]:
    """Return the area of the goal with filled holes, and the area of its convex hull."""
    pixels = crop.view(np.uint8)
    contours, _ = cv2.findContours(pixels, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    canvas = np.zeros(crop.shape, np.uint8)
    filled = cv2.drawContours(canvas, contours, -1, 1, cv2.FILLED)
    filled_area = float(np.count_nonzero(filled))
    hull = cv2.convexHull(np.concatenate(contours))
    # Contours run through pixel centres, so half a pixel is missing along the whole border.
    border_area = cv2.arcLength(hull, closed=True) / 2 + 1
    hull_area = cv2.contourArea(hull) + border_area
    return filled_area, hull_area


def _depth_map(depths: FloatArray, cell: float) -> FloatArray:
    """Return depths at the cell centres, clipped, and padded by `RIM_CELLS` copies of the outermost cells."""
    height, width = depths.shape
    rows = _cell_centres(height, cell)
    columns = _cell_centres(width, cell)
    sampled = depths[np.ix_(rows, columns)]
    clipped = np.clip(sampled, *_DEPTH_RANGE)
    return np.pad(clipped, RIM_CELLS, mode="edge").astype(np.float32)


def _cell_centres(side: int, cell: float) -> NDArray[np.intp]:
    cells = np.arange(int(side / cell) + 1)
    centres = (cells + 0.5) * cell
    return np.minimum(centres.astype(np.intp), side - 1)


def _to_points(mask: Mask) -> ComplexPoints:
    """Return the pixels of a mask as points, evenly subsampled if there are too many."""
    flat = np.flatnonzero(mask)
    step = max(1, len(flat) // _MOST_PIXELS)
    rows, columns = np.divmod(flat[::step], mask.shape[1])
    points = columns + 1j * rows
    return points.astype(np.complex64)
