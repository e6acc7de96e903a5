"""Run lengths of Label Studio's brush: a stream of bits that packs runs of equal and of different values.

Header: number of values (32 bits), word size - 1 (5 bits), four lengths of run counters - 1 (4 bits
each). Runs: one bit for equal values, two bits for the length of the counter, the number of values - 1,
then one word (equal) or one word per value. The values are the red, green, blue and opacity of each
pixel, row by row; the mask is where the opacity is above 0. Source: the format `rle-pack` of
thi.ng/umbrella, which Label Studio uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.samples import Mask

_CHANNELS = 4
_OPACITY = 3
_BYTE_VALUES = 256


def pack_brush(rle: Any) -> bytes:
    """Return the bytes of a stream that is stored as a list of integers from 0 to 255.

    Raises:
        InvalidMask: the value is not such a list.
    """
    is_list = isinstance(rle, list) and all(type(value) is int for value in rle)
    if not is_list or not all(0 <= value < _BYTE_VALUES for value in rle):
        raise InvalidMask("brush: expected a list of bytes, 0 to 255; got something else")
    return bytes(rle)


def decode_brush(rle: bytes, shape: tuple[int, int]) -> Mask:
    """Return a brush mask, bool (H, W).

    Args:
        rle: the bytes of the stream.
        shape: (H, W) of the image; a header with another number of values is rejected before memory is allocated.

    Raises:
        InvalidMask: the stream belongs to an image of another size, or ends early.
    """
    stream = _BitStream(rle)
    count = stream.read(32)
    expected = shape[0] * shape[1] * _CHANNELS
    if count != expected:
        raise InvalidMask(
            f"brush: expected {expected} values for {shape[1]} x {shape[0]} pixels, got {count}; export it again"
        )
    word_bits = stream.read(5) + 1
    counter_bits = [stream.read(4) + 1 for _ in range(4)]
    values = np.zeros(count, dtype=np.bool_)
    done = 0
    while done < count:
        is_equal = stream.read(1)
        length = stream.read(counter_bits[stream.read(2)]) + 1
        stop = min(done + length, count)
        if is_equal:
            values[done:stop] = stream.read(word_bits) > 0
        else:
            values[done:stop] = stream.read_words(stop - done, word_bits)
        done = stop
    return values.reshape(shape[0], shape[1], _CHANNELS)[:, :, _OPACITY]


class _BitStream:
    """Reader of unsigned integers of any number of bits, most significant bit first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._bits = len(data) * 8
        self._position = 0

    def read(self, bits: int) -> int:
        """Return the next integer of `bits` bits."""
        start = self._advance(bits)
        first = start // 8
        stop = (start + bits + 7) // 8
        unused = stop * 8 - start - bits
        integer = int.from_bytes(self._data[first:stop], "big")
        return (integer >> unused) & ((1 << bits) - 1)

    def read_words(self, count: int, bits: int) -> NDArray[np.bool_]:
        """Return for each of the next `count` integers of `bits` bits whether it is above 0."""
        start = self._advance(count * bits)
        first = start // 8
        stop = (start + count * bits + 7) // 8
        unpacked = np.unpackbits(np.frombuffer(self._data[first:stop], dtype=np.uint8))
        offset = start - first * 8
        words = unpacked[offset : offset + count * bits].reshape(count, bits)
        return np.asarray(words.any(axis=1))

    def _advance(self, bits: int) -> int:
        start = self._position
        self._position += bits
        if self._position > self._bits:
            raise InvalidMask("brush: expected more run lengths, got the end; export it again")
        return start
