"""What somebody draws on in one picture: the parts that stand out of what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from segarena.samples import Labels, Mask

_STANDS_OUT = 0.2
"""A part is drawn on where area times depth is at least this share of the most of any part of the picture."""
_MOST_PARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class StrokeGoal:
    """Something to draw on.

    Attributes:
        mask: bool (H, W), with at least one pixel.
        label: what is truly there: an object, or 0 for none.
    """

    mask: Mask
    label: int


def object_goals(target: Labels, ignore: Mask | None) -> list[StrokeGoal]:
    """Return every object that is in a picture, as goals of the first round."""
    seen = target if ignore is None else np.where(ignore, np.uint8(0), target)
    labels = np.flatnonzero(np.bincount(seen.reshape(-1), minlength=1))
    return [StrokeGoal(seen == label, label) for label in labels.tolist() if label]


def background_goals(goals: Sequence[StrokeGoal], ignore: Mask | None) -> list[StrokeGoal]:
    """Return what is around and between objects, and not ignored, as a goal of label 0 if any is; see `around`."""
    if not goals:
        return []
    near = nearby_background(np.logical_or.reduce([goal.mask for goal in goals]))
    if ignore is not None:
        near &= ~ignore
    return [StrokeGoal(near, 0)] if near.any() else []


def nearby_background(mask: Mask) -> Mask:
    """Return the pixels off an object that are near it: not farther than the root of its area.

    Args:
        mask: bool (H, W), with at least one pixel.
    """
    away = cv2.distanceTransform((~mask).view(np.uint8), cv2.DIST_L2, 5)
    return (away > 0) & (away <= math.sqrt(np.count_nonzero(mask)))


def error_goals(
    prediction: Labels, target: Labels, ignore: Mask | None, objects: int
) -> list[StrokeGoal]:
    """Return what stands out of the errors in a picture, a goal for each true label; none where nothing is wrong.

    Errors fall into 8-connected parts. Of all labels together up to four parts stand out: those whose area times
    greatest depth comes near that of the most conspicuous one, which is always among them. So slivers along an outline
    are left alone while there is a blob to correct.

    Args:
        prediction: uint8 (H, W).
        target: the same; labels above `objects` are nobody's.
        ignore: bool (H, W), never wrong.
        objects: labels 0 to this one are looked at.
    """
    wrong = prediction != target
    if ignore is not None:
        wrong &= ~ignore
    found: list[tuple[float, int, Mask]] = []
    for label in np.flatnonzero(np.bincount(target[wrong], minlength=1)[: objects + 1]).tolist():
        found += [(weight, label, part) for weight, part in _parts(wrong & (target == label))]
    found.sort(key=lambda each: -each[0])
    kept = [each for each in found[:_MOST_PARTS] if each[0] >= _STANDS_OUT * found[0][0]]
    return [
        StrokeGoal(_together(kept, label), label)
        for label in sorted({label for _, label, _ in kept})
    ]


def _parts(error: Mask) -> list[tuple[float, Mask]]:
    """Return the largest parts of an error with their area times depth."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(error.view(np.uint8), connectivity=8)
    areas = stats[:, cv2.CC_STAT_AREA].copy()
    areas[0] = 0
    largest = np.argsort(-areas, kind="stable")[:_MOST_PARTS]
    # Away from the frame's border as from any other edge.
    depth = cv2.distanceTransform(np.pad(error, 1).view(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    parts = [(int(areas[number]), labels == number) for number in largest.tolist() if areas[number]]
    return [(area * float(depth[part].max()), part) for area, part in parts]


def _together(kept: Sequence[tuple[float, int, Mask]], label: int) -> Mask:
    return np.logical_or.reduce([part for _, of, part in kept if of == label])
