"""A mask refined by colour models that are seeded where a score is most confident."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.flooding import snap_border
from segarena.segmenters.drawing.marks import UNKNOWN
from segarena.segmenters.drawing.sizes import shrunk_size

_CUTS = 4
_WORK_PX = 50_000
_BAND_PX = 4


def cut_by_colours(image: NDArray[np.uint8], scores: NDArray[np.float32], mask: Mask) -> Mask:
    """Return the mask after GrabCut at working size, its border then snapped to the pixels' edges.

    Sure are the half of either side that scores farthest from the threshold. A mask that is empty or full at working
    size stays as it is. Scores are float32 (H, W), `mask` the pixels whose score is above the threshold.

    Source: Rother et al., GrabCut, SIGGRAPH 2004 (OpenCV's `grabCut`, 4 iterations).
    """
    size = shrunk_size(mask.shape, _WORK_PX)
    small = np.asarray(cv2.resize(scores, size, interpolation=cv2.INTER_AREA))
    inside = np.asarray(cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)) > 0.5
    if inside.all() or not inside.any():
        return mask
    marks = np.where(inside, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    marks[inside & (small >= np.median(small[inside]))] = cv2.GC_FGD
    marks[~inside & (small <= np.median(small[~inside]))] = cv2.GC_BGD
    whole = grab_cut(image, marks, _CUTS)
    return snap_border(image, whole, np.full(mask.shape, UNKNOWN, np.int8), band_px=_BAND_PX)


def grab_cut(image: NDArray[np.uint8], marks: NDArray[np.uint8], iterations: int) -> Mask:
    """Return the mask, in full size, of a GrabCut at the size of the trimap `marks`, which it changes."""
    height, width = image.shape[:2]
    small = cv2.resize(image, marks.shape[::-1], interpolation=cv2.INTER_AREA)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.setRNGSeed(0)  # its colour mixtures start at random
    # No rectangle: the trimap says it all.
    cv2.grabCut(small, marks, (0, 0, 0, 0), *models, iterations, cv2.GC_INIT_WITH_MASK)
    answer = (marks & 1).astype(np.float32)  # sure and probable foreground are odd
    return np.asarray(cv2.resize(answer, (width, height), interpolation=cv2.INTER_LINEAR)) > 0.5
