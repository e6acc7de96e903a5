"""Seeds of a frame with strokes: the strokes, and previous labels that they do not contradict."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Labels
from segarena.segmenters.videos.tracking.frame_strokes import BACKGROUND, UNMARKED, LabelMarks

_BAND_PX = 2
"""Width of the band along borders of previous labels in which nothing is sure."""


def seed_labels(
    marks: LabelMarks, fresh: LabelMarks, previous: Labels | None, *, reach: float
) -> LabelMarks:
    """Return the label of every sure pixel, int16 (H, W), else `UNMARKED`.

    A stroke in a region of another label puts a disc around each of its pixels in doubt, with 1.5
    times the pixel's depth in the region as its radius. Previous labels outside of these discs and
    away from borders are sure.

    Args:
        marks: strokes of all rounds.
        fresh: strokes of this round.
        previous: labels of the previous round; None in the first, in which only strokes are sure.
        reach: maximum depth, as a share of the frame's longer side.
    """
    if previous is None:
        return marks
    farthest = reach * max(marks.shape)
    sure: NDArray[np.int16] = np.full(marks.shape, UNMARKED, dtype=np.int16)
    doubt = np.zeros(marks.shape, dtype=np.uint8)
    square = np.ones((2 * _BAND_PX + 1,) * 2, np.uint8)
    for label in np.unique(previous):
        region = (previous == label).astype(np.uint8)
        depth = np.minimum(cv2.distanceTransform(region, cv2.DIST_L2, 3), farthest)
        contradicted = (region > 0) & (fresh != UNMARKED) & (fresh != label)
        for row, column in np.argwhere(contradicted):
            radius = int(1.5 * depth[row, column]) + _BAND_PX
            cv2.circle(doubt, (int(column), int(row)), radius, 1, -1)
        core = cv2.erode(region, square, borderType=cv2.BORDER_CONSTANT, borderValue=1)
        sure[np.asarray(core) > 0] = label
    sure[doubt > 0] = UNMARKED
    return np.where(marks == UNMARKED, sure, marks)


def mark_border(marks: LabelMarks, *, reach: float) -> LabelMarks:
    """Mark the frame's border as background where it is far from all strokes of objects.

    Far means more than `reach` times the frame's longer side.
    """
    is_object = marks > BACKGROUND
    if not is_object.any():
        return marks
    away = np.asarray(cv2.distanceTransform((~is_object).astype(np.uint8), cv2.DIST_L2, 3))
    is_border = np.ones(marks.shape, dtype=np.bool_)
    is_border[1:-1, 1:-1] = False
    is_free = is_border & (marks == UNMARKED) & (away > reach * max(marks.shape))
    return np.where(is_free, BACKGROUND, marks).astype(np.int16)
