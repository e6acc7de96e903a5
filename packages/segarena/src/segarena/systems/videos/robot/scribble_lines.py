"""All stages together: the lines a robot draws in one frame, and how well they fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.components import Component, largest_component
from segarena.arrays.lines import Points
from segarena.samples import Labels, Mask
from segarena.systems.videos.robot.bezier_line import (
    guided_line,
    nearest_pixels,
    points_on_mask,
    smooth_line,
)
from segarena.systems.videos.robot.medial_axis import medial_axis
from segarena.systems.videos.robot.morphological_opening import open_error
from segarena.systems.videos.robot.settings import RobotSettings
from segarena.systems.videos.robot.skeleton_paths import longest_paths


@dataclass(frozen=True, slots=True, eq=False)
class RobotLine:
    """A line of a robot in one frame: points (N, 2) as (row, column), and the true label of what they are meant for."""

    object_id: int
    points: Points


@dataclass(frozen=True, slots=True)
class LineValidity:
    """How far a line leaves what it is meant for.

    Attributes:
        off_error: share of its points that are not on a wrong pixel of its label: some of the line says nothing new.
        off_label: share of its points that are not on its label at all: some of the line says what is not true.
        farthest_px: the largest distance of such a point's pixel to the label; 0 when there is none, infinite when
            the label is nowhere in the frame.
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
    """Return what the robot draws in one frame: a line in each large enough part of what is missing of each label.

    The background is a label like the others, 0, and comes first: a line on it says that something was predicted there
    that is none of the objects.

    Args:
        prediction: uint8 (H, W).
        target: the same; labels above `objects` are never drawn on.
        settings: of the robot.
        objects: labels 0 to this one are drawn on.
        ignore: bool (H, W), never drawn on.
        marks_all: a checked robot draws at least a point on every label that something is missing of.

    Returns:
        Lines by label, then by the first pixel of the skeleton in raster order; none when nothing is large enough.
    """
    wrong = prediction != target
    if ignore is not None:
        wrong &= ~ignore
    lines: list[RobotLine] = []
    for object_id in np.flatnonzero(
        np.bincount(target[wrong], minlength=1)[: objects + 1]
    ).tolist():
        label = target == object_id
        lines.extend(
            RobotLine(object_id, points)
            for points in _lines_in(wrong & label, label, settings, marks_all)
        )
    return tuple(lines)


def line_validity(line: RobotLine, prediction: Labels, target: Labels) -> LineValidity:
    """Return how far `line`, which was drawn for these two, leaves what it is meant for."""
    label = target == line.object_id
    on_label = points_on_mask(line.points, label)
    on_error = points_on_mask(line.points, label & (prediction != target))
    farthest_px = 0.0
    if not label.any():
        farthest_px = math.inf
    elif not on_label.all():
        away_px = cv2.distanceTransform((~label).view(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        farthest_px = float(away_px[nearest_pixels(line.points[~on_label])].max())
    return LineValidity(
        off_error=1 - float(on_error.mean()),
        off_label=1 - float(on_label.mean()),
        farthest_px=farthest_px,
    )


def _lines_in(error: Mask, label: Mask, settings: RobotSettings, marks_all: bool) -> list[Points]:
    paths = _paths_in(open_error(error, settings), settings, settings.min_nodes)
    if settings.mode == "published":
        return [smooth_line(path, settings.max_points) for path in paths]
    if not paths:
        # Thin everywhere, and often many specks: each of them would give a line.
        largest = largest_component(error, ties="first")
        paths = _paths_in(largest, settings, settings.min_nodes)
        if marks_all and not paths:
            paths = _paths_in(largest, settings, min_nodes=1)
    return [guided_line(path, settings.max_points, label) for path in paths]


def _paths_in(
    part: Component | None, settings: RobotSettings, min_nodes: int
) -> list[NDArray[np.int64]]:
    """Return the path through each piece of a part of the frame, in pixels of the frame."""
    if part is None:
        return []
    corner = np.array([side.start for side in part.window])
    loops = "search" if settings.mode == "published" else "raster"
    return [
        path + corner
        for path in longest_paths(medial_axis(part.mask, settings.ties), min_nodes, loops)
    ]
