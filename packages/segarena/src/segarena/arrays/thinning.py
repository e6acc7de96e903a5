"""Morphological thinning: reduce lines of any width to their middle, one pixel wide, as edge benchmarks do.

Source: Guo & Hall, Parallel Thinning with Two-Subiteration Algorithms, CACM 1989; the conditions as Lam, Lee & Suen,
Thinning Methodologies, PAMI 1992, write them (algorithm A1). MATLAB's `bwmorph(..., "thin", inf)` and scikit-image's
`thin` are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.arrays.packed_bits import WORD_PX, Words, pack_mask, unpack_mask
from segarena.samples import Mask

_PASSES = 4
"""Passes of both subiterations between two checks of which rows still change."""
_ONE = np.uint64(1)
_LAST = np.uint64(WORD_PX - 1)


def thin(mask: Mask) -> Mask:
    """Thin `mask` until nothing changes.

    The two subiterations treat 64 pixels in a word at once: some forty passes over the words of the rows near which
    pixels changed. Pixels outside the array count as False; an empty mask stays empty.

    >>> thin(np.ones((3, 7), bool)).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 1, 1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 0, 0]])

    Args:
        mask: bool (H, W).
    """
    window = bounding_window(mask)
    crop = np.pad(mask[window], 1)
    words = pack_mask(crop, margin=0)  # a pixel is margin enough
    first = 1
    stop = len(words) - 1
    while first < stop:
        changed = first + np.flatnonzero(_thin_rows(words[first - 1 : stop + 1]).any(axis=1))
        if not len(changed):
            break
        # A removed pixel affects its neighbours, so changes spread by one row with every subiteration.
        first = max(1, int(changed[0]) - 2 * _PASSES)
        stop = min(len(words) - 1, int(changed[-1]) + 1 + 2 * _PASSES)
    thinned = np.zeros_like(mask)
    thinned[window] = unpack_mask(words, crop.shape[1], margin=0)[1:-1, 1:-1]
    return thinned


def _thin_rows(words: Words) -> Words:
    """Thin all rows but the first and the last, in place; return the pixels that the last pass has removed."""
    width = words.shape[1]
    # The pixels, their eastern and their western neighbours.
    there = np.empty((3, words.size), dtype=words.dtype)
    absent = np.empty_like(there)
    own, east, west = there
    own[:] = words.reshape(-1)
    inner = own[width:-width]
    sides = _around(there, width), _around(absent, width)
    # The second subiteration is the first one, turned by half a circle.
    turned = [neighbours[4:] + neighbours[:4] for neighbours in sides]
    before = inner
    for number in range(_PASSES):
        before = inner.copy() if number == _PASSES - 1 else before
        for neighbours in (sides, turned):
            # Pixels move by a bit, those at the ends of words into the next word.
            np.right_shift(own, _ONE, out=east)
            np.left_shift(own, _ONE, out=west)
            east[:-1] |= own[1:] << _LAST
            west[1:] |= own[:-1] >> _LAST
            np.invert(there, out=absent)
            gone = _removable(*neighbours)
            gone &= inner
            inner ^= gone
    words[1:-1] = inner.reshape(-1, width)
    return (before ^ inner).reshape(-1, width)


def _around(columns: Words, width: int) -> list[Words]:
    """Return the eight neighbours of all pixels of the inner rows: the eastern one first, then counter-clockwise.

    Args:
        columns: the pixels themselves, their eastern and their western neighbours, rows of `width` words in a line.
        width: words in a row.
    """
    own, east, west = (
        (line[: -2 * width], line[width:-width], line[2 * width :]) for line in columns
    )
    return [east[1], east[0], own[0], west[0], west[1], west[2], own[2], east[2]]


def _removable(there: Sequence[Words], absent: Sequence[Words]) -> Words:
    """Return the pixels that the first subiteration removes, where they are set.

    The condition of Guo & Hall: the eight neighbours, in a circle, form one run; of the four pairs of a side and the
    corner after it, or before it, the lower number of pairs with a set pixel is two or three; and either the eastern
    neighbour is not set, or it is set with the south-eastern one, and neither the north-eastern nor the northern one.
    It is evaluated as a decision tree (north-eastern neighbour set? western? ...), the fewest operations found, in
    place, because allocating arrays takes most of the time.

    Args:
        there: whether each neighbour is set, in the order of `_around`.
        absent: the same inverted.
    """
    east, north_east, north, north_west, west, south_west, south, south_east = there
    no_east, no_north_east, no_north, no_north_west, _, no_south_west, no_south, no_south_east = (
        absent
    )
    open_east = no_east & no_south_east
    with_north_east = north_west & no_south_west
    with_north_east &= no_south
    with_north_east |= west
    with_north_east &= north
    with_north_east &= open_east
    with_north_east &= north_east
    turns_south = no_north & south_east
    without_west = east | south_west
    without_west &= turns_south
    without_west &= no_north_west
    without_west &= south
    turns_south |= no_east
    turns_south &= south
    without = north_west & south_west
    without |= north
    without &= open_east
    without |= turns_south
    without &= west
    without |= without_west
    without &= no_north_east
    with_north_east |= without
    return with_north_east
