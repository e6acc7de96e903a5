"""Where the people of the synthetic crowd like to click: one map per habit.

The habits are ours. They put into numbers what the paper shows of real clicks (figures 1 and 10 to 12): not always the
centre, often a part that stands out, seldom the edge, for upright things rather the upper part, and in later rounds the
largest error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, window_shape
from segarena.arrays.colours import as_lab
from segarena.arrays.components import component_labels
from segarena.samples import Mask

Habit = Callable[[NDArray[np.uint8], Mask], NDArray[np.float64]]
WORK_SIDE_PX = 256
UPRIGHT = 1.2
"""From this ratio of height to width on, an object counts as upright."""


def depth_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Centre-seekers: the cube of the distance to the edge."""
    return _depth(error) ** 3


def salience_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Part-seekers: where colours change most, and where they are least like the surroundings."""
    lab = as_lab(crop).astype(np.float64)
    around = ~error
    context = lab[around].mean(axis=0) if around.any() else lab.mean(axis=(0, 1))
    unlike = np.linalg.norm(lab - context, axis=-1)
    reach = max(1.0, 0.06 * max(error.shape))
    # Rounding can leave a variance just below zero.
    detail = np.sqrt(np.maximum(_blur(lab**2, reach) - _blur(lab, reach) ** 2, 0).sum(axis=-1))
    strength = _blur(_unit(unlike, error) + 2 * _unit(detail, error), reach)
    return np.exp(10 * _unit(strength, error)) * np.minimum(_depth(error) * 4, 1)


def interior_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Edge-avoiders: anywhere deeper than a third of the deepest point."""
    depth = _depth(error)
    return (depth >= 0.35).astype(np.float64)


def upper_part_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Upper-part clickers: where the head of an upright thing is; the upper middle of others."""
    box = bounding_window(error)
    height, width = window_shape(box)
    aim, spread = (0.14, 0.09) if height > UPRIGHT * width else (0.4, 0.2)
    rows = (np.arange(error.shape[0]) - box[0].start) / height
    return np.exp(-0.5 * ((rows - aim) / spread) ** 2)[:, None] * _depth(error)


def uniform_habit(crop: NDArray[np.uint8], error: Mask) -> NDArray[np.float64]:
    """Hasty clickers: any pixel of it."""
    return np.ones(error.shape)


HABITS: dict[str, Habit] = {
    habit.__name__: habit
    for habit in (depth_habit, salience_habit, interior_habit, upper_part_habit, uniform_habit)
}


def habit_maps(
    image: NDArray[np.uint8], error: NDArray[Any]
) -> tuple[Window, dict[str, NDArray[np.float64]]]:
    """Return where people of each habit click: the window looked at, and maps on it that each sum to 1.

    Errors in several parts draw clicks to the large ones: a part's share of the clicks grows with its area to the
    power of 1.5. Large windows are looked at in a reduced size, of at most 256 pixels a side. Without an error the
    window is empty and there are no maps.

    Args:
        image: uint8 (H, W, 3).
        error: bool or float in [0, 1] (H, W); counts from 0.5 on.
    """
    inside = np.asarray(error) >= 0.5
    box = bounding_window(inside)
    if is_empty(box):
        return box, {}
    margin = max(4, max(window_shape(box)) // 4)
    window = grow_window(box, margin, inside.shape)
    crop, mask = _reduced(image[window], inside[window])
    parts = component_labels(mask)
    maps: dict[str, NDArray[np.float64]] = {}
    for name, habit in HABITS.items():
        weights = np.where(mask, habit(crop, mask), 0)
        maps[name] = _weighed(weights, parts)
    return window, maps


def _reduced(crop: NDArray[np.uint8], mask: Mask) -> tuple[NDArray[np.uint8], Mask]:
    scale = WORK_SIDE_PX / max(mask.shape)
    if scale >= 1:
        return crop, mask
    size = (max(1, round(mask.shape[1] * scale)), max(1, round(mask.shape[0] * scale)))
    small = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    # Half of a pixel's area keeps most masks; where it keeps nothing, thin ones, any part of it does.
    share = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    kept = share >= 0.5
    return small.astype(np.uint8), kept if kept.any() else share > 0


def _weighed(weights: NDArray[np.float64], parts: NDArray[np.int32]) -> NDArray[np.float64]:
    """Give each part the share that its size deserves, and sum to 1."""
    sizes = np.bincount(parts.ravel()).astype(np.float64)
    sums = np.bincount(parts.ravel(), weights.ravel())
    shares = np.where(sums > 0, sizes**1.5, 0)
    shares[0] = 0  # the background is no part
    factors = np.divide(shares, sums, out=np.zeros_like(sums), where=sums > 0)
    result = weights * factors[parts]
    return result / result.sum()


def _depth(mask: Mask) -> NDArray[np.float64]:
    """Return the distance to the edge divided by the largest; 0 outside."""
    # Padded: the frame is an edge too.
    distances = cv2.distanceTransform(
        np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE
    )
    depth = np.asarray(distances[1:-1, 1:-1], dtype=np.float64)
    return depth / depth.max()


def _unit(values: NDArray[np.float64], mask: Mask) -> NDArray[np.float64]:
    """Stretch the values on the mask to [0, 1]; elsewhere they are cut to it."""
    low = values[mask].min()
    high = values[mask].max()
    return np.clip((values - low) / max(high - low, 1e-9), 0, 1)


def _blur(values: NDArray[np.float64], sigma_px: float) -> NDArray[np.float64]:
    return np.asarray(
        cv2.GaussianBlur(values, (0, 0), sigma_px, borderType=cv2.BORDER_REFLECT), dtype=np.float64
    )
