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

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance import squared_distance
from segarena.samples import Mask
from segarena.systems.videos.robot.settings import Ties

_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


def medial_axis(mask: Mask, ties: Ties = "raster") -> Mask:
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
    order = _order(there, ties)
    later = _later(order)
    stays = there & _needed()[later]
    _correct(stays.ravel(), later.ravel(), order.ravel(), there.shape[1])
    return stays[1:-1, 1:-1]


def _later(order: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return which neighbours of each pixel come after it, a bit for each of `_AROUND`, the first lowest."""
    inner = order[1:-1, 1:-1]
    later = np.zeros(order.shape, dtype=np.uint8)
    for bit, (row, column) in enumerate(_AROUND):
        neighbour = order[1 + row : len(order) - 1 + row, 1 + column : order.shape[1] - 1 + column]
        later[1:-1, 1:-1] |= np.greater(neighbour, inner).view(np.uint8) << np.uint8(bit)
    return later


def _correct(stays: Mask, later: NDArray[np.uint8], order: NDArray[np.int64], width: int) -> None:
    """Make `stays` fit the rule everywhere; all arrays flat, rows of `width` pixels with a border that is not there."""
    steps = np.array([row * width + column for row, column in _AROUND])
    changed = np.flatnonzero(stays)
    while len(changed):
        after = (changed[:, None] + steps).ravel()
        after = np.unique(after[order[after] > np.repeat(order[changed], len(steps))])
        stayed = np.packbits(stays[after[:, None] + steps], axis=1, bitorder="little").ravel()
        # Of later neighbours all that are there count, whatever becomes of them.
        told = _needed()[later[after] | stayed]
        is_new = told != stays[after]
        stays[after] = told
        changed = after[is_new]


def _order(there: Mask, ties: Ties) -> NDArray[np.int64]:
    """Return when each pixel of `there` is looked at, as distinct numbers from 1; 0 for the other pixels."""
    neighbours = cv2.boxFilter(there.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    corners = 9 - neighbours[there].astype(np.int64)
    count = len(corners)
    # RandomState's streams are frozen: NumPy promises the same permutation in all versions.
    rank = np.random.RandomState(0).permutation(count) if ties == "permutation" else np.arange(count)
    order = np.zeros(there.shape, dtype=np.int64)
    order[there] = (squared_distance(there)[there] * 9 + corners) * count + rank + 1
    return order


@cache
def _needed() -> Mask:
    """Return whether a pixel stays, by its neighbours: a bit for each of `_AROUND`, the first lowest."""
    needed = np.zeros(256, dtype=np.bool_)
    for code in range(256):
        needed[code] = _is_needed([at for bit, at in enumerate(_AROUND) if code >> bit & 1])
    return needed


def _is_needed(neighbours: list[tuple[int, int]]) -> bool:
    return len(neighbours) < 2 or _parts(neighbours) != _parts([*neighbours, (0, 0)])


def _parts(places: list[tuple[int, int]]) -> int:
    """Return into how many 8-connected parts the places fall."""
    left, parts = set(places), 0
    while left:
        parts += 1
        reached = {left.pop()}
        while reached:
            row, column = reached.pop()
            near = {place for place in left if abs(place[0] - row) <= 1 and abs(place[1] - column) <= 1}
            left -= near
            reached |= near
    return parts
