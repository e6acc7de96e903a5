"""Mask boundaries: the inner band that Boundary IoU compares."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from segarena.samples import Mask, Shape


def band_width_px(shape: Shape, dilation_ratio: float = 0.02) -> int:
    """Return the band width in pixels for a frame of `shape`: `dilation_ratio` times the diagonal, at least 1.

    Halves round to even, as in Python's `round` and in the published code of Boundary IoU.

    >>> band_width_px((480, 854))
    20
    >>> band_width_px((10, 10))
    1
    """
    diagonal = math.hypot(*shape)
    return max(1, round(dilation_ratio * diagonal))


def inner_band(mask: Mask, width_px: int) -> Mask:
    """Return the pixels of `mask` within chessboard distance `width_px` of a pixel outside it.

    This equals the mask minus its erosion by `width_px` steps with a 3 x 3 square (3 x 3 x 3 in a
    volume). Pixels outside the array count as outside the mask, so a crop that contains the whole
    mask gives the same band.

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
    # A False pixel after every line (and plane) makes every square that crosses a line end contain
    # a False pixel. Erosion then only needs shifts of one flat array, which take a quarter of the
    # time of shifts between crops.
    padded_shape = [size + 1 for size in mask.shape]
    padded_shape[0] = mask.shape[0]
    original = tuple(slice(size) for size in mask.shape)
    padded = np.zeros(padded_shape, dtype=np.bool_)
    padded[original] = mask
    steps: list[int] = []
    for axis in range(mask.ndim):
        later_sizes = padded_shape[axis + 1 :]
        steps.append(math.prod(later_sizes))
    flat = padded.ravel()
    core = _core(flat, 2 * width_px + 1, steps)
    # `core` is indexed by the first pixel of each square; the square's centre lies `width_px` steps along each axis.
    centre = width_px * sum(steps)
    centres = flat[centre : centre + core.size]
    np.greater(centres, core, out=centres)
    return padded[original]


def _core(
    flat: Mask,
    side: int,
    steps: Sequence[int],
) -> Mask:
    """Erode by a square of `side` pixels and store each result at the first pixel of its square.

    Two overlapping runs form one longer run, so the number of passes grows with the logarithm of
    `side`.

    Args:
        flat: the mask, with a False pixel after every line.
        side: length of the square's side.
        steps: flat index steps between neighbours along each axis.
    """
    for step in steps:
        length = 1
        while length < side and flat.size:
            added = min(length, side - length)
            shift = added * step
            flat = flat[:-shift] & flat[shift:]
            length += added
    return flat
