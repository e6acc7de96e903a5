"""Morphological thinning: reduce lines of any width to one-pixel-wide centre lines, as edge benchmarks do.

Source: Guo & Hall, Parallel Thinning with Two-Subiteration Algorithms, CACM 1989; the conditions
follow algorithm A1 in Lam, Lee & Suen, Thinning Methodologies, PAMI 1992. MATLAB's `bwmorph(...,
"thin", inf)` and scikit-image's `thin` give the same result.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.arrays.packed_bits import WORD_PX, Words, pack_mask, unpack_mask
from segarena.samples import Mask

_PASSES = 4
"""Passes of both subiterations before checking again which rows still change."""
_ONE = np.uint64(1)
_LAST = np.uint64(WORD_PX - 1)


def thin(mask: Mask) -> Mask:
    """Thin `mask` until no pixel changes.

    Both subiterations process 64 pixels per word, in about forty passes over the words of the rows
    near changed pixels. Pixels outside the array count as False; an empty mask stays empty.

    >>> thin(np.ones((3, 7), bool)).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 1, 1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 0, 0]])

    Args:
        mask: bool (H, W).
    """
    window = bounding_window(mask)
    padded = np.pad(mask[window], 1)
    words = pack_mask(padded, margin=0)  # the padding is margin enough
    # Removing a pixel affects its neighbours, so changes spread by one row per subiteration.
    reach = 2 * _PASSES
    first = 1
    last = len(words) - 2
    while first <= last:
        removed = _thin_rows(words[first - 1 : last + 2])
        changed = first + np.flatnonzero(removed.any(axis=1))
        if not len(changed):
            break
        first = max(1, int(changed[0]) - reach)
        last = min(len(words) - 2, int(changed[-1]) + reach)
    lines = unpack_mask(words, padded.shape[1], margin=0)
    thinned = np.zeros_like(mask)
    thinned[window] = lines[1:-1, 1:-1]
    return thinned


def _thin_rows(words: Words) -> Words:
    """Thin all rows but the first and the last in place; return the pixels that the last pass removed."""
    width = words.shape[1]
    # The pixels, their eastern neighbours and their western neighbours.
    there = np.empty((3, words.size), dtype=words.dtype)
    absent = np.empty_like(there)
    own, east, west = there
    own[:] = words.reshape(-1)
    inner = own[width:-width]
    # Views, which follow later changes of `there` and `absent`.
    set_around = _around(there, width)
    unset_around = _around(absent, width)
    # The second subiteration is the first one rotated by 180 degrees.
    set_turned = set_around[4:] + set_around[:4]
    unset_turned = unset_around[4:] + unset_around[:4]
    before = inner
    for number in range(_PASSES):
        if number == _PASSES - 1:
            before = inner.copy()
        for is_set, is_unset in ((set_around, unset_around), (set_turned, unset_turned)):
            # Shift pixels by one bit; pixels at the end of a word move into the next word.
            np.right_shift(own, _ONE, out=east)
            np.left_shift(own, _ONE, out=west)
            east[:-1] |= own[1:] << _LAST
            west[1:] |= own[:-1] >> _LAST
            np.invert(there, out=absent)
            removed = _removable(is_set, is_unset)
            removed &= inner
            inner ^= removed
    words[1:-1] = inner.reshape(-1, width)
    removed_last = before ^ inner
    return removed_last.reshape(-1, width)


def _around(columns: Words, width: int) -> list[Words]:
    """Return the eight neighbours of all pixels in the inner rows, counter-clockwise from the eastern one.

    Args:
        columns: the pixels and their eastern and western neighbours, as flattened rows of `width` words.
        width: number of words in a row.
    """
    above = columns[:, : -2 * width]
    beside = columns[:, width:-width]
    below = columns[:, 2 * width :]
    own, east, west = range(3)
    return [
        beside[east],
        above[east],
        above[own],
        above[west],
        beside[west],
        below[west],
        below[own],
        below[east],
    ]


def _removable(there: Sequence[Words], absent: Sequence[Words]) -> Words:
    """Return the pixels that the first subiteration removes if they are set.

    The condition of Guo & Hall has three parts. The eight neighbours, read in a circle, form one
    run. Pair each side neighbour with the next corner, or with the previous corner, and count the
    pairs with a set pixel; the smaller of these two counts is two or three. The eastern neighbour
    is either not set, or is set together with the south-eastern one while neither the north-eastern
    nor the northern one is set. The condition is evaluated as a decision tree (is the north-eastern
    neighbour set? the western? ...), which takes the fewest operations found, and in place, because
    allocating arrays takes most of the time.

    Args:
        there: whether each neighbour is set, in the order of `_around`.
        absent: the inverse of `there`.
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
