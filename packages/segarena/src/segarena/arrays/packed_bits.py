"""Bit-packed masks with 64 pixels per word, for shifting, dilating and counting whole rows at once.

Pixel 64 i + k of a row is bit k of word i after the margin. Each row starts and ends with a margin
of empty words, so that all rows can be shifted as one flat array: bits that leave a row fall into
the margins, which must be wide enough.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

Words: TypeAlias = NDArray[np.uint64]
"""Words of packed rows, (H, n), or flattened to (H * n,)."""

WORD_PX = 64
_WORD_BYTES = WORD_PX // 8

_Span: TypeAlias = tuple[int, int]


def pack_mask(mask: Mask, margin: int = 1) -> Words:
    """Pack `mask`, (H, W), into words, with `margin` empty words at both ends of each row.

    >>> pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)).tolist()
    [[0, 3, 0], [0, 6, 0]]
    """
    height, width = mask.shape
    packed = np.packbits(mask, axis=1, bitorder="little")
    words_in_row = words_needed(width) + 2 * margin
    # Little-endian on every machine, so that the bytes of a word are in pixel order.
    words = np.zeros((height, words_in_row), dtype="<u8")
    octets = words.view(np.uint8)
    first = _WORD_BYTES * margin
    octets[:, first : first + packed.shape[1]] = packed
    return words


def unpack_mask(
    words: Words,
    width: int,
    margin: int = 1,
) -> Mask:
    """Unpack words into the mask (H, `width`), without their margins.

    >>> unpack_mask(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)), 3).astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    inner = np.ascontiguousarray(words[:, margin:], dtype="<u8")
    octets = inner.view(np.uint8)
    pixels = np.unpackbits(octets, axis=1, count=width, bitorder="little")
    return pixels.view(np.bool_)


def words_needed(pixels: int) -> int:
    """Return the number of words for a number of pixels.

    >>> words_needed(64), words_needed(65)
    (1, 2)
    """
    return -(-pixels // WORD_PX)


def count_bits(words: Words) -> int:
    """Count the set bits of words in an array of any shape.

    >>> count_bits(pack_mask(np.array([[1, 1, 0], [0, 1, 1]], bool)))
    4
    """
    if not words.size:
        return 0
    octets = np.ascontiguousarray(words).view(np.uint8)
    # OpenCV takes at most two axes.
    return int(cv2.norm(octets.reshape(-1), cv2.NORM_HAMMING))


def shift_pixels(line: Words, columns: int) -> Words:
    """Shift all rows of a flat array by `columns` pixels to the right (negative: to the left), by at most 63.

    >>> shift_pixels(pack_mask(np.array([[1, 0, 0, 1]], bool)).ravel(), 1).tolist()
    [0, 18, 0]
    """
    distance = np.uint64(abs(columns))
    rest = np.uint64(WORD_PX - abs(columns))
    if columns > 0:
        shifted = line << distance
        shifted[1:] |= line[:-1] >> rest
    elif columns < 0:
        shifted = line >> distance
        shifted[:-1] |= line[1:] << rest
    else:
        # Shifting by the whole word size is undefined in C, so a shift by 0 must skip the
        # neighbouring words.
        shifted = line.copy()
    return shifted


def dilate(words: Words, element: Element) -> Words:
    """Dilate by a structuring element; margins must be at least as wide as the element extends.

    >>> edge = np.zeros((3, 7), bool)
    >>> edge[1, 3] = True
    >>> unpack_mask(dilate(pack_mask(edge), pack_element(np.ones((1, 3)))), 7).astype(int)
    array([[0, 0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 0, 0]])
    """
    dilated = np.zeros_like(words)
    left, right = element[0].span
    nearest_to_middle = min(max(0, left), right)
    line = shift_pixels(words.ravel(), -nearest_to_middle)
    span = (nearest_to_middle, nearest_to_middle)
    # Element rows come shortest first, so that each one only widens the dilation of the previous
    # one.
    for row, wanted in element:
        while span != wanted:
            line, span = _widened(line, span, wanted)
        shifted = line.reshape(words.shape)
        if row < 0:
            dilated[-row:] |= shifted[:row]
        else:
            stop = max(0, len(dilated) - row)
            dilated[:stop] |= shifted[row:]
    return dilated


def _widened(
    line: Words,
    span: _Span,
    wanted: _Span,
) -> tuple[Words, _Span]:
    """Widen a dilation along rows from the columns in `span` towards the columns in `wanted`.

    One call widens by at most 63 pixels, and by no more than the length of `span`, because the
    shifted copies must overlap.
    """
    first, last = span
    wanted_first, wanted_last = wanted
    most = min(last - first + 1, WORD_PX - 1)
    left = min(first - wanted_first, most)
    right = min(wanted_last - last, most)
    widened = line
    if left:
        widened = widened | shift_pixels(line, left)
    if right:
        widened = widened | shift_pixels(line, -right)
    return widened, (first - left, last + right)


class ElementRow(NamedTuple):
    """A row of a structuring element with its first and last column, all relative to the middle."""

    row: int
    span: _Span


Element: TypeAlias = tuple[ElementRow, ...]
"""Rows of a disk or another shape, shortest first. Rows have no gaps, and longer rows contain shorter ones."""


def pack_element(disk: NDArray[Any]) -> Element:
    """Convert a non-empty structuring element for `dilate`; its middle is at n // 2, as in OpenCV.

    >>> pack_element(np.array([[0, 1, 0], [1, 1, 1]]))
    (ElementRow(row=-1, span=(0, 0)), ElementRow(row=0, span=(-1, 1)))
    """
    height, width = disk.shape
    middle_row = height // 2
    middle_column = width // 2
    is_on = disk != 0
    firsts = is_on.argmax(axis=1)
    lasts = width - 1 - is_on[:, ::-1].argmax(axis=1)
    rows: list[ElementRow] = []
    for row in np.flatnonzero(is_on.any(axis=1)).tolist():
        first = int(firsts[row]) - middle_column
        last = int(lasts[row]) - middle_column
        rows.append(ElementRow(row - middle_row, (first, last)))
    return tuple(sorted(rows, key=_length))


def _length(row: ElementRow) -> int:
    first, last = row.span
    return last - first
