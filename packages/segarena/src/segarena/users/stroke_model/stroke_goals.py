"""Goals of strokes in one picture: whole objects, background near them, and the conspicuous errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from segarena.samples import Labels, Mask

_CONSPICUOUS_SHARE = 0.2
"""Least area times depth of an error part that is corrected, as a share of the largest in the picture."""
_MOST_PARTS = 4


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
    """Connected part of the errors of one true label, with its conspicuity: area times depth."""

    conspicuity: float
    label: int
    mask: Mask


def object_goals(target: Labels, ignore: Mask | None) -> list[StrokeGoal]:
    """Return a goal for every object in a picture, as drawn on in the first round."""
    counted = target if ignore is None else np.where(ignore, np.uint8(0), target)
    labels = np.flatnonzero(np.bincount(counted.reshape(-1), minlength=1))
    return [StrokeGoal(counted == label, label) for label in labels.tolist() if label]


def background_goals(goals: Sequence[StrokeGoal], ignore: Mask | None) -> list[StrokeGoal]:
    """Return the background near objects that is not ignored as one goal of label 0; [] where there is none."""
    if not goals:
        return []
    near = nearby_background(np.logical_or.reduce([goal.mask for goal in goals]))
    if ignore is not None:
        near &= ~ignore
    return [StrokeGoal(near, 0)] if near.any() else []


def nearby_background(mask: Mask) -> Mask:
    """Return the pixels off an object that are no farther from it than the square root of its area.

    Args:
        mask: bool (H, W), with at least one pixel.
    """
    distance = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 5)
    return (distance > 0) & (distance <= math.sqrt(np.count_nonzero(mask)))


def error_goals(
    prediction: Labels, target: Labels, ignore: Mask | None, objects: int
) -> list[StrokeGoal]:
    """Return the conspicuous errors in a picture, one goal for each true label; [] without errors.

    Errors are split into 8-connected parts. Of all labels together, up to four parts are kept:
    those whose area times greatest depth is at least a fifth of the largest, which is always kept
    itself. So slivers along an outline are left alone while there is a blob to correct.

    Args:
        prediction: uint8 (H, W).
        target: uint8 (H, W); labels above `objects` belong to no object.
        ignore: bool (H, W), pixels that are never wrong.
        objects: greatest label that is corrected.
    """
    is_wrong = prediction != target
    if ignore is not None:
        is_wrong &= ~ignore
    labels = np.flatnonzero(np.bincount(target[is_wrong], minlength=1)[: objects + 1])
    parts: list[_ErrorPart] = []
    for label in labels.tolist():
        parts += _largest_parts(is_wrong & (target == label), label)
    parts.sort(key=lambda part: -part.conspicuity)
    masks: dict[int, list[Mask]] = {}
    for part in parts[:_MOST_PARTS]:
        if part.conspicuity >= _CONSPICUOUS_SHARE * parts[0].conspicuity:
            masks.setdefault(part.label, []).append(part.mask)
    return [StrokeGoal(np.logical_or.reduce(masks[label]), label) for label in sorted(masks)]


def _largest_parts(error: Mask, label: int) -> list[_ErrorPart]:
    """Return up to four connected parts of the errors of a label, the largest first."""
    _, numbers, stats, _ = cv2.connectedComponentsWithStats(error.view(np.uint8), connectivity=8)
    areas = stats[:, cv2.CC_STAT_AREA].copy()
    areas[0] = 0
    largest = np.argsort(-areas, kind="stable")[:_MOST_PARTS]
    # Padded, so that the frame's border counts as an edge.
    depth = cv2.distanceTransform(np.pad(error, 1).view(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    parts: list[_ErrorPart] = []
    for number in largest.tolist():
        area = int(areas[number])
        if area:
            mask = numbers == number
            parts.append(_ErrorPart(area * float(depth[mask].max()), label, mask))
    return parts
