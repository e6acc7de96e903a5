"""Stroke features: fourteen numbers that describe the shape of a stroke and its position in its goal.

Only the centre line of a stroke is measured, one pixel wide, so that the width of the drawing tool
does not reveal who drew it. The width still produces spurs, because of thinning, at the ends of
wide lines, and it shifts the ends of the centre line. `COARSE_STROKE_FEATURES` hardly depend on
these spurs and shifts. Lengths are in units of the square root of the goal's area, so that goals of
all sizes can be pooled.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import (
    bounding_window,
    grow_window,
    is_empty,
    join_windows,
    window_shape,
    window_start,
)
from segarena.arrays.distance_transform import squared_distance
from segarena.arrays.thinning import thin
from segarena.errors import InvalidMask
from segarena.samples import Mask
from segarena_people.measures.goal_mask_geometry import GoalShape

STROKE_FEATURES: dict[str, str] = {
    "length": "logarithm of the line's number of pixels divided by the square root of the goal's area",
    "pieces": "8-connected pieces",
    "depth_mean": "mean depth in the goal along the line, divided by the maximum depth",
    "depth_least": "minimum depth along the line",
    "depth_spread": "standard deviation of the depth along the line",
    "offset": "distance of the line's centroid from the goal's",
    "cover_height": "height of the line's bounding box divided by that of the goal's",
    "cover_width": "width of the line's bounding box divided by that of the goal's",
    "winding": "the line's number of pixels divided by the diagonal of its bounding box",
    "ends": "number of pixels with exactly one neighbour",
    "branching": "share of pixels with more than two neighbours",
    "off_goal": "share of pixels that are not on the goal",
    "reach_mean": "mean distance of the goal's pixels from the line",
    "reach_most": "maximum distance of the goal's pixels from the line",
}
"""Features with their definitions, in order."""

COARSE_STROKE_FEATURES = (
    "length",
    "depth_mean",
    "offset",
    "cover_height",
    "cover_width",
    "reach_mean",
    "reach_most",
)
"""Features that hardly depend on the width of the tool or on thinning."""

COARSE_STROKE_COLUMNS = tuple(list(STROKE_FEATURES).index(name) for name in COARSE_STROKE_FEATURES)
"""Columns of the coarse features: `features[:, COARSE_STROKE_COLUMNS]`."""

LEAST_GOAL_PX = 30
"""Minimum size of goals in comparisons; on smaller goals the features carry no information."""


def stroke_features(ink: Mask, goal: Mask | GoalShape) -> NDArray[np.float64]:
    """Return the `STROKE_FEATURES` of the ink drawn for a goal.

    >>> goal, ink = np.zeros((2, 12, 30), bool)
    >>> goal[2:9, 3:28] = ink[5, 5:26] = True
    >>> dict(zip(STROKE_FEATURES, stroke_features(ink, goal).round(2).tolist()))["cover_width"]
    0.84

    Args:
        ink: bool (H, W), all ink of one round and one sign, of any width; at least one pixel.
        goal: bool of the same shape; pass its `GoalShape` to save time when several strokes on
            it are measured.

    Returns:
        float64 (14,), all finite.

    Raises:
        InvalidMask: ink or goal is empty, or their shapes differ.
    """
    shape = goal if isinstance(goal, GoalShape) else GoalShape(goal)
    if ink.dtype != np.bool_ or ink.shape != shape.mask.shape:
        raise InvalidMask(
            f"ink: expected bool of the goal's shape {shape.mask.shape}, got {ink.dtype} of {ink.shape}"
        )
    drawn = bounding_window(ink)
    if is_empty(drawn):
        raise InvalidMask(
            "ink: expected at least one pixel, got none; leave out rounds without strokes"
        )
    # Pad by one pixel on all sides, so that border pixels have neighbours too.
    window = grow_window(join_windows(drawn, shape.window), 1, ink.shape)
    start = window_start(window)
    line = thin(ink[window])
    on_line = _line_features(line, shape, start)
    on_goal = _reach_features(line, shape, start)
    return np.array([*on_line, *on_goal])


def stroke_feature_table(strokes: Iterable[tuple[Mask, GoalShape]]) -> NDArray[np.float64]:
    """Return `stroke_features` of many strokes, float64 (n, 14).

    >>> stroke_feature_table([]).shape
    (0, 14)
    """
    rows: list[NDArray[np.float64]] = []
    for ink, goal in strokes:
        rows.append(stroke_features(ink, goal))
    return np.array(rows).reshape(-1, len(STROKE_FEATURES))


def _line_features(
    line: Mask,
    shape: GoalShape,
    start: tuple[int, ...],
) -> list[float]:
    """Return the features computed from the pixels of the line, in the order of `STROKE_FEATURES`."""
    rows, columns = np.nonzero(line)
    height, width = window_shape(bounding_window(line))
    depth = shape.depth_at(rows + start[0], columns + start[1])
    neighbours = _neighbours(line)[rows, columns]
    row, column = shape.centroid - start
    centroid_offset = math.hypot(float(rows.mean()) - row, float(columns.mean()) - column)
    return [
        math.log(len(rows) / shape.side),
        _pieces(line),
        float(depth.mean()),
        float(depth.min()),
        float(depth.std()),
        centroid_offset / shape.side,
        height / shape.extent[0],
        width / shape.extent[1],
        len(rows) / math.hypot(height, width),
        float(np.count_nonzero(neighbours == 1)),
        float(np.count_nonzero(neighbours > 2)) / len(rows),
        float(np.count_nonzero(depth == 0)) / len(rows),
    ]


def _neighbours(line: Mask) -> NDArray[np.uint8]:
    """Return for each pixel how many of its eight neighbours are line pixels."""
    own = line.view(np.uint8)
    around: Any = cv2.boxFilter(own, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return around - own


def _pieces(line: Mask) -> int:
    count, _ = cv2.connectedComponents(line.view(np.uint8), connectivity=8)
    # OpenCV counts the background as a component, hence minus one.
    return count - 1


def _reach_features(
    line: Mask,
    shape: GoalShape,
    start: tuple[int, ...],
) -> list[float]:
    """Return the mean and maximum distance of the goal's pixels from the line, divided by the goal's `side`."""
    squared = squared_distance(~line, frame_is_edge=False)
    goal_pixels = tuple((shape.pixels - start).T)
    distances = np.sqrt(squared[goal_pixels])
    return [
        float(distances.mean()) / shape.side,
        float(distances.max()) / shape.side,
    ]
