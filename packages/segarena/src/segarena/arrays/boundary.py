"""Mask boundaries: the inner band that Boundary IoU compares, computed on 64 pixels per word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.packed_bits import WORD_PX, Words, shift_pixels, words_needed
from segarena.samples import Mask, Shape

_ALL_PIXELS = np.uint64(2**64 - 1)
# Up to this many pixels and this width, the fixed costs of the shifts exceed the time of OpenCV.
_SMALL_PX = 1 << 14
_NARROW_PX = 8


def band_width_px(shape: Shape, dilation_ratio: float = 0.02) -> int:
    """Return the band width in pixels for a frame of `shape`: `dilation_ratio` times the diagonal, at least 1.

    Halves round to even, as in Python's `round` and in the published code of Boundary IoU.

    >>> band_width_px((480, 854))
    20
    >>> band_width_px((10, 10))
    1
    """
    diagonal = math.hypot(*shape)
    return max(1, round(dilation_ratio * diagonal))


def inner_band(mask: Mask, width_px: int) -> Words:
    """Return the pixels of `mask` within chessboard distance `width_px` of a pixel outside it, packed by `pack_lines`.

    This equals the mask minus its erosion by `width_px` steps with a 3 x 3 square (3 x 3 x 3 in a
    volume). Pixels outside the array count as outside the mask, so a crop that contains the whole
    mask gives the same band.

    >>> for word in inner_band(np.ones((5, 5), bool), 1).ravel().tolist():
    ...     print(f"{word:05b}")
    11111
    10001
    10001
    10001
    11111

    Args:
        mask: bool, any number of axes.
        width_px: 1 or more.
    """
    if not mask.size:
        return pack_lines(mask)
    if is_small_image(mask.shape, width_px):
        return pack_lines(unpacked_band(mask, width_px))
    words = pack_lines(mask)
    side = 2 * width_px + 1
    if min(mask.shape) < side:
        return words
    line = words.reshape(-1)
    steps_px: list[int] = []
    for axis in range(mask.ndim - 1):
        words_per_step = math.prod(words.shape[axis + 1 :])
        steps_px.append(words_per_step * WORD_PX)
    steps_px.append(1)
    # The added word takes the bits that the shift moves out of the last one.
    holes = np.empty(len(line) + 1, dtype=line.dtype)
    np.invert(line, out=holes[:-1])
    holes[-1] = _ALL_PIXELS
    has_hole = _squares_with_holes(holes, side, steps_px)
    # `has_hole` is indexed by the first pixel of each square; the square's centre lies `width_px`
    # steps along each axis. Squares whose centre comes before the first one or after the last one
    # cross the border, which counts as a hole.
    first_word, rest_px = divmod(width_px * sum(steps_px), WORD_PX)
    has_hole = shift_pixels(has_hole, rest_px)
    if rest_px:
        has_hole[0] |= _ALL_PIXELS >> np.uint64(WORD_PX - rest_px)
    centres = line[first_word : first_word + len(has_hole)]
    centres &= has_hole[: len(centres)]
    return words


def is_small_image(shape: Shape, width_px: int) -> bool:
    """Return whether `unpacked_band` takes less time than `inner_band` on an image.

    >>> is_small_image((64, 64), 2), is_small_image((480, 640), 16), is_small_image((8, 8, 8), 1)
    (True, False, False)
    """
    return len(shape) == 2 and 0 < math.prod(shape) <= _SMALL_PX and width_px <= _NARROW_PX


def unpacked_band(mask: Mask, width_px: int) -> Mask:
    """Return the band of `inner_band` in an image as a mask.

    >>> unpacked_band(np.ones((3, 4), bool), 1).astype(int)
    array([[1, 1, 1, 1],
           [1, 0, 0, 1],
           [1, 1, 1, 1]])
    """
    pixels = mask.view(np.uint8)
    square = _square(2 * width_px + 1)
    eroded = cv2.erode(pixels, square, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    return np.greater(pixels, eroded)


@cache
def _square(side: int) -> NDArray[np.uint8]:
    return np.ones((side, side), dtype=np.uint8)


def pack_lines(mask: Mask) -> Words:
    """Pack the last axis of `mask` into words; pixel 64 i + k of a line is bit k of word i.

    Each line ends with at least one False pixel, and each plane of a volume with a line of them.
    The array can therefore be shifted as one flat line of bits: every square that crosses the end
    of a line contains a False pixel.

    >>> pack_lines(np.array([[1, 1, 0], [0, 1, 1]], bool)).tolist()
    [[3], [6]]
    """
    packed = np.packbits(mask, axis=-1, bitorder="little")
    shape = [size + 1 for size in mask.shape]
    shape[0] = mask.shape[0]
    shape[-1] = words_needed(mask.shape[-1] + 1)
    # Little-endian on every machine, so that the bytes of a word are in pixel order.
    words = np.zeros(shape, dtype="<u8")
    octets = words.view(np.uint8)
    octets[tuple(map(slice, packed.shape))] = packed
    return words


def _squares_with_holes(
    holes: Words,
    side: int,
    steps_px: Sequence[int],
) -> Words:
    """Mark the first pixel of each square of `side` pixels that contains a hole.

    Two overlapping runs form one longer run, so the number of passes grows with the logarithm of
    `side`.

    Args:
        holes: the pixels outside the mask as one line, in the order of `pack_lines`; changed in place.
        side: length of the square's side.
        steps_px: distances on the line between neighbours along each axis; the last one is 1.
    """
    for step_px in steps_px[:-1]:
        for added in _doublings(side):
            first_word = added * step_px // WORD_PX
            holes = holes[:-first_word] | holes[first_word:]
    if side > WORD_PX:
        for added in _doublings(side):
            later = _from_pixel(holes, added)
            holes = holes[: len(later)] | later
        return holes
    # A run that starts in a word ends in the same or the next one. It reaches a hole of the next word if it reaches the
    # first one, which is the lowest bit: all later runs of the word reach it as well.
    following = holes[1:]
    reaching = np.negative((following & np.negative(following)) << np.uint64(WORD_PX + 1 - side))
    shifted = np.empty_like(holes)
    for added in _doublings(side):
        np.right_shift(holes, np.uint64(added), out=shifted)
        holes |= shifted
    holes[:-1] |= reaching
    return holes


@cache
def _doublings(side: int) -> tuple[int, ...]:
    """Return by how much runs of pixels grow, from 1 to `side`; each time at most to twice their length."""
    steps: list[int] = []
    length = 1
    while length < side:
        steps.append(min(length, side - length))
        length += steps[-1]
    return tuple(steps)


def _from_pixel(line: Words, first_px: int) -> Words:
    """Return the line without its first `first_px` pixels."""
    words, rest_px = divmod(first_px, WORD_PX)
    if not rest_px:
        return line[words:]
    return shift_pixels(line[words:], -rest_px)
