"""First stage: morphological opening (erosion, then dilation) of the error mask with a disk."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, from_window, grow_window, is_empty
from segarena.arrays.connected_components import Component
from segarena.arrays.packed_bits import dilate, pack_element, pack_mask, unpack_mask, words_needed
from segarena.arrays.structuring_elements import disk
from segarena.samples import Mask
from segarena.systems.videos.robot.settings import RobotSettings

# An even-sized disk shifts the opened mask by up to two pixels down and to the right.
_MARGIN_PX = 3
# Factor by which the radius shrinks until the opened mask is not empty.
_SHRINK = 0.9


def opening_radius_px(area_px: int, settings: RobotSettings) -> float:
    """Return the radius of the disk for an error of `area_px` pixels, all its components together."""
    # The published kernel size is a diameter, relative to the side of a square of that area.
    relative_radius = 0.5 * settings.kernel_size
    return min(relative_radius * math.sqrt(area_px), settings.max_radius_px)


def published_disk(radius_px: float) -> NDArray[np.uint8]:
    """Return the published disk of a real radius r: on where x^2 + y^2 <= r^2 at x, y = -r, -r + 1, ... below r + 1.

    For a whole radius it is the usual disk. For others its centre lies between pixels: r = 2.5
    gives 6 x 6 elements, of which those at -2 to +1 are on; r = 1.05 gives three elements without
    the middle one. Element i lies at i - n // 2.
    """
    along = np.arange(-radius_px, radius_px + 1)
    squared = along[:, None] ** 2 + along**2
    return (squared <= radius_px**2).astype(np.uint8)


def open_mask(mask: Mask, element: NDArray[np.uint8]) -> Mask:
    """Open a mask: erode with `element`, then dilate.

    Pixels beyond the frame do not count; a pixel is False if its element lies entirely outside.
    Erosion and dilation use the same offsets, not mirrored ones, so an element whose centre is not
    its middle element shifts the result.
    """
    rows = pack_element(element)
    margin = words_needed(len(element))
    frame = pack_mask(np.ones_like(mask), margin)
    eroded = frame & ~dilate(frame ^ pack_mask(mask, margin), rows)
    middle = len(element) // 2
    if not element[middle, middle]:
        # Without its middle element, the element of a pixel at the border can lie entirely outside the frame.
        eroded &= dilate(frame, rows)
    if eroded.any():
        return unpack_mask(dilate(eroded, rows), mask.shape[1], margin)
    return np.zeros_like(mask)


def open_error(error: Mask, settings: RobotSettings) -> Component | None:
    """Open an error mask, and crop the result; None if nothing is left.

    An error whose disk has a radius of at most 1 stays unchanged. Otherwise it is opened, with a
    radius a tenth smaller each time until something is left or the radius falls to 1.

    Args:
        error: bool (H, W).
        settings: a checked robot opens with `segarena.arrays.structuring_elements.disk`, so that the result stays
            inside the error; a published one with `published_disk`.

    Source: the published robot, `davisinteractive` 1.0.4, by its behaviour.
    """
    window = bounding_window(error)
    if is_empty(window):
        return None
    window = grow_window(window, _MARGIN_PX, error.shape)
    crop = error[window]
    radius_px = opening_radius_px(int(np.count_nonzero(crop)), settings)
    opened = crop
    if radius_px > 1:
        opened = np.zeros_like(crop)
    disk_of = published_disk if settings.mode == "published" else disk
    while radius_px > 1 and not opened.any():
        opened = open_mask(crop, disk_of(radius_px))
        radius_px *= _SHRINK
    inner = bounding_window(opened)
    if is_empty(inner):
        return None
    return Component(from_window(inner, window), opened[inner])
