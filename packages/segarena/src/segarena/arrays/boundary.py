"""Boundaries of masks: the inner band that Boundary IoU compares."""

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
    """Return the pixels of `mask` within chessboard distance `width_px` of a pixel outside it.

    That is the mask minus its erosion by `width_px` steps of a 3 x 3 (in a volume 3 x 3 x 3) square. Pixels outside
    the array are not in the mask, so a crop that holds the whole mask gives the same band.

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
    # A False pixel after every line (and plane) makes squares that cross its end hold a False pixel. Erosion then needs
    # only shifts of one flat array, which take a quarter of the time of shifts between crops.
    padded_shape = [mask.shape[0], *(size + 1 for size in mask.shape[1:])]
    original = tuple(slice(size) for size in mask.shape)
    padded = np.zeros(padded_shape, dtype=np.bool_)
    padded[original] = mask
    steps = [math.prod(padded.shape[axis + 1 :]) for axis in range(mask.ndim)]
    flat = padded.ravel()
    core = _core(flat, 2 * width_px + 1, steps)
    # `core` is indexed by the first pixel of each square; the square's centre lies `width_px` steps along each axis.
    centre = width_px * sum(steps)
    centres = flat[centre : centre + core.size]
    np.greater(centres, core, out=centres)
    return padded[original]


def _core(flat: Mask, side: int, steps: Sequence[int]) -> Mask:
    """Erode by a square of `side` pixels; each result stands at the square's first pixel.

    Two overlapping runs make one longer run, so the number of passes grows with the logarithm of `side`.

    Args:
        flat: the mask, with a False pixel after every line.
        side: length of the square's side.
        steps: flat index steps between neighbours along each axis.
    """
    for step in steps:
        length = 1
        while length < side and flat.size:
            longer = min(length, side - length)
            flat = flat[: -longer * step] & flat[longer * step :]
            length += longer
    return flat
