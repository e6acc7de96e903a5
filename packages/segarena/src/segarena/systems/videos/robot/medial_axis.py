"""Second stage: the medial axis, by taking pixels away from the outside in as long as nothing falls apart.

Pixels are looked at in the order of their distance to the outside, then of how few neighbours they have (corners
first), then of a rule for ties. A pixel goes unless its 3 x 3 pixels would then have another number of 8-connected
parts, or it has fewer than two neighbours left.

Done one by one that takes a loop over all pixels. But whether a pixel stays is a rule of which of its earlier
neighbours stayed and which later ones there are, and only one choice of pixels fits that rule everywhere: an earlier
neighbour has earlier ones itself, down to the first pixel. So all pixels are told at once as if no earlier neighbour
had stayed, which is right nearly everywhere, and then again those that come after one that was told wrong, until
nothing changes. The result is that of the loop, always.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance import squared_distance_in_window
from segarena.samples import Mask
from segarena.systems.videos.robot.settings import TieBreak

_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


def medial_axis(mask: Mask, ties: TieBreak = "raster") -> Mask:
    """Return the medial axis of `mask`.

    Args:
        mask: bool (H, W). The frame's border counts as outside.
        ties: "raster": of pixels of equal distance and equally many neighbours, the first in raster order is looked at
            first. "permutation": the order of NumPy's `RandomState(0).permutation` over all pixels of the mask.

    Returns:
        bool (H, W), empty if `mask` is. It may hold closed loops, around holes and elsewhere.

    Source: `medial_axis` of scikit-image, whose ties were drawn with `RandomState(0)` up to 0.18 and anew on every call
    from 0.19 on; "permutation" gives what the former gave.
    """
    there = np.pad(mask, 1)
    later = _later(_order(there, ties))
    stays = there & cv2.LUT(later, _needed()).view(np.bool_)
    _correct(stays.ravel(), later.ravel(), there.shape[1])
    return stays[1:-1, 1:-1]


def _later(order: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return which neighbours of each pixel come after it, a bit for each of `_AROUND`, the first lowest.

    Of equals the first in raster order comes first. What is said of pixels that are not there (0) means nothing.
    """
    later = np.zeros(order.shape, dtype=np.uint8)
    flat = order.ravel()
    found = later.ravel()
    width = order.shape[1]
    for bit, (row, column) in enumerate(_AROUND[4:], start=4):
        step = row * width + column
        follows = np.greater_equal(flat[step:], flat[:-step]).view(np.uint8)
        found[:-step] |= follows << np.uint8(bit)
        # Seen from the other pixel of the pair, which has this one on the opposite side.
        found[step:] |= (follows ^ 1) << np.uint8(7 - bit)
    return later


def _correct(stays: Mask, later: NDArray[np.uint8], width: int) -> None:
    """Make `stays` fit the rule everywhere; both flat, rows of `width` pixels with a border that is not there."""
    steps = np.array([row * width + column for row, column in _AROUND])
    changed = np.flatnonzero(stays)
    while len(changed):
        is_later = np.unpackbits(later[changed, None], axis=1, bitorder="little").view(np.bool_)
        after = np.unique((changed[:, None] + steps)[is_later])
        stayed = np.packbits(stays[after[:, None] + steps], axis=1, bitorder="little").ravel()
        # Of later neighbours all that are there count, whatever becomes of them.
        told = _needed()[later[after] | stayed].view(np.bool_)
        is_new = told != stays[after]
        stays[after] = told
        changed = after[is_new]


def _order(there: Mask, ties: TieBreak) -> NDArray[np.integer[Any]]:
    """Return when each pixel of `there` is looked at, from 1; 0 for the other pixels.

    Of equal numbers the first in raster order is looked at first.
    """
    neighbours = cv2.boxFilter(
        there.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    window, squared = squared_distance_in_window(there)
    highest = int(squared.max(initial=0)) * 9 + 9
    order = np.zeros(there.shape, dtype=np.int32 if highest < 2**31 else np.int64)
    order[window] = squared
    order *= 9
    order += (9 - neighbours) * there
    if ties == "permutation":
        # RandomState's streams are frozen: NumPy promises the same permutation in all versions.
        count = np.count_nonzero(there)
        order = order.astype(np.int64) * count
        order[there] += np.random.RandomState(0).permutation(count)
    return order


@cache
def _needed() -> NDArray[np.uint8]:
    """Return whether a pixel stays, by its neighbours: a bit for each of `_AROUND`, the first lowest."""
    needed = np.zeros(256, dtype=np.uint8)
    for code in range(256):
        needed[code] = _is_needed([at for bit, at in enumerate(_AROUND) if code >> bit & 1])
    return needed


def _is_needed(neighbours: list[tuple[int, int]]) -> bool:
    return len(neighbours) < 2 or _parts(neighbours) != _parts([*neighbours, (0, 0)])


def _parts(places: list[tuple[int, int]]) -> int:
    """Return into how many 8-connected parts the places fall."""
    left = set(places)
    parts = 0
    while left:
        parts += 1
        reached = {left.pop()}
        while reached:
            row, column = reached.pop()
            near = {
                place for place in left if abs(place[0] - row) <= 1 and abs(place[1] - column) <= 1
            }
            left -= near
            reached |= near
    return parts
