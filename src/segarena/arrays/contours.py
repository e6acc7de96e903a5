"""How much of one contour runs near another, as video challenges ask. Contours are `segarena.arrays.label_edges`."""

from __future__ import annotations

import math
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, within_window
from segarena.samples import Mask, Shape


def contour_radius_px(shape: Shape, share: float = 0.008) -> int:
    """Return how far apart two contours may run: `share` of the diagonal of (H, W), rounded up; 1 or more is pixels.

    >>> contour_radius_px((480, 854))
    8

    Source: DAVIS 2017, bound_th.
    """
    return math.ceil(share if share >= 1 else share * math.hypot(*shape))


def near(edge: Mask, radius_px: int) -> Mask:
    """Return the pixels at most `radius_px` from a pixel of `edge`, by Euclidean distance, inside the frame.

    >>> edge = np.zeros((3, 7), bool)
    >>> edge[1, 3] = True
    >>> near(edge, 2).astype(int)
    array([[0, 0, 1, 1, 1, 0, 0],
           [0, 1, 1, 1, 1, 1, 0],
           [0, 0, 1, 1, 1, 0, 0]])
    """
    pixels = edge.view(np.uint8)
    found = np.zeros_like(edge)
    for rectangle in _rectangles(radius_px) if edge.any() else ():
        found |= cv2.dilate(pixels, rectangle).view(np.bool_)
    return found


def count_near(edge: Mask, other: Mask, radius_px: int) -> int:
    """Return how many pixels of `edge` lie at most `radius_px` from one of `other`; both (H, W).

    Only the window of pixels that are not on `other` themselves is looked at.

    >>> one, other = np.zeros((2, 4, 9), bool)
    >>> one[:, 2] = other[1:3, 4] = True
    >>> count_near(one, other, 2)
    2
    """
    apart = np.greater(edge, other)
    window = bounding_window(apart)
    wide = grow_window(window, radius_px, edge.shape)
    inside = within_window(window, wide)
    far = np.greater(apart[window], near(other[wide], radius_px)[inside]) if apart[window].size else apart[window]
    return int(np.count_nonzero(edge)) - int(np.count_nonzero(far))


@cache
def _rectangles(radius_px: int) -> tuple[NDArray[np.uint8], ...]:
    """Return the largest centred rectangles in the disk: together they are the disk, and each is quick to dilate by."""
    tallest = {math.isqrt(radius_px**2 - height**2): height for height in range(radius_px + 1)}
    return tuple(np.ones((2 * height + 1, 2 * width + 1), np.uint8) for width, height in tallest.items())
