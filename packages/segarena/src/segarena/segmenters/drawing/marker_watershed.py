"""Marker-controlled watershed: marked pixels grow until they meet at edges in the image."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window
from segarena.samples import Mask
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE, UNKNOWN, apply_marks

_SIDES = np.array([(-1, 0), (0, -1), (0, 1), (1, 0)])
_INSIDE_LABEL = 1
_OUTSIDE_LABEL = 2
_IMAGE = np.s_[3:-3, 3:-3]
_FREE = np.s_[2:-2, 2:-2]


def marker_watershed(
    image: NDArray[np.uint8],
    marks: NDArray[np.int8],
    *,
    frame_step: int | None = None,
) -> Mask:
    """Return the pixels that INSIDE marks reach before OUTSIDE marks; marked pixels keep their side.

    Growth crosses the smallest colour steps first. Pixels on the lines where both sides meet join
    their most similar neighbour. If one side has no marks, all pixels belong to the other; without
    any marks, no pixel is inside.

    Args:
        image: uint8 (H, W, 3).
        marks: int8 (H, W), INSIDE, UNKNOWN or OUTSIDE.
        frame_step: if given, OUTSIDE also grows into the image from its frame, over a colour step of
            this height (0..127); marks in the image grow over lower steps first.

    Source: F. Meyer, Color Image Segmentation, ICIP 1992 (OpenCV's `watershed`).
    """
    if not (marks == INSIDE).any():
        return np.zeros(marks.shape, dtype=np.bool_)
    if frame_step is None and not (marks == OUTSIDE).any():
        return np.ones(marks.shape, dtype=np.bool_)
    # OpenCV never floods the outermost pixels. It also never moves a pixel forward in its queue
    # that waits for a high step, even after a lower step has reached it. Therefore the image is
    # surrounded by a ring of free pixels, then by the frame, then by the outermost ring, which
    # OpenCV skips.
    padded = np.pad(image, ((3, 3), (3, 3), (0, 0)), mode="edge")
    labels = np.zeros(padded.shape[:2], np.int32)
    if frame_step is not None:
        labels[:] = _OUTSIDE_LABEL
        labels[_FREE] = 0
        # Light colours are decreased rather than increased, because sums above 255 would wrap
        # around.
        lower = padded - frame_step
        higher = padded + frame_step
        stepped = np.where(padded > 127, lower, higher).astype(np.uint8)
        stepped[_FREE] = padded[_FREE]
        padded = stepped
    # `np.choose` needs indices from 0, so the marks -1, 0 and 1 are shifted by one.
    labels[_IMAGE] = np.choose(marks + 1, (_OUTSIDE_LABEL, 0, _INSIDE_LABEL))
    cv2.watershed(padded, labels)
    inner = labels[_IMAGE].copy()
    _settle_lines(image, inner)
    return apply_marks(marks, inner == _INSIDE_LABEL)


def snap_border(
    image: NDArray[np.uint8],
    mask: Mask,
    marks: NDArray[np.int8],
    *,
    band_px: int,
) -> Mask:
    """Reassign the pixels within `band_px` of the mask's border by a watershed on the image.

    Pixels farther from the border keep their side. Marked pixels always take their marks, even with
    a band of 0. Distances are chessboard distances; marks are int8 (H, W).
    """
    answer = apply_marks(marks, mask)
    if band_px <= 0 or mask.all() or not mask.any():
        return answer
    # Two more pixels, so that the outer side of the band is inside the window.
    window = grow_window(bounding_window(mask), band_px + 2, mask.shape)
    is_deep, is_near = erode_and_dilate(mask[window], band_px)
    if is_deep.any() and not is_near.all():
        outer = np.where(is_near, np.int8(UNKNOWN), np.int8(OUTSIDE))
        sure = np.where(is_deep, np.int8(INSIDE), outer)
        near_marks = marks[window]
        band_marks = np.where(near_marks != UNKNOWN, near_marks, sure)
        answer[window] = marker_watershed(image[window], band_marks)
    return answer


def erode_and_dilate(mask: Mask, reach_px: int) -> tuple[Mask, Mask]:
    """Return the erosion and the dilation of a mask by a square that extends `reach_px` to each side.

    Erosion treats pixels beyond the image as inside and dilation treats them as outside, so the
    image border is not a border of the mask.
    """
    levels = mask.astype(np.uint8)
    side = 2 * reach_px + 1
    square = np.ones((side, side), np.uint8)
    core = cv2.erode(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=1)
    reach = cv2.dilate(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return core > 0, reach > 0


def _settle_lines(image: NDArray[np.uint8], labels: NDArray[np.int32]) -> None:
    """Give each unlabelled pixel (label -1, on watershed lines) the label of its most similar neighbour."""
    colours = image.astype(np.int32)
    last_row = labels.shape[0] - 1
    last_column = labels.shape[1] - 1
    # Lines may be wider than one pixel, so one pass is not enough.
    while len(left := np.argwhere(labels < 1)):
        own_rows = left[:, 0]
        own_columns = left[:, 1]
        near = left[:, None] + _SIDES
        rows = near[..., 0].clip(0, last_row)
        columns = near[..., 1].clip(0, last_column)
        own_colours = colours[own_rows, own_columns][:, None]
        differences = np.abs(colours[rows, columns] - own_colours).sum(axis=2)
        differences[labels[rows, columns] < 1] = np.iinfo(np.int32).max
        best = differences.argmin(axis=1)
        each = np.arange(len(left))
        labels[own_rows, own_columns] = labels[rows[each, best], columns[each, best]]
