"""Seeds in a frame with strokes: the strokes, and all previous labels that they do not contradict."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Labels
from segarena.segmenters.videos.tracking.frame_strokes import BACKGROUND, UNMARKED, LabelMarks

_BAND_PX = 2
"""Width of the band along borders of previous labels that contains no seeds."""


def seed_labels(
    marks: LabelMarks,
    fresh: LabelMarks,
    previous: Labels | None,
    *,
    reach: float,
) -> LabelMarks:
    """Return the label of each seed pixel, int16 (H, W), `UNMARKED` elsewhere.

    A stroke in a region of another label contradicts it. The doubt extends to a disc around each
    pixel of the stroke, with a radius of 1.5 times the pixel's depth in the region. Previous labels
    are seeds outside these discs and away from borders.

    Args:
        marks: strokes of all rounds.
        fresh: strokes of this round.
        previous: labels of the previous round; None in the first round, in which only strokes are
            seeds.
        reach: maximum depth, as a share of the frame's longer side.
    """
    if previous is None:
        return marks
    farthest = reach * max(marks.shape)
    sure: NDArray[np.int16] = np.full(marks.shape, UNMARKED, dtype=np.int16)
    doubt = np.zeros(marks.shape, dtype=np.uint8)
    side = 2 * _BAND_PX + 1
    square = np.ones((side, side), np.uint8)
    for label in np.unique(previous):
        region = (previous == label).astype(np.uint8)
        distances = cv2.distanceTransform(region, cv2.DIST_L2, 3)
        depth = np.minimum(distances, farthest)
        contradicted = (region > 0) & (fresh != UNMARKED) & (fresh != label)
        for row, column in np.argwhere(contradicted):
            radius = int(1.5 * depth[row, column]) + _BAND_PX
            cv2.circle(doubt, (int(column), int(row)), radius, 1, -1)
        # Padding counts as part of the region, because the frame's edge is not a border of it.
        core = cv2.erode(region, square, borderType=cv2.BORDER_CONSTANT, borderValue=1)
        sure[np.asarray(core) > 0] = label
    sure[doubt > 0] = UNMARKED
    return np.where(marks == UNMARKED, sure, marks)


def mark_border(marks: LabelMarks, *, reach: float) -> LabelMarks:
    """Mark the frame's border as background where it is far from all strokes on objects.

    Far means more than `reach` times the frame's longer side.
    """
    is_object = marks > BACKGROUND
    if not is_object.any():
        return marks
    elsewhere = (~is_object).astype(np.uint8)
    distances = np.asarray(cv2.distanceTransform(elsewhere, cv2.DIST_L2, 3))
    is_far = distances > reach * max(marks.shape)
    is_border = np.ones(marks.shape, dtype=np.bool_)
    is_border[1:-1, 1:-1] = False
    is_free = is_border & is_far & (marks == UNMARKED)
    return np.where(is_free, BACKGROUND, marks).astype(np.int16)
