"""Goals of strokes in one picture: whole objects, background near them, and conspicuous errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from segarena.samples import Labels, Mask

_CONSPICUOUS_SHARE = 0.2
"""Minimum area times depth of an error part that is corrected, as a share of the largest one in the picture."""
_MOST_PARTS = 4
_BACKGROUND_LABEL = 0


@dataclass(frozen=True, slots=True, eq=False)
class StrokeGoal:
    """Region to draw a stroke on.

    Attributes:
        mask: bool (H, W), with at least one pixel.
        label: true label of the region: an object, or 0 for the background.
    """

    mask: Mask
    label: int


@dataclass(frozen=True, slots=True, eq=False)
class _ErrorPart:
    """Connected part of the errors of one true label, with its conspicuity (area times depth)."""

    conspicuity: float
    label: int
    mask: Mask


def object_goals(target: Labels, ignore: Mask | None) -> list[StrokeGoal]:
    """Return one goal for each object in a picture, for the first round."""
    counted = target
    if ignore is not None:
        counted = np.where(ignore, np.uint8(0), target)
    areas = np.bincount(counted.reshape(-1), minlength=1)
    areas[_BACKGROUND_LABEL] = 0
    labels = np.flatnonzero(areas)
    return [StrokeGoal(counted == label, label) for label in labels.tolist()]


def background_goals(goals: Sequence[StrokeGoal], ignore: Mask | None) -> list[StrokeGoal]:
    """Return the background near objects, without ignored pixels, as one goal with label 0; [] if there is none."""
    if not goals:
        return []
    objects = np.logical_or.reduce([goal.mask for goal in goals])
    near = nearby_background(objects)
    if ignore is not None:
        near &= ~ignore
    if not near.any():
        return []
    return [StrokeGoal(near, _BACKGROUND_LABEL)]


def nearby_background(mask: Mask) -> Mask:
    """Return the pixels outside an object within a distance of the square root of its area.

    Args:
        mask: bool (H, W), with at least one pixel.
    """
    outside = (~mask).view(np.uint8)
    distance = cv2.distanceTransform(outside, cv2.DIST_L2, cv2.DIST_MASK_5)
    object_size = math.sqrt(np.count_nonzero(mask))
    return (distance > 0) & (distance <= object_size)


def error_goals(
    prediction: Labels,
    target: Labels,
    ignore: Mask | None,
    objects: int,
) -> list[StrokeGoal]:
    """Return the conspicuous errors in a picture, one goal for each true label; [] if there are no errors.

    Errors are divided into 8-connected parts. Over all labels, up to four parts are kept whose
    conspicuity (area times greatest depth) is at least a fifth of the largest, which is always kept
    itself. This ignores slivers along an outline as long as there is a larger error to correct.

    Args:
        prediction: uint8 (H, W).
        target: uint8 (H, W); labels above `objects` belong to no object.
        ignore: bool (H, W), pixels that are never wrong.
        objects: greatest label that is corrected.
    """
    is_wrong = prediction != target
    if ignore is not None:
        is_wrong &= ~ignore
    wrong_pixels = np.bincount(target[is_wrong], minlength=1)
    labels = np.flatnonzero(wrong_pixels[: objects + 1])
    parts: list[_ErrorPart] = []
    for label in labels.tolist():
        error = is_wrong & (target == label)
        parts += _largest_parts(error, label)
    parts.sort(key=lambda part: -part.conspicuity)
    masks: dict[int, list[Mask]] = {}
    for part in parts[:_MOST_PARTS]:
        if part.conspicuity >= _CONSPICUOUS_SHARE * parts[0].conspicuity:
            masks.setdefault(part.label, []).append(part.mask)
    goals: list[StrokeGoal] = []
    for label in sorted(masks):
        mask = np.logical_or.reduce(masks[label])
        goals.append(StrokeGoal(mask, label))
    return goals


def _largest_parts(error: Mask, label: int) -> list[_ErrorPart]:
    """Return up to four connected parts of the errors of a label, largest first."""
    pixels = error.view(np.uint8)
    _, components, stats, _ = cv2.connectedComponentsWithStats(pixels, connectivity=8)
    areas = stats[:, cv2.CC_STAT_AREA].copy()
    areas[0] = 0  # OpenCV's component 0 is the rest of the picture
    largest = np.argsort(-areas, kind="stable")[:_MOST_PARTS]
    # Padded, so that the frame's border counts as an edge of the error.
    padded = np.pad(error, 1).view(np.uint8)
    depth = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_5)[1:-1, 1:-1]
    parts: list[_ErrorPart] = []
    for component in largest.tolist():
        area = int(areas[component])
        if area:
            mask = components == component
            greatest_depth = float(depth[mask].max())
            parts.append(_ErrorPart(area * greatest_depth, label, mask))
    return parts
