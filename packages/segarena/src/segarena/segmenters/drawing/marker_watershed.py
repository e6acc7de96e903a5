"""Marker-controlled watershed: marked pixels grow until they meet at edges of the image."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window
from segarena.samples import Mask
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE, UNKNOWN, apply_marks

_SIDES = np.array([(-1, 0), (0, -1), (0, 1), (1, 0)])


def marker_watershed(
    image: NDArray[np.uint8], marks: NDArray[np.int8], *, frame_step: int | None = None
) -> Mask:
    """Return the pixels that INSIDE marks reach before OUTSIDE marks; marked pixels keep their side.

    The smallest colour steps are crossed first. Pixels on the lines where both sides meet join their
    most similar neighbour. Without marks on one side, all pixels belong to the other; without any
    marks, no pixel is inside.

    Args:
        image: uint8 (H, W, 3).
        marks: int8 (H, W), INSIDE, UNKNOWN or OUTSIDE.
        frame_step: if given, the surroundings of the image are OUTSIDE and enter it over a colour step
            of this height (0..127); marks in the image grow over lower steps first.

    Source: F. Meyer, Color Image Segmentation, ICIP 1992 (OpenCV's `watershed`).
    """
    if not (marks == INSIDE).any():
        return np.zeros(marks.shape, dtype=np.bool_)
    if frame_step is None and not (marks == OUTSIDE).any():
        return np.ones(marks.shape, dtype=np.bool_)
    # OpenCV never floods the outermost pixels, and never moves a pixel that waits for a high step
    # forward in its queue, even if a lower step has reached it. So the image is surrounded by one
    # free pixel, then the frame, then the outermost pixels.
    padded = np.pad(image, ((3, 3), (3, 3), (0, 0)), mode="edge")
    labels = np.zeros(padded.shape[:2], np.int32)
    if frame_step is not None:
        labels[:] = 2
        labels[2:-2, 2:-2] = 0
        stepped = np.where(padded > 127, padded - frame_step, padded + frame_step).astype(np.uint8)
        stepped[2:-2, 2:-2] = padded[2:-2, 2:-2]
        padded = stepped
    labels[3:-3, 3:-3] = np.choose(marks + 1, (2, 0, 1))
    cv2.watershed(padded, labels)
    inner = labels[3:-3, 3:-3].copy()
    _settle_lines(image, inner)
    return apply_marks(marks, inner == 1)


def snap_border(
    image: NDArray[np.uint8], mask: Mask, marks: NDArray[np.int8], *, band_px: int
) -> Mask:
    """Reassign the pixels within `band_px` of the mask's border by a watershed.

    Pixels farther from the border stay, and marked pixels take their marks, also with a band of 0.
    Distances are chessboard distances; marks are int8 (H, W).
    """
    if band_px <= 0 or mask.all() or not mask.any():
        return apply_marks(marks, mask)
    answer = apply_marks(marks, mask)
    window = grow_window(bounding_window(mask), band_px + 2, mask.shape)
    levels = mask[window].astype(np.uint8)
    square = np.ones((2 * band_px + 1,) * 2, np.uint8)
    is_deep = cv2.erode(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=1) > 0
    is_near = cv2.dilate(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=0) > 0
    if is_deep.any() and not is_near.all():
        outer = np.where(is_near, np.int8(UNKNOWN), np.int8(OUTSIDE))
        sure = np.where(is_deep, np.int8(INSIDE), outer)
        band_marks = np.where(marks[window] != UNKNOWN, marks[window], sure)
        answer[window] = marker_watershed(image[window], band_marks)
    return answer


def _settle_lines(image: NDArray[np.uint8], labels: NDArray[np.int32]) -> None:
    """Give each unlabelled pixel (watershed lines are -1) the label of its most similar neighbour."""
    colours = image.astype(np.int32)
    while len(left := np.argwhere(labels < 1)):
        near = left[:, None] + _SIDES
        rows = near[..., 0].clip(0, labels.shape[0] - 1)
        columns = near[..., 1].clip(0, labels.shape[1] - 1)
        unlike = np.abs(colours[rows, columns] - colours[left[:, 0], left[:, 1]][:, None]).sum(
            axis=2
        )
        unlike[labels[rows, columns] < 1] = np.iinfo(np.int32).max
        best = unlike.argmin(axis=1)
        pick = np.arange(len(left))
        labels[left[:, 0], left[:, 1]] = labels[rows[pick, best], columns[pick, best]]
