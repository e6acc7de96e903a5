"""Second stage of the robot: the medial axis, by topology-preserving thinning from the outside in.

Pixels are visited in the order of their distance to the outside, then of their number of
neighbours, most first (corners last), then of a tie rule. A pixel is removed unless its removal
would change the number of 8-connected components in its 3 x 3 neighbourhood, or fewer than two of
its neighbours remain.

A sequential implementation needs a loop over all pixels. However, whether a pixel stays depends
only on which of its earlier neighbours stayed and which later neighbours exist, and exactly one set
of pixels satisfies this rule everywhere, by induction from the first pixel. Therefore all pixels
are first decided in parallel as if no earlier neighbour had stayed, which is correct almost
everywhere. Then the successors of wrongly decided pixels are decided again, until nothing changes.
The result always equals that of the loop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.distance_transform import squared_distance_in_window
from segarena.samples import Mask
from segarena.systems.videos.robot.settings import TieBreak

_AROUND = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


def medial_axis(mask: Mask, ties: TieBreak = "raster") -> Mask:
    """Return the medial axis of `mask`.

    Args:
        mask: bool (H, W). Pixels beyond the frame count as outside.
        ties: "raster": pixels of equal distance and equally many neighbours are visited in raster order. "permutation":
            in the order of NumPy's `RandomState(0).permutation` over all pixels of the mask.

    Returns:
        bool (H, W), empty if `mask` is empty. It may contain closed loops, around holes and
            elsewhere.

    Source: `medial_axis` of scikit-image, which broke ties with `RandomState(0)` up to version 0.18
    and at random since 0.19; "permutation" reproduces the former.
    """
    # With this padding, every pixel of the mask has eight neighbours.
    inside = np.pad(mask, 1)
    order = _visit_order(inside, ties)
    later = _later_neighbours(order)
    stays_by_rule = cv2.LUT(later, _stay_table()).view(np.bool_)
    stays = inside & stays_by_rule
    _correct(stays.ravel(), later.ravel(), inside.shape[1])
    return stays[1:-1, 1:-1]


def _later_neighbours(order: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    """Return which neighbours of each pixel come after it: one bit for each of `_AROUND`, from the lowest bit.

    Ties are in raster order. The values of pixels outside the mask (order 0) are meaningless.
    """
    later = np.zeros(order.shape, dtype=np.uint8)
    flat_order = order.ravel()
    flat_later = later.ravel()
    width = order.shape[1]
    for bit, (row, column) in enumerate(_AROUND[4:], start=4):
        step = row * width + column
        follows = np.greater_equal(flat_order[step:], flat_order[:-step]).view(np.uint8)
        flat_later[:-step] |= follows << np.uint8(bit)
        # The same pair, seen from the other pixel, for which this one lies on the opposite side.
        flat_later[step:] |= (follows ^ 1) << np.uint8(7 - bit)
    return later


def _correct(
    stays: Mask,
    later: NDArray[np.uint8],
    width: int,
) -> None:
    """Change `stays` until every pixel of the mask follows `_stay_table`.

    Both arrays are flat: rows of `width` pixels with an empty border.
    """
    # In flat indices, the eight neighbours are at fixed offsets.
    steps = np.array([row * width + column for row, column in _AROUND])
    changed = np.flatnonzero(stays)
    while len(changed):
        is_later = np.unpackbits(later[changed, None], axis=1, bitorder="little").view(np.bool_)
        neighbours = changed[:, None] + steps
        affected = np.unique(neighbours[is_later])
        neighbour_stays = stays[affected[:, None] + steps]
        stayed = np.packbits(neighbour_stays, axis=1, bitorder="little").ravel()
        # All later neighbours inside the mask count, regardless of whether they stay.
        decided = _stay_table()[later[affected] | stayed].view(np.bool_)
        is_different = decided != stays[affected]
        stays[affected] = decided
        changed = affected[is_different]


def _visit_order(inside: Mask, ties: TieBreak) -> NDArray[np.integer[Any]]:
    """Return a sort key, above 0, for the visiting order of the pixels of `inside`; 0 for all other pixels.

    Pixels with equal keys are visited in raster order.
    """
    neighbours = cv2.boxFilter(
        inside.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    window, squared = squared_distance_in_window(inside)
    highest = int(squared.max(initial=0)) * 9 + 9
    # 32 bits are enough except for very deep masks, and use half the memory.
    dtype = np.int32 if highest < 2**31 else np.int64
    order = np.zeros(inside.shape, dtype=dtype)
    # Multiplying by nine leaves room for the second criterion between two squared distances.
    order[window] = squared
    order *= 9
    # The published criterion: nine minus the number of foreground pixels in the 3 x 3
    # neighbourhood.
    order += (9 - neighbours) * inside
    if ties == "permutation":
        # NumPy has frozen the streams of RandomState, so the permutation is the same in all
        # versions.
        count = np.count_nonzero(inside)
        order = order.astype(np.int64) * count
        order[inside] += np.random.RandomState(0).permutation(count)
    return order


@cache
def _stay_table() -> NDArray[np.uint8]:
    """Return a table of whether a pixel stays, indexed by its neighbours: one bit for each of `_AROUND`."""
    stays = np.zeros(256, dtype=np.uint8)
    for code in range(256):
        neighbours = [offset for bit, offset in enumerate(_AROUND) if code >> bit & 1]
        stays[code] = _must_stay(neighbours)
    return stays


def _must_stay(neighbours: list[tuple[int, int]]) -> bool:
    # As published: a pixel stays if its neighbourhood, itself included, has fewer than three
    # pixels.
    if len(neighbours) < 2:
        return True
    return _count_components(neighbours) != _count_components([*neighbours, (0, 0)])


def _count_components(offsets: list[tuple[int, int]]) -> int:
    """Return the number of 8-connected components among the offsets."""
    # Offsets lie in a 3 x 3 neighbourhood, so plain sets are fast enough.
    remaining = set(offsets)
    count = 0
    while remaining:
        count += 1
        frontier = {remaining.pop()}
        while frontier:
            row, column = frontier.pop()
            near: set[tuple[int, int]] = set()
            for offset in remaining:
                if abs(offset[0] - row) <= 1 and abs(offset[1] - column) <= 1:
                    near.add(offset)
            remaining -= near
            frontier |= near
    return count
