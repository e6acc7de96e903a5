"""Boundaries of masks: the inner band that Boundary IoU looks at."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
    # False pixels after every line (and plane) make each square that runs over its end one that holds a False pixel, so
    # that all steps are between places of one flat array, which take a quarter of the time of those between crops.
    padded = np.zeros([mask.shape[0], *(n + 1 for n in mask.shape[1:])], dtype=np.bool_)
    padded[tuple(slice(n) for n in mask.shape)] = mask
    steps = [math.prod(padded.shape[axis + 1 :]) for axis in range(mask.ndim)]
    band = padded.ravel()
    core = _core(band, 2 * width_px + 1, steps)
    inner = width_px * sum(steps)
    np.greater(band[inner : inner + core.size], core, out=band[inner : inner + core.size])
    return padded[tuple(slice(n) for n in mask.shape)]


def _core(flat: Mask, side: int, steps: Sequence[int]) -> Mask:
    """Tell for each place at which a square of `side` pixels can begin whether it lies wholly in the mask.

    Two overlapping runs make one longer run, so the number of passes grows with the logarithm of `side`.

    Args:
        flat: the mask, with a False pixel after every line.
        side: of the square.
        steps: between neighbours along each axis.
    """
    for step in steps:
        length = 1
        while length < side and flat.size:
            longer = min(length, side - length)
            flat = flat[: -longer * step] & flat[longer * step :]
            length += longer
    return flat
