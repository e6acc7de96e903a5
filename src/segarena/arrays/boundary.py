"""Boundaries of masks: the inner band that Boundary IoU looks at."""

from __future__ import annotations

import math

from segarena.arrays.boxes import Window
from segarena.samples import Mask, Shape


def band_width_px(shape: Shape, dilation_ratio: float = 0.02) -> int:
    """Return the width of the band in a frame of `shape`: a share of its diagonal, 1 pixel at least.

    Halves are rounded to the even number, as Python's `round` does and as Boundary IoU was published.

    >>> band_width_px((480, 854))
    20
    >>> band_width_px((10, 10))
    1
    """
    return max(1, round(dilation_ratio * math.hypot(*shape)))


def inner_band(mask: Mask, width_px: int) -> Mask:
    """Return the pixels of `mask` that are at most `width_px` king's moves from a pixel that is not in it.

    That is the mask without its erosion by `width_px` steps of a 3 x 3 (in a volume 3 x 3 x 3) square. Everything
    outside the array counts as not in the mask, so a crop that holds the whole mask gives the same band.

    >>> import numpy as np
    >>> inner_band(np.ones((5, 5), bool), 1).astype(int)
    array([[1, 1, 1, 1, 1],
           [1, 0, 0, 0, 1],
           [1, 0, 0, 0, 1],
           [1, 0, 0, 0, 1],
           [1, 1, 1, 1, 1]])

    Args:
        mask: bool, any number of axes.
        width_px: 1 or more.
    """
    band = mask.copy()
    inner: Window = tuple(slice(width_px, -width_px) for _ in mask.shape)
    if min(mask.shape) > 2 * width_px:
        band[inner] &= ~_core(mask, 2 * width_px + 1)
    return band


def _core(mask: Mask, side: int) -> Mask:
    """Tell for every square of `side` pixels inside the frame whether it lies wholly in the mask.

    Two overlapping runs make one longer run, so the number of passes grows with the logarithm of `side`.
    """
    for axis in range(mask.ndim):
        before: Window = (slice(None),) * axis
        length = 1
        while length < side:
            step = min(length, side - length)
            mask = mask[*before, :-step] & mask[*before, step:]
            length += step
    return mask
