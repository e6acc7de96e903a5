"""Mask contours and the pixels near them, for the contour accuracy (F) of video benchmarks."""

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
    """Return the contour tolerance in pixels, rounded up: `share` of the diagonal, or `share` itself if at least 1.

    >>> contour_radius_px((480, 854))
    8

    Source: DAVIS 2017, bound_th.
    """
    if share >= 1:
        return math.ceil(share)
    diagonal = math.hypot(*shape)
    return math.ceil(share * diagonal)


@dataclass(frozen=True, slots=True)
class PackedContour:
    """A mask and its contour, bit-packed (see `segarena.arrays.packed_bits`) and cropped to one window.

    Attributes:
        window: slice of rows, and slice of 64-pixel words in a row.
        mask: packed mask.
        contour: packed contour, as `segarena.arrays.label_edges` defines it.
        near: packed pixels within the radius of the contour.
        area: number of pixels in the mask.
        length: number of pixels in the contour.
    """

    window: Window
    mask: Words
    contour: Words
    near: Words
    area: int
    length: int


class ContourOverlap(NamedTuple):
    """Number of pixels in both masks (`area`), and of pixels of each contour that lie near the other contour."""

    area: int
    first: int
    second: int


def pack_contour(mask: Mask, radius_px: int) -> PackedContour:
    """Pack `mask`, (H, W), with its contour and the pixels within Euclidean distance `radius_px` of the contour.

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
        # Leave room for the pixels near the contour, clipped at the frame.
        rows = grow_window(window[:1], reach, words.shape[:1])
        columns = grow_window(window[1:], margin, words.shape[1:])
        window = rows + columns
    crop = np.ascontiguousarray(words[window])
    words_before = margin - window[1].start
    last_pixel = WORD_PX * words_before + mask.shape[1] - 1
    contour = _contour(crop, max(0, words_before), last_pixel)
    near = dilate(contour, _disk(radius_px))
    area = count_bits(crop)
    length = count_bits(contour)
    return PackedContour(window, crop, contour, near, area, length)


def overlap_contours(first: PackedContour, second: PackedContour) -> ContourOverlap:
    """Count the overlap of two masks and of their contours, which must have equal frames and equal radii.

    >>> masks = np.zeros((2, 3, 9), bool)
    >>> masks[0, 1, 3:5] = masks[1, 1, 4:8] = True
    >>> overlap_contours(*(pack_contour(mask, 2) for mask in masks))
    ContourOverlap(area=1, first=6, second=8)
    """
    both = intersect_windows(first.window, second.window)
    if is_empty(both):
        return ContourOverlap(0, 0, 0)
    in_first = within_window(both, first.window)
    in_second = within_window(both, second.window)
    in_both = first.mask[in_first] & second.mask[in_second]
    first_near_second = first.contour[in_first] & second.near[in_second]
    second_near_first = first.near[in_first] & second.contour[in_second]
    return ContourOverlap(
        count_bits(in_both), count_bits(first_near_second), count_bits(second_near_first)
    )


def _contour(
    mask: Words,
    before: int,
    last: int,
) -> Words:
    """Return the contour in a frame that in each row extends from word `before` to pixel `last`."""
    east = shift_pixels(mask.ravel(), -1).reshape(mask.shape)
    word, bit = divmod(last, WORD_PX)
    if word < mask.shape[1]:
        # Repeat the last column and the last row beyond the frame, so that no contour appears
        # there.
        last_column = np.uint64(1) << np.uint64(bit)
        east[:, word] |= mask[:, word] & last_column
    # A pixel is on the contour if its eastern, southern or south-eastern neighbour differs: see `label_edges`.
    contour = mask ^ east
    contour[:-1] |= mask[:-1] ^ mask[1:]
    contour[:-1] |= mask[:-1] ^ east[1:]
    contour[:, :before] = 0
    return contour


# All frames of a video use the same radius.
@cache
def _disk(radius_px: int) -> Element:
    return pack_element(disk(radius_px))
