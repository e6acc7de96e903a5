"""Run lengths of Label Studio's brush, against its own encoder and a slow decoder."""

from __future__ import annotations

import numpy as np
import pytest

from segarena.datasets.annotations.brush_rle import decode_brush, pack_brush
from segarena.errors import InvalidMask

# Written by `encode_rle` of label-studio-converter 0.0.59.
SHAPE = (7, 11)
RECTANGLE = [
    *(0, 0, 1, 52, 57, 27, 254, 39, 0, 143, 255, 27, 128, 97, 127, 252, 38, 1, 31, 252, 96, 23, 255),
    *(240, 152, 6, 23, 255, 194, 96, 24, 95, 255, 25, 128, 0),
]  # fmt: skip
COLOURS = [
    *(0, 0, 0, 80, 57, 27, 248, 25, 224, 10, 128, 90, 6, 96, 5, 192, 102, 129, 188, 1, 112, 1, 64, 12, 0, 170, 0),
    *(96, 19, 224, 61, 0, 134, 5, 248, 22, 32, 94, 0, 16, 0, 0, 14, 96, 50, 1, 198, 6, 0, 13, 96, 55, 1, 84, 2),
    *(168, 5, 128, 94, 1, 130, 0, 0, 25, 32, 36, 0, 162, 7, 128, 20, 192, 89, 1, 188, 0, 0, 30, 0, 0, 0, 38, 0, 0),
    *(30, 32, 38, 0, 70, 0, 0, 1, 96, 114, 1, 82, 2, 0, 7, 192, 60, 0, 96, 0, 0, 15, 32, 3, 128, 130, 4, 184, 16),
    *(160, 47, 128, 128, 0, 0, 19, 96, 84, 129, 10, 7, 16, 29, 160, 26, 129, 54, 0, 0, 7, 224, 38, 0, 248, 7, 192),
    *(9, 64, 92, 1, 78, 0, 0),
]  # fmt: skip
OPAQUE = [[1, 1, 1, 1, 0], [1, 1, 0, 1, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


def rectangle():
    """Return the mask that `RECTANGLE` encodes."""
    mask = np.zeros(SHAPE, dtype=bool)
    mask[2:6, 3:9] = True
    mask[3, 4] = False
    mask[0, 10] = True
    return mask


def slow_decode(rle, shape):
    """Decode bit by bit, as in the description of the format."""
    bits = "".join(f"{value:08b}" for value in rle)
    position = 0

    def read(count):
        nonlocal position
        position += count
        return int(bits[position - count : position], 2)

    count = read(32)
    word = read(5) + 1
    counters = [read(4) + 1 for _ in range(4)]
    values = []
    while len(values) < count:
        is_equal = read(1)
        length = read(counters[read(2)]) + 1
        if is_equal:
            values += [read(word)] * length
        else:
            values += [read(word) for _ in range(length)]
    return np.array(values[:count]).reshape(*shape, 4)[:, :, 3] > 0


def encode(values, word, counters, rng):
    """Encode values in runs of random kind and length, with counters of these sizes."""
    bits = f"{len(values):032b}{word - 1:05b}" + "".join(f"{size - 1:04b}" for size in counters)
    done = 0
    while done < len(values):
        equal = 1
        while done + equal < len(values) and values[done + equal] == values[done]:
            equal += 1
        index = int(rng.integers(4))
        is_equal = bool(rng.integers(2))
        length = min(2 ** counters[index], len(values) - done, equal if is_equal else 10**9)
        length = int(rng.integers(1, length + 1))
        bits += f"{int(is_equal)}{index:02b}{length - 1:0{counters[index]}b}"
        words = values[done : done + (1 if is_equal else length)]
        bits += "".join(f"{value:0{word}b}" for value in words)
        done += length
    bits += "0" * (-len(bits) % 8)
    return [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]


def test_masks_of_the_published_encoder_are_read():
    np.testing.assert_array_equal(decode_brush(pack_brush(RECTANGLE), SHAPE), rectangle())
    np.testing.assert_array_equal(decode_brush(pack_brush(COLOURS), (4, 5)), np.array(OPAQUE) > 0)


@pytest.mark.parametrize("word", [1, 8, 11])
def test_random_streams_agree_with_a_slow_decoder(word, rng):
    for _ in range(20):
        shape = tuple(rng.integers(1, 9, 2).tolist())
        values = rng.integers(0, 2**word, shape[0] * shape[1] * 4) * (rng.random() > 0.3)
        counters = rng.integers(1, 17, 4).tolist()
        rle = encode(values.tolist(), word, counters, rng)
        np.testing.assert_array_equal(decode_brush(pack_brush(rle), shape), slow_decode(rle, shape))


@pytest.mark.parametrize("rle", ["abc", [1, 256], [1, -1], [1.0], [True], None, {"a": 1}])
def test_what_is_not_a_list_of_bytes_is_refused(rle):
    with pytest.raises(InvalidMask, match="expected a list of bytes"):
        pack_brush(rle)


def test_a_stream_of_another_image_is_refused_before_it_is_decoded():
    with pytest.raises(InvalidMask, match="expected 320 values for 10 x 8 pixels, got 308"):
        decode_brush(pack_brush(RECTANGLE), (8, 10))
    huge = pack_brush([255, 255, 255, 255, *RECTANGLE[4:]])
    with pytest.raises(InvalidMask, match="got 4294967295"):
        decode_brush(huge, SHAPE)


@pytest.mark.parametrize("length", [0, 3, 8, 20])
def test_a_stream_that_ends_early_is_refused(length):
    with pytest.raises(InvalidMask, match="got the end"):
        decode_brush(pack_brush(RECTANGLE[:length]), SHAPE)
