"""Masks of 64 pixels in a word: whole rows are moved, joined and counted at once.

Pixel 64 i + k of a row is bit k of its word i, margins apart: rows begin and end with empty words, so that all of them
make one line, and what is moved out of a row comes to lie in the margins. They must be as wide as that.
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
    """Return the mask (H, `width`) that was packed; what lies in the margins is left out.

    >>> unpack_mask(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)), 3).astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    octets = np.ascontiguousarray(words[:, margin:], dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little").view(np.bool_)


def words_needed(pixels: int) -> int:
    """Return how many words hold so many pixels.

    >>> words_needed(64), words_needed(65)
    (1, 2)
    """
    return -(-pixels // WORD_PX)


def count_bits(words: Words) -> int:
    """Return how many bits are set.

    >>> count_bits(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)))
    4
    """
    if words.size:
        return int(cv2.norm(np.ascontiguousarray(words).view(np.uint8), cv2.NORM_HAMMING))
    return 0


def shift_pixels(line: Words, columns: int) -> Words:
    """Return all rows as one line, every pixel `columns` to the right, or to the left if negative; at most 63.

    >>> shift_pixels(pack_mask(np.array([[1, 0, 0, 1]], bool)).ravel(), 1).tolist()
    [0, 18, 0]
    """
    if columns >= 0:
        there = line << np.uint64(columns)
        if columns:
            there[1:] |= line[:-1] >> np.uint64(WORD_PX - columns)
    else:
        there = line >> np.uint64(-columns)
        there[:-1] |= line[1:] << np.uint64(WORD_PX + columns)
    return there


def dilate(words: Words, element: Element) -> Words:
    """Return the pixels around which `element` holds a set one; margins must be as wide as it reaches.

    >>> edge = np.zeros((3, 7), bool)
    >>> edge[1, 3] = True
    >>> unpack_mask(dilate(pack_mask(edge), pack_element(np.ones((1, 3)))), 7).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 0, 0]])
    """
    found = np.zeros_like(words)
    left, right = element[0].span
    middle = min(max(0, left), right)
    line = shift_pixels(words.ravel(), -middle)
    span = (middle, middle)
    for row, wanted in element:
        while span != wanted:
            line, span = _widened(line, span, wanted)
        there = line.reshape(words.shape)
        if row < 0:
            found[-row:] |= there[:row]
        else:
            found[: max(0, len(found) - row)] |= there[row:]
    return found


def _widened(line: Words, span: _Span, wanted: _Span) -> tuple[Words, _Span]:
    """Return the pixels that have a set one within `span`, a run of columns, for one that is wider."""
    most = min(span[1] - span[0] + 1, WORD_PX - 1)
    left = min(span[0] - wanted[0], most)
    right = min(wanted[1] - span[1], most)
    wide = line | shift_pixels(line, left) if left else line
    if right:
        wide = wide | shift_pixels(line, -right)
    return wide, (span[0] - left, span[1] + right)


class ElementRow(NamedTuple):
    """What is on in a row of an element: first and last column; row and columns are counted from its middle."""

    row: int
    span: _Span


Element: TypeAlias = tuple[ElementRow, ...]
"""A disk, or whatever else has no gaps in its rows and longer rows that hold the shorter ones; shortest row first."""


def pack_element(disk: NDArray[Any]) -> Element:
    """Return a disk with something on as `dilated` takes it; its middle is at n // 2 along each axis, as in OpenCV.

    >>> pack_element(np.array([[0, 1, 0], [1, 1, 1]]))
    (ElementRow(row=-1, span=(0, 0)), ElementRow(row=0, span=(-1, 1)))
    """
    top, side = (size // 2 for size in disk.shape)
    on = disk != 0
    firsts = on.argmax(axis=1) - side
    lasts = disk.shape[1] - 1 - on[:, ::-1].argmax(axis=1) - side
    spans = zip(on.any(axis=1).tolist(), firsts.tolist(), lasts.tolist(), strict=True)
    rows = [
        ElementRow(row - top, (first, last))
        for row, (is_on, first, last) in enumerate(spans)
        if is_on
    ]
    return tuple(sorted(rows, key=lambda row: row.span[1] - row.span[0]))
