"""Thinning: lines of any width to lines one pixel wide, in the middle, as edge benchmarks do it.

Source: Guo & Hall, Parallel Thinning with Two-Subiteration Algorithms, CACM 1989; the conditions as Lam, Lee & Suen,
Thinning Methodologies, PAMI 1992, write them (algorithm A1). MATLAB's `bwmorph(..., "thin", inf)` and scikit-image's
`thin` are the same.
"""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window
from segarena.samples import Mask

_AROUND = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
"""The eight neighbours as (row, column) steps: east first, then against the clock; bit k of a code is neighbour k."""
_FEW = 0.015
"""Share of the pixels up to which it is quicker to look at each of them than at the whole window."""


def thin(mask: Mask) -> Mask:
    """Return `mask` thinned until nothing changes.

    The two subiterations look at all pixels at once. After the first pass only the neighbours of removed pixels are
    looked at again, so a blob takes as long as its area and not its area times its width. What lies outside the array
    counts as False; no pixels give no pixels.

    >>> thin(np.ones((3, 7), bool)).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 1, 1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 0, 0]])

    Args:
        mask: bool (H, W).
    """
    window = grow_window(bounding_window(mask), 1, mask.shape)
    crop = np.pad(mask[window], 1)
    flat, steps = crop.reshape(-1), np.array([row * crop.shape[1] + column for row, column in _AROUND])
    changed = np.flatnonzero(flat)
    before = changed
    while len(changed):
        for table in _removable():
            gone = _removed(crop, changed, steps, table)
            flat[gone] = False
            changed, before = np.concatenate((before, gone)), gone
    thinned = np.zeros_like(mask)
    thinned[window] = crop[1:-1, 1:-1]
    return thinned


def _removed(
    crop: Mask, changed: NDArray[np.intp], steps: NDArray[np.intp], table: NDArray[np.uint8]
) -> NDArray[np.intp]:
    """Return the pixels that this subiteration removes, of those whose neighbours have changed since its last turn."""
    flat = crop.reshape(-1)
    if len(changed) > _FEW * flat.size:
        code = cv2.filter2D(crop.view(np.uint8), cv2.CV_8U, _weights(), borderType=cv2.BORDER_CONSTANT)
        return np.flatnonzero(np.logical_and(crop, cv2.LUT(code, table)))
    beside = (changed[:, None] + steps).ravel()
    pixels = np.unique(beside[flat[beside]])
    codes = np.packbits(flat[pixels[:, None] + steps], axis=1, bitorder="little").reshape(-1)
    return pixels[table[codes] > 0]


@cache
def _weights() -> NDArray[np.uint8]:
    weights = np.zeros((3, 3), np.uint8)
    for bit, (row, column) in enumerate(_AROUND):
        weights[1 + row, 1 + column] = 1 << bit
    return weights


@cache
def _removable() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return for each code whether the first and the second subiteration remove the pixel."""
    x = np.arange(256)[:, None] >> np.arange(8) & 1 == 1
    sides, corners, next_sides = x[:, ::2], x[:, 1::2], np.roll(x[:, ::2], -1, axis=1)
    crossings = (~sides & (corners | next_sides)).sum(axis=1)
    pairs = np.minimum((sides | corners).sum(axis=1), (corners | next_sides).sum(axis=1))
    common = (crossings == 1) & (pairs >= 2) & (pairs <= 3)
    east, north_east, north, north_west, west, south_west, south, south_east = x.T
    return (
        (common & ~((north_east | north | ~south_east) & east)).astype(np.uint8),
        (common & ~((south_west | south | ~north_west) & west)).astype(np.uint8),
    )
