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
    count_bits,
    dilate,
    pack_element,
    pack_mask,
    shift_pixels,
    words_needed,
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
class PackedContour:
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


class ContourOverlap(NamedTuple):
    """Pixels in two masks; of the first one's contour near the second's; of the second one's near the first's."""

    area: int
    first: int
    second: int


def pack_contour(mask: Mask, radius_px: int) -> PackedContour:
    """Return `mask`, (H, W), with its contour and all that is at most `radius_px` from it, by Euclidean distance.

    >>> mask = np.zeros((9, 9), bool)
    >>> mask[4, 4] = True
    >>> found = pack_contour(mask, 1)
    >>> found.area, found.length, count_bits(found.near)
    (1, 4, 12)
    """
    reach = radius_px + 1  # the contour begins one pixel above the mask and to its left
    margin = words_needed(reach)
    words = pack_mask(mask, margin)
    window = bounding_window(words != 0)
    if not is_empty(window):
        # There is room for what is near, or the frame ends.
        window = grow_window(window[:1], reach, words.shape[:1]) + grow_window(
            window[1:], margin, words.shape[1:]
        )
    inside = np.ascontiguousarray(words[window])
    before = margin - window[1].start
    contour = _contour(inside, max(0, before), WORD_PX * before + mask.shape[1] - 1)
    return PackedContour(
        window,
        inside,
        contour,
        dilate(contour, _disk(radius_px)),
        count_bits(inside),
        count_bits(contour),
    )


def overlap_contours(first: PackedContour, second: PackedContour) -> ContourOverlap:
    """Return what two masks in frames of one size have in common; the same is near for both.

    >>> masks = np.zeros((2, 3, 9), bool)
    >>> masks[0, 1, 3:5] = masks[1, 1, 4:8] = True
    >>> overlap_contours(*(pack_contour(mask, 2) for mask in masks))
    Shared(area=1, first=6, second=8)
    """
    both = intersect_windows(first.window, second.window)
    if is_empty(both):
        return ContourOverlap(0, 0, 0)
    here = within_window(both, first.window)
    there = within_window(both, second.window)
    return ContourOverlap(
        count_bits(first.mask[here] & second.mask[there]),
        count_bits(first.contour[here] & second.near[there]),
        count_bits(first.near[here] & second.contour[there]),
    )


def _contour(mask: Words, before: int, last: int) -> Words:
    """Return the contour, for a frame that begins behind so many words and ends with pixel `last` of a row."""
    east = shift_pixels(mask.ravel(), -1).reshape(mask.shape)
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
    return pack_element(disk(radius_px))
