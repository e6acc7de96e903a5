"""Click probability maps of the synthetic crowd, one for each clicking habit.

The habits are defined by this project, not by the paper. They model the real clicks shown in the
paper's figures 1 and 10 to 12: people do not always click the centre, often click a conspicuous
part, seldom click near the edge, prefer the upper part of upright objects, and in later rounds
click the largest error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, window_shape
from segarena.arrays.colours import rgb_to_lab
from segarena.arrays.connected_components import label_components
from segarena.samples import Mask

Habit = Callable[[NDArray[np.uint8], Mask], NDArray[np.float64]]
"""Function from an RGB crop and its error mask to unnormalised click weights, (h, w)."""

WORK_SIDE_PX = 256
UPRIGHT_RATIO = 1.2
"""Ratio of height to width above which an object counts as upright."""
INTERIOR_DEPTH = 0.35
"""A pixel counts as away from the edge if its depth is at least this share of the maximum depth."""


def depth_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Weight pixels by the cube of their distance to the edge, for people who aim at the centre."""
    return _relative_depth(error) ** 3


def salience_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Weight pixels by local colour contrast and by colour difference from the surroundings."""
    lab = rgb_to_lab(crop).astype(np.float64)
    surroundings = ~error
    if surroundings.any():
        context = lab[surroundings].mean(axis=0)
    else:
        context = lab.mean(axis=(0, 1))
    difference = np.linalg.norm(lab - context, axis=-1)
    blur_px = max(1.0, 0.06 * max(error.shape))
    mean_of_squares = _blur(lab**2, blur_px)
    variance = mean_of_squares - _blur(lab, blur_px) ** 2
    # Rounding can leave a variance just below zero.
    local_contrast = np.sqrt(np.maximum(variance, 0).sum(axis=-1))
    strength = _rescale(difference, error) + 2 * _rescale(local_contrast, error)
    strength = _rescale(_blur(strength, blur_px), error)
    edge_taper = np.minimum(_relative_depth(error) * 4, 1)
    return np.exp(10 * strength) * edge_taper


def interior_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Give equal weight to all pixels deeper than about a third of the maximum depth."""
    return (_relative_depth(error) >= INTERIOR_DEPTH).astype(np.float64)


def upper_part_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Prefer the head of upright objects, and the upper middle of other objects."""
    box = bounding_window(error)
    height, width = window_shape(box)
    if height > UPRIGHT_RATIO * width:
        preferred_row = 0.14
        spread = 0.09
    else:
        preferred_row = 0.4
        spread = 0.2
    top = box[0].start
    rows = (np.arange(error.shape[0]) - top) / height
    deviations = (rows - preferred_row) / spread
    row_weights = np.exp(-0.5 * deviations**2)
    return row_weights[:, None] * _relative_depth(error)


def uniform_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Give equal weight to all pixels, for people in a hurry."""
    return np.ones(error.shape)


HABITS: dict[str, Habit] = {
    "deep": depth_habit,
    "conspicuous": salience_habit,
    "off_edge": interior_habit,
    "upper": upper_part_habit,
    "anywhere": uniform_habit,
}


def habit_maps(
    image: NDArray[np.uint8], error: NDArray[Any]
) -> tuple[Window, dict[str, NDArray[np.float64]]]:
    """Return a window around the error and one click map per habit; each map sums to 1 on the window.

    If the error has several connected parts, the share of clicks on a part grows with its area to
    the power of 1.5. Windows larger than 256 pixels a side are reduced to that size. Without an
    error, the window is empty and there are no maps.

    Args:
        image: uint8 (H, W, 3).
        error: bool or float in [0, 1] (H, W); pixels with a value of at least 0.5 are errors.
    """
    is_error = np.asarray(error) >= 0.5
    box = bounding_window(is_error)
    if is_empty(box):
        return box, {}
    # The salience habit compares the error with its surroundings, so the window needs some.
    margin = max(4, max(window_shape(box)) // 4)
    window = grow_window(box, margin, is_error.shape)
    crop, mask = _reduce_size(image[window], is_error[window])
    parts = label_components(mask)
    maps: dict[str, NDArray[np.float64]] = {}
    for name, habit in HABITS.items():
        weights = np.where(mask, habit(crop, mask), 0)
        maps[name] = _weigh_parts(weights, parts)
    return window, maps


def _reduce_size(crop: NDArray[np.uint8], mask: Mask) -> tuple[NDArray[np.uint8], Mask]:
    scale = WORK_SIDE_PX / max(mask.shape)
    if scale >= 1:
        return crop, mask
    height = max(1, round(mask.shape[0] * scale))
    width = max(1, round(mask.shape[1] * scale))
    size = (width, height)
    small = cv2.resize(crop, size, interpolation=cv2.INTER_AREA).astype(np.uint8)
    covered_share = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    half_covered = covered_share >= 0.5
    # A reduced pixel normally counts as error if at least half of it is covered. A thin mask may
    # cover no pixel by half; then any coverage counts.
    if half_covered.any():
        return small, half_covered
    return small, covered_share > 0


def _weigh_parts(weights: NDArray[np.float64], parts: NDArray[np.int32]) -> NDArray[np.float64]:
    """Scale the weights to sum to 1, with a sum in each part that grows with the part's area."""
    part_of_pixel = parts.ravel()
    areas = np.bincount(part_of_pixel).astype(np.float64)
    sums = np.bincount(part_of_pixel, weights.ravel())
    shares = np.where(sums > 0, areas**1.5, 0)
    shares[0] = 0  # label 0 is the background
    factors = np.divide(shares, sums, out=np.zeros_like(sums), where=sums > 0)
    result = weights * factors[parts]
    return result / result.sum()


def _relative_depth(mask: Mask) -> NDArray[np.float64]:
    """Return the distance to the edge divided by the maximum distance; 0 outside the mask."""
    # The padding makes the image border count as an edge.
    padded = np.pad(mask, 1).astype(np.uint8)
    distances = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    depth = np.asarray(distances[1:-1, 1:-1], dtype=np.float64)
    return depth / depth.max()


def _rescale(values: NDArray[np.float64], mask: Mask) -> NDArray[np.float64]:
    """Scale values linearly from their range on the mask to [0, 1], and clip values outside that range."""
    on_mask = values[mask]
    low = on_mask.min()
    # The lower limit avoids division by zero for a constant image.
    spread = max(on_mask.max() - low, 1e-9)
    return np.clip((values - low) / spread, 0, 1)


def _blur(values: NDArray[np.float64], sigma_px: float) -> NDArray[np.float64]:
    blurred = cv2.GaussianBlur(values, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT)
    return np.asarray(blurred, dtype=np.float64)
