"""GrabCut that starts from a guess and marks, or from the most confident pixels of a score."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.image_size import shrunk_size
from segarena.segmenters.drawing.marker_watershed import erode_and_dilate, snap_border
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE, UNKNOWN

MIN_MARK_COVER = 0.3
"""Share of a working pixel that marks must cover for it to count as marked."""

_MODEL_SHAPE = (1, 65)
"""OpenCV stores five Gaussians per model, each as a weight, a mean (3) and a covariance (9): 65 numbers."""

_CUTS = 4
_WORK_PX = 50_000
_BAND_PX = 4


def refine_by_colours(
    image: NDArray[np.uint8],
    scores: NDArray[np.float32],
    mask: Mask,
) -> Mask:
    """Refine a mask by GrabCut at working size, then snap its border to edges of the image.

    On either side of the threshold, the half of the pixels with the most extreme scores is fixed. A
    mask that is empty or full at working size stays unchanged. Scores are float32 (H, W), and
    `mask` contains the pixels whose score is above the threshold.

    Source: Rother et al., GrabCut, SIGGRAPH 2004 (OpenCV's `grabCut`, 4 iterations).
    """
    # Cut a shrunk image, because the running time grows with the pixels. The border is refined at
    # full size afterwards.
    size = shrunk_size(mask.shape, _WORK_PX)
    small_scores = np.asarray(cv2.resize(scores, size, interpolation=cv2.INTER_AREA))
    inside = _shrink(mask, size) > 0.5
    if inside.all() or not inside.any():
        return mask
    inside_median = np.median(small_scores[inside])
    outside_median = np.median(small_scores[~inside])
    marks = np.where(inside, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    marks[inside & (small_scores >= inside_median)] = cv2.GC_FGD
    marks[~inside & (small_scores <= outside_median)] = cv2.GC_BGD
    whole = grab_cut(image, marks, _CUTS)
    unmarked = np.full(mask.shape, UNKNOWN, np.int8)
    return snap_border(image, whole, unmarked, band_px=_BAND_PX)


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
    """Refine a guess by GrabCut at working size; a guess that is empty or full there is returned unchanged.

    Args:
        image: uint8 (H, W, 3).
        guess: bool (H, W), pixels that are probably inside.
        marks: int8 (H, W), pixels that are known to be inside or outside.
        reach_px: maximum shift of the initial border, in working pixels; 0 sets no limit.
        work_px: maximum number of pixels of the shrunk image.
        cuts: iterations of GrabCut.
        least_cover: a working pixel counts as marked if marks cover more than this share of it.
        guess_cover: a working pixel belongs to the guess if the guess covers more than this share.
    """
    size = shrunk_size(guess.shape, work_px)
    trimap = _trimap(_shrink(guess, size) > guess_cover, reach_px)
    inside = _shrink(marks == INSIDE, size)
    outside = _shrink(marks == OUTSIDE, size)
    trimap[(inside >= outside) & (inside > least_cover)] = cv2.GC_FGD
    trimap[(outside > inside) & (outside > least_cover)] = cv2.GC_BGD
    # In OpenCV, the codes of sure and probable foreground are odd.
    is_inside = (trimap & 1) == 1
    if is_inside.all() or not is_inside.any():
        return guess
    return grab_cut(image, trimap, cuts)


def grab_cut(
    image: NDArray[np.uint8],
    marks: NDArray[np.uint8],
    iterations: int,
) -> Mask:
    """Run GrabCut at the size of the trimap `marks`, which is modified; return the mask at full size."""
    height, width = image.shape[:2]
    small_size = marks.shape[::-1]
    small = cv2.resize(image, small_size, interpolation=cv2.INTER_AREA)
    inside_model = np.zeros(_MODEL_SHAPE)
    outside_model = np.zeros(_MODEL_SHAPE)
    # GrabCut initializes its colour mixtures at random, so the seed is set for reproducible
    # results.
    cv2.setRNGSeed(0)
    cv2.grabCut(
        small,
        marks,
        # The rectangle argument is ignored, because the trimap initializes the cut.
        (0, 0, 0, 0),
        inside_model,
        outside_model,
        iterations,
        cv2.GC_INIT_WITH_MASK,
    )
    # In OpenCV, the codes of sure and probable foreground are odd.
    is_inside = (marks & 1).astype(np.float32)
    full = cv2.resize(is_inside, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(full) > 0.5


def _shrink(mask: Mask, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the covered share of each working pixel; `size` is (width, height)."""
    levels = mask.astype(np.float32)
    shares = cv2.resize(levels, size, interpolation=cv2.INTER_AREA)
    return np.asarray(shares, dtype=np.float32)


def _trimap(guess: Mask, reach_px: int) -> NDArray[np.uint8]:
    """Return a trimap of the guess: probable within `reach_px` of its border, fixed elsewhere."""
    trimap = np.where(guess, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    if reach_px > 0:
        core, reach = erode_and_dilate(guess, reach_px)
        trimap[core] = cv2.GC_FGD
        trimap[~reach] = cv2.GC_BGD
    return trimap
