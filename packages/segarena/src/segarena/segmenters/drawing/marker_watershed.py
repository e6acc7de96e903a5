"""Marker-controlled watershed: let marked pixels grow until they meet where the image changes."""

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
    """Return the pixels that the INSIDE marks reach before the OUTSIDE marks do; marked pixels stay as marked.

    The smallest colour steps are crossed first. The lines where the two meet are given to the side of each pixel's
    most alike neighbour. With no mark on one of the sides, everything belongs to the other; with no mark at all,
    nothing is inside.

    Args:
        image: uint8 (H, W, 3).
        marks: int8 (H, W), INSIDE, UNKNOWN or OUTSIDE.
        frame_step: when given, what lies beyond the image is marked OUTSIDE, and comes in over a colour step so high
            (0..127): marks in the image grow over lower ones first.

    Source: F. Meyer, Color Image Segmentation, ICIP 1992 (OpenCV's `watershed`).
    """
    if not (marks == INSIDE).any():
        return np.zeros(marks.shape, dtype=np.bool_)
    if frame_step is None and not (marks == OUTSIDE).any():
        return np.ones(marks.shape, dtype=np.bool_)
    # OpenCV never floods the outermost pixels, and never hurries a pixel that waits for a high step even when a low
    # one has come up beside it: so the image has one free pixel around it, then the frame, then the outermost.
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
    """Return `mask` with the pixels within `band_px` of its border reassigned by a watershed.

    What lies deeper on either side stays; marked pixels become what they are marked. 0 changes nothing else. Distances
    are those of a chessboard, marks int8 (H, W).
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
        sure = np.where(
            is_deep, np.int8(INSIDE), np.where(is_near, np.int8(UNKNOWN), np.int8(OUTSIDE))
        )
        answer[window] = marker_watershed(
            image[window], np.where(marks[window] != UNKNOWN, marks[window], sure)
        )
    return answer


def _settle_lines(image: NDArray[np.uint8], labels: NDArray[np.int32]) -> None:
    """Give every unlabelled pixel (watershed lines are -1) the label of its most alike labelled neighbour."""
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
