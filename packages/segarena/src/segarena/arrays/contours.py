"""Contours of masks and what runs near them, as video challenges ask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from segarena.arrays.boxes import (
    Window,
    bounding_window,
    grow_window,
    intersect_windows,
    is_empty,
    within_window,
)
from segarena.arrays.packed_bits import (
    WORD_PX,
    Element,
    Words,
    count,
    dilated,
    element_of,
    moved,
    pack,
    words_for,
)
from segarena.arrays.structuring_elements import disk
from segarena.samples import Mask, Shape


def contour_radius_px(shape: Shape, share: float = 0.008) -> int:
    """Return how far apart two contours may run: `share` of the diagonal of (H, W), rounded up; 1 or more is pixels.

    >>> contour_radius_px((480, 854))
    8

    Source: DAVIS 2017, bound_th.
    """
    return math.ceil(share if share >= 1 else share * math.hypot(*shape))


@dataclass(frozen=True, slots=True)
class Outlined:
    """A mask and its contour, 64 pixels in a word (see `segarena.arrays.packed_bits`), in a window that holds all of them.

    Attributes:
        window: rows, and words of a row.
        mask: the mask.
        contour: its contour: the edges that `segarena.arrays.label_edges` finds.
        near: what is near the contour.
        area: pixels of the mask.
        length: pixels of the contour.
    """

    window: Window
    mask: Words
    contour: Words
    near: Words
    area: int
    length: int


class Shared(NamedTuple):
    """Pixels in two masks; of the first one's contour near the second's; of the second one's near the first's."""

    area: int
    first: int
    second: int


def outlined(mask: Mask, radius_px: int) -> Outlined:
    """Return `mask`, (H, W), with its contour and all that is at most `radius_px` from it, by Euclidean distance.

    >>> mask = np.zeros((9, 9), bool)
    >>> mask[4, 4] = True
    >>> found = outlined(mask, 1)
    >>> found.area, found.length, count(found.near)
    (1, 4, 12)
    """
    reach = radius_px + 1  # the contour begins one pixel above the mask and to its left
    margin = words_for(reach)
    words = pack(mask, margin)
    window = bounding_window(words != 0)
    if not is_empty(window):
        # There is room for what is near, or the frame ends.
        window = grow_window(window[:1], reach, words.shape[:1]) + grow_window(
            window[1:], margin, words.shape[1:]
        )
    inside = np.ascontiguousarray(words[window])
    before = margin - window[1].start
    contour = _contour(inside, max(0, before), WORD_PX * before + mask.shape[1] - 1)
    return Outlined(
        window, inside, contour, dilated(contour, _disk(radius_px)), count(inside), count(contour)
    )


def shared(first: Outlined, second: Outlined) -> Shared:
    """Return what two masks in frames of one size have in common; the same is near for both.

    >>> masks = np.zeros((2, 3, 9), bool)
    >>> masks[0, 1, 3:5] = masks[1, 1, 4:8] = True
    >>> shared(*(outlined(mask, 2) for mask in masks))
    Shared(area=1, first=6, second=8)
    """
    both = intersect_windows(first.window, second.window)
    if is_empty(both):
        return Shared(0, 0, 0)
    here = within_window(both, first.window)
    there = within_window(both, second.window)
    return Shared(
        count(first.mask[here] & second.mask[there]),
        count(first.contour[here] & second.near[there]),
        count(first.near[here] & second.contour[there]),
    )


def _contour(mask: Words, before: int, last: int) -> Words:
    """Return the contour, for a frame that begins behind so many words and ends with pixel `last` of a row."""
    east = moved(mask.ravel(), -1).reshape(mask.shape)
    word, bit = divmod(last, WORD_PX)
    if word < mask.shape[1]:
        # What lies beyond the frame does not differ from its last column, nor, below, from its last row.
        east[:, word] |= mask[:, word] & (np.uint64(1) << np.uint64(bit))
    contour = mask ^ east
    contour[:-1] |= mask[:-1] ^ mask[1:]
    contour[:-1] |= mask[:-1] ^ east[1:]
    contour[:, :before] = 0
    return contour


@cache
def _disk(radius_px: int) -> Element:
    return element_of(disk(radius_px))
