"""A mask cut by colour models: those of GrabCut, seeded by a guess and marks, or where a score is most confident."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.segmenters.drawing.marker_watershed import snap_border
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE, UNKNOWN

MIN_MARK_COVER = 0.3
"""The part of a working pixel that marks must cover to mark it."""

_CUTS = 4
_WORK_PX = 50_000
_BAND_PX = 4


def refine_by_colours(image: NDArray[np.uint8], scores: NDArray[np.float32], mask: Mask) -> Mask:
    """Return the mask after GrabCut at working size, its border then snapped to the pixels' edges.

    Sure are the half of either side that scores farthest from the threshold. A mask that is empty or full at working
    size stays as it is. Scores are float32 (H, W), `mask` the pixels whose score is above the threshold.

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
    """Return what GrabCut makes of a guess, cut at working size; the guess itself where that is all or nothing.

    Args:
        image: uint8 (H, W, 3).
        guess: bool (H, W), probably inside.
        marks: int8 (H, W), what is sure.
        reach_px: how far the border of the guess may move, in working pixels; 0 sets no bound.
        work_px: to how many pixels the image is shrunk at most.
        cuts: iterations.
        least_cover: the part of a working pixel beyond which marks mark it.
        guess_cover: the part beyond which the guess holds it.
    """
    size = shrunk_size(guess.shape, work_px)
    trimap = _trimap(_shrink(guess, size) > guess_cover, reach_px)
    inside = _shrink(marks == INSIDE, size)
    outside = _shrink(marks == OUTSIDE, size)
    trimap[(inside >= outside) & (inside > least_cover)] = cv2.GC_FGD
    trimap[(outside > inside) & (outside > least_cover)] = cv2.GC_BGD
    is_inside = (trimap & 1) == 1  # OpenCV's numbers: sure and probable foreground are odd
    if is_inside.all() or not is_inside.any():
        return guess
    return grab_cut(image, trimap, cuts)


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


def _shrink(mask: Mask, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the covered part of each working pixel; `size` is (width, height)."""
    return np.asarray(
        cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA), dtype=np.float32
    )


def _trimap(guess: Mask, reach_px: int) -> NDArray[np.uint8]:
    """Return the guess as probable, and as sure beyond `reach_px` from its border."""
    levels = guess.astype(np.uint8)
    trimap = np.where(guess, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    if reach_px > 0:
        square = np.ones((2 * reach_px + 1,) * 2, np.uint8)
        trimap[cv2.erode(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=1) > 0] = (
            cv2.GC_FGD
        )
        trimap[cv2.dilate(levels, square, borderType=cv2.BORDER_CONSTANT, borderValue=0) == 0] = (
            cv2.GC_BGD
        )
    return trimap
