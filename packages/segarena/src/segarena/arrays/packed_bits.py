"""Bit-packed masks, 64 pixels in a word: shift, dilate and count whole rows at once.

Pixel 64 i + k of a row is bit k of word i, after the margin. Each row begins and ends with a margin of empty words, so
that all rows can be shifted as one line: bits shifted out of a row fall into the margins, which must be wide enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

Words: TypeAlias = NDArray[np.uint64]
"""(H, n); as one line, (H * n,)."""

WORD_PX = 64

_Span: TypeAlias = tuple[int, int]


def pack_mask(mask: Mask, margin: int = 1) -> Words:
    """Return the words of `mask`, (H, W), with `margin` empty words at both ends of each row.

    >>> pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)).tolist()
    [[0, 3, 0], [0, 6, 0]]
    """
    height, width = mask.shape
    packed = np.packbits(mask, axis=1, bitorder="little")
    words = np.zeros((height, words_needed(width) + 2 * margin), dtype="<u8")
    words.view(np.uint8)[:, 8 * margin :][:, : packed.shape[1]] = packed
    return words


def unpack_mask(words: Words, width: int, margin: int = 1) -> Mask:
    """Return the mask (H, `width`) of packed words, without their margins.

    >>> unpack_mask(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)), 3).astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    octets = np.ascontiguousarray(words[:, margin:], dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").view(np.bool_)


def words_needed(pixels: int) -> int:
    """Return the number of words needed for this many pixels.

    >>> words_needed(64), words_needed(65)
    (1, 2)
    """
    return -(-pixels // WORD_PX)


def count_bits(words: Words) -> int:
    """Count the set bits.

    >>> count_bits(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)))
    4
    """
    if words.size:
        return int(cv2.norm(np.ascontiguousarray(words).view(np.uint8), cv2.NORM_HAMMING))
    return 0


def shift_pixels(line: Words, columns: int) -> Words:
    """Shift all rows, given as one line, by `columns` pixels to the right (negative: to the left); at most 63.

    >>> shift_pixels(pack_mask(np.array([[1, 0, 0, 1]], bool)).ravel(), 1).tolist()
    [0, 18, 0]
    """
    if columns >= 0:
        shifted = line << np.uint64(columns)
        if columns:
            shifted[1:] |= line[:-1] >> np.uint64(WORD_PX - columns)
    else:
        shifted = line >> np.uint64(-columns)
        shifted[:-1] |= line[1:] << np.uint64(WORD_PX + columns)
    return shifted


def dilate(words: Words, element: Element) -> Words:
    """Dilate by a structuring element; margins must be at least as wide as the element's reach.

    >>> edge = np.zeros((3, 7), bool)
    >>> edge[1, 3] = True
    >>> unpack_mask(dilate(pack_mask(edge), pack_element(np.ones((1, 3)))), 7).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 0, 0]])
    """
    dilated = np.zeros_like(words)
    left, right = element[0].span
    middle = min(max(0, left), right)
    line = shift_pixels(words.ravel(), -middle)
    span = (middle, middle)
    # Rows come shortest first, so that each one widens the dilation of the row before.
    for row, wanted in element:
        while span != wanted:
            line, span = _widened(line, span, wanted)
        shifted = line.reshape(words.shape)
        if row < 0:
            dilated[-row:] |= shifted[:row]
        else:
            dilated[: max(0, len(dilated) - row)] |= shifted[row:]
    return dilated


def _widened(line: Words, span: _Span, wanted: _Span) -> tuple[Words, _Span]:
    """Widen a dilation along rows from the columns of `span` towards those of `wanted`.

    One call widens by at most 63 pixels, and by no more than `span` is long: its copies must overlap.
    """
    most = min(span[1] - span[0] + 1, WORD_PX - 1)
    left = min(span[0] - wanted[0], most)
    right = min(wanted[1] - span[1], most)
    wide = line | shift_pixels(line, left) if left else line
    if right:
        wide = wide | shift_pixels(line, -right)
    return wide, (span[0] - left, span[1] + right)


class ElementRow(NamedTuple):
    """A row of a structuring element: its first and last column; row and columns count from the middle."""

    row: int
    span: _Span


Element: TypeAlias = tuple[ElementRow, ...]
"""A disk, or another shape without gaps in its rows whose longer rows contain the shorter ones; shortest row first."""


def pack_element(disk: NDArray[Any]) -> Element:
    """Convert a structuring element that is not empty for `dilate`; its middle is at n // 2, as in OpenCV.

    >>> pack_element(np.array([[0, 1, 0], [1, 1, 1]]))
    (ElementRow(row=-1, span=(0, 0)), ElementRow(row=0, span=(-1, 1)))
    """
    top = disk.shape[0] // 2
    side = disk.shape[1] // 2
    is_on = disk != 0
    firsts = is_on.argmax(axis=1) - side
    lasts = disk.shape[1] - 1 - is_on[:, ::-1].argmax(axis=1) - side
    rows: list[ElementRow] = []
    for row in np.flatnonzero(is_on.any(axis=1)).tolist():
        span = (int(firsts[row]), int(lasts[row]))
        rows.append(ElementRow(row - top, span))
    return tuple(sorted(rows, key=lambda row: row.span[1] - row.span[0]))
