"""All stages of the robot combined: the lines that it draws in one frame, and their validity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.connected_components import Component, largest_component
from segarena.arrays.polylines import Points
from segarena.samples import Labels, Mask
from segarena.systems.videos.robot.bezier_line import (
    guided_line,
    nearest_pixels,
    points_on_mask,
    smooth_line,
)
from segarena.systems.videos.robot.medial_axis import medial_axis
from segarena.systems.videos.robot.morphological_opening import open_error
from segarena.systems.videos.robot.published_skeleton_paths import published_longest_paths
from segarena.systems.videos.robot.settings import RobotSettings
from segarena.systems.videos.robot.skeleton_paths import longest_paths


@dataclass(frozen=True, slots=True, eq=False)
class RobotLine:
    """A line of the robot in one frame: points (N, 2) as (row, column), and the true label that it marks."""

    object_id: int
    points: Points


@dataclass(frozen=True, slots=True)
class LineValidity:
    """Measures of how often and how far a line leaves its target.

    Attributes:
        off_error: share of the line's points outside the wrong pixels of its label; such points
            give no new information.
        off_label: share of the line's points outside its label; such points give wrong information.
        farthest_px: maximum distance in pixels from a point outside the label to the label; 0 if
            there is no such point, infinite if the label is absent from the frame.
    """

    off_error: float
    off_label: float
    farthest_px: float


def draw_lines(
    prediction: Labels,
    target: Labels,
    settings: RobotSettings,
    *,
    objects: int,
    ignore: Mask | None = None,
    marks_all: bool = False,
) -> tuple[RobotLine, ...]:
    """Draw the robot's lines in one frame: one in each sufficiently large component of each label's error.

    The background is treated as a label like the others, 0, and comes first: a line on it marks
    pixels that were wrongly predicted as an object.

    Args:
        prediction: uint8 (H, W).
        target: true labels, uint8 (H, W); labels above `objects` get no lines.
        settings: the robot's parameters.
        objects: highest label that gets lines.
        ignore: bool (H, W), pixels without lines.
        marks_all: in mode "checked", draw at least a point on every label with an error.

    Returns:
        Lines ordered by label, then by the first pixel of their skeleton in raster order; empty if
        no component is large enough.
    """
    wrong = prediction != target
    if ignore is not None:
        wrong &= ~ignore
    # Errors are grouped by true label: a false positive on the background is an error of label 0,
    # as published.
    wrong_px = np.bincount(target[wrong], minlength=1)[: objects + 1]
    lines: list[RobotLine] = []
    for object_id in np.flatnonzero(wrong_px).tolist():
        label = target == object_id
        for points in _lines_in(wrong & label, label, settings, marks_all):
            lines.append(RobotLine(object_id, points))
    return tuple(lines)


def line_validity(
    line: RobotLine,
    prediction: Labels,
    target: Labels,
) -> LineValidity:
    """Return the validity of a `line` that was drawn for this prediction and target."""
    label = target == line.object_id
    error = label & (prediction != target)
    on_label = points_on_mask(line.points, label)
    on_error = points_on_mask(line.points, error)
    farthest_px = 0.0
    if not label.any():
        farthest_px = math.inf
    elif not on_label.all():
        # The distance transform gives each pixel outside the label its distance to the label.
        outside = (~label).view(np.uint8)
        distance_px = cv2.distanceTransform(outside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        farthest_px = float(distance_px[nearest_pixels(line.points[~on_label])].max())
    return LineValidity(
        off_error=1 - float(on_error.mean()),
        off_label=1 - float(on_label.mean()),
        farthest_px=farthest_px,
    )


def _lines_in(
    error: Mask,
    label: Mask,
    settings: RobotSettings,
    marks_all: bool,
) -> list[Points]:
    """Return the points of the lines on one label."""
    paths = _paths_in(open_error(error, settings), settings, settings.min_nodes)
    # The published curve may leave the error: it cuts corners.
    if settings.mode == "published":
        return [smooth_line(path, settings.max_points) for path in paths]
    if not paths:
        # The error is thin everywhere. Draw only in its largest component, because many specks
        # would each yield a line.
        largest = largest_component(error, ties="first")
        paths = _paths_in(largest, settings, settings.min_nodes)
        if marks_all and not paths:
            paths = _paths_in(largest, settings, min_nodes=1)
    return [guided_line(path, settings.max_points, label) for path in paths]


def _paths_in(
    part: Component | None,
    settings: RobotSettings,
    min_nodes: int,
) -> list[NDArray[np.int64]]:
    """Return the longest path through each component of a cropped mask, in frame coordinates."""
    if part is None:
        return []
    rows, columns = part.window
    corner = np.array([rows.start, columns.start])
    skeleton = medial_axis(part.mask, settings.ties)
    # The line depends on where a loop is opened, so published lines need the published search.
    if settings.mode == "published":
        paths = published_longest_paths(skeleton, min_nodes)
    else:
        paths = longest_paths(skeleton, min_nodes)
    return [path + corner for path in paths]
