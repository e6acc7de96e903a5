"""First stage of the robot: morphological opening (erosion, then dilation) of the error mask with a disk."""

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
    """Return the radius of the disk for an error of `area_px` pixels in all components, at most `max_radius_px`."""
    # The published kernel size is a diameter, as a share of the side of a square with that area.
    relative_radius = 0.5 * settings.kernel_size
    return min(relative_radius * math.sqrt(area_px), settings.max_radius_px)


def published_disk(radius_px: float) -> NDArray[np.uint8]:
    """Return the published disk of a real radius r, uint8.

    Elements are 1 where x^2 + y^2 <= r^2, with x and y from -r in steps of 1 to below r + 1.

    For an integer radius it is the usual disk. For other radii its centre lies between pixels: r =
    2.5 gives 6 x 6 elements, of which those at -2 to +1 are set; r = 1.05 gives three elements,
    without the middle one. Element i lies at i - n // 2.
    """
    # Half-open as published: for a radius between two integers the disk has an even size, and its
    # centre lies between pixels.
    along = np.arange(-radius_px, radius_px + 1)
    squared = along[:, None] ** 2 + along**2
    return (squared <= radius_px**2).astype(np.uint8)


def open_mask(mask: Mask, element: NDArray[np.uint8]) -> Mask:
    """Open a mask: erode with `element`, then dilate.

    Pixels outside the frame are ignored; a pixel becomes False if its element lies entirely
    outside. Erosion and dilation use the same offsets instead of mirrored ones, so an element whose
    centre is not its middle element shifts the result.
    """
    rows = pack_element(element)
    margin = words_needed(len(element))
    frame = pack_mask(np.ones_like(mask), margin)
    eroded = frame & ~dilate(frame ^ pack_mask(mask, margin), rows)
    middle = len(element) // 2
    if not element[middle, middle]:
        # If the middle element is not set, the element of a border pixel can lie entirely outside
        # the frame.
        eroded &= dilate(frame, rows)
    if eroded.any():
        return unpack_mask(dilate(eroded, rows), mask.shape[1], margin)
    return np.zeros_like(mask)


def open_error(error: Mask, settings: RobotSettings) -> Component | None:
    """Open an error mask and crop the result; return None if nothing is left.

    If the disk for an error has a radius of at most 1, the error is returned unchanged. Otherwise
    it is opened, each time with a radius that is a tenth smaller, until something is left or the
    radius falls to 1.

    Args:
        error: bool (H, W).
        settings: in mode "checked", the mask is opened with
            `segarena.arrays.structuring_elements.disk`, so that the result stays inside the error;
            in mode "published", with `published_disk`.

    Source: the published robot, `davisinteractive` 1.0.4, from its observed behaviour.
    """
    # Only the surroundings of the error can change, so the cost does not depend on the size of the
    # frame.
    window = bounding_window(error)
    if is_empty(window):
        return None
    window = grow_window(window, _MARGIN_PX, error.shape)
    crop = error[window]
    # The area is that of all components together, as published, so a large error suppresses small
    # ones.
    radius_px = opening_radius_px(int(np.count_nonzero(crop)), settings)
    # A radius of at most 1 removes nothing.
    opened = crop
    if radius_px > 1:
        opened = np.zeros_like(crop)
    # The published disks are symmetric only for integer radii; others shift the opened mask, which
    # may then leave the error.
    disk_of = published_disk if settings.mode == "published" else disk
    while radius_px > 1 and not opened.any():
        opened = open_mask(crop, disk_of(radius_px))
        radius_px *= _SHRINK
    inner = bounding_window(opened)
    if is_empty(inner):
        return None
    return Component(from_window(inner, window), opened[inner])
