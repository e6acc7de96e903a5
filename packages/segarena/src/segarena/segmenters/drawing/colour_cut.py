"""GrabCut on a guess with marks, or on the most confident pixels of a score."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.segmenters.drawing.marker_watershed import snap_border
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE, UNKNOWN

MIN_MARK_COVER = 0.3
"""Share of a working pixel that marks must cover to mark it."""

_CUTS = 4
_WORK_PX = 50_000
_BAND_PX = 4


def refine_by_colours(image: NDArray[np.uint8], scores: NDArray[np.float32], mask: Mask) -> Mask:
    """Refine a mask by GrabCut at working size, then snap its border to edges of the image.

    On either side, the half of the pixels with scores farthest from the threshold is sure. A mask
    that is empty or full at working size stays unchanged. Scores are float32 (H, W); `mask` has the
    pixels with scores above the threshold.

    Source: Rother et al., GrabCut, SIGGRAPH 2004 (OpenCV's `grabCut`, 4 iterations).
    """
    size = shrunk_size(mask.shape, _WORK_PX)
    small = np.asarray(cv2.resize(scores, size, interpolation=cv2.INTER_AREA))
    inside = (
        np.asarray(cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)) > 0.5
    )
    if inside.all() or not inside.any():
        return mask
    marks = np.where(inside, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    marks[inside & (small >= np.median(small[inside]))] = cv2.GC_FGD
    marks[~inside & (small <= np.median(small[~inside]))] = cv2.GC_BGD
    whole = grab_cut(image, marks, _CUTS)
    return snap_border(image, whole, np.full(mask.shape, UNKNOWN, np.int8), band_px=_BAND_PX)


def cut_guess(
    image: NDArray[np.uint8],
    guess: Mask,
    marks: NDArray[np.int8],
    *,
    reach_px: int,
    work_px: int,
    cuts: int,
    least_cover: float = MIN_MARK_COVER,
    guess_cover: float = 0.5,
) -> Mask:
    """Refine a guess by GrabCut at working size; return it unchanged if it is empty or full there.

    Args:
        image: uint8 (H, W, 3).
        guess: bool (H, W), probably inside.
        marks: int8 (H, W), sure pixels.
        reach_px: maximum shift of the guess's border, in working pixels; 0 sets no limit.
        work_px: maximum number of pixels of the shrunk image.
        cuts: iterations of GrabCut.
        least_cover: share of a working pixel that marks must exceed to mark it.
        guess_cover: share that the guess must exceed to contain it.
    """
    size = shrunk_size(guess.shape, work_px)
    trimap = _trimap(_shrink(guess, size) > guess_cover, reach_px)
    inside = _shrink(marks == INSIDE, size)
    outside = _shrink(marks == OUTSIDE, size)
    trimap[(inside >= outside) & (inside > least_cover)] = cv2.GC_FGD
    trimap[(outside > inside) & (outside > least_cover)] = cv2.GC_BGD
    # In OpenCV, sure and probable foreground have odd numbers.
    is_inside = (trimap & 1) == 1
    if is_inside.all() or not is_inside.any():
        return guess
    return grab_cut(image, trimap, cuts)


def grab_cut(image: NDArray[np.uint8], marks: NDArray[np.uint8], iterations: int) -> Mask:
    """Run GrabCut at the size of the trimap `marks`, in place; return the mask at full size."""
    height, width = image.shape[:2]
    small = cv2.resize(image, marks.shape[::-1], interpolation=cv2.INTER_AREA)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    # GrabCut initializes its colour mixtures at random.
    cv2.setRNGSeed(0)
    # The rectangle is ignored, because the trimap initializes the cut.
    cv2.grabCut(small, marks, (0, 0, 0, 0), *models, iterations, cv2.GC_INIT_WITH_MASK)
    # In OpenCV, sure and probable foreground have odd numbers.
    answer = (marks & 1).astype(np.float32)
    return np.asarray(cv2.resize(answer, (width, height), interpolation=cv2.INTER_LINEAR)) > 0.5


def _shrink(mask: Mask, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the covered share of each working pixel; `size` is (width, height)."""
    return np.asarray(
        cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA), dtype=np.float32
    )


def _trimap(guess: Mask, reach_px: int) -> NDArray[np.uint8]:
    """Return a trimap of the guess: sure beyond `reach_px` from its border, probable nearer."""
    levels = guess.astype(np.uint8)
    trimap = np.where(guess, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    if reach_px > 0:
        square = np.ones((2 * reach_px + 1,) * 2, np.uint8)
        core = cv2.erode(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=1)
        reach = cv2.dilate(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=0)
        trimap[core > 0] = cv2.GC_FGD
        trimap[reach == 0] = cv2.GC_BGD
    return trimap
