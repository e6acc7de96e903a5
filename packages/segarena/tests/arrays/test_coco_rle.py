import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidMask


def lengths_slowly(mask):
    counts, value = [0], False
    for pixel in mask.T.ravel().tolist():
        if pixel != value:
            counts.append(0)
            value = pixel
        counts[-1] += 1
    return counts


def string_slowly(counts):
    """Return the string by the definition of the format: five bits at a time until only the sign is left."""
    text = ""
    for index, count in enumerate(counts):
        value = count - counts[index - 2] if index > 2 else count
        while True:
            bits, value = value & 31, value >> 5
            more = value != (-1 if bits & 16 else 0)
            text += chr(48 + bits + 32 * more)
            if not more:
                break
    return text


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40)))
def test_strings_are_those_of_the_slow_reference_and_come_back(mask):
    rle = Rle.of(mask)
    assert rle.counts == string_slowly(lengths_slowly(mask))
    np.testing.assert_array_equal(rle.decode(), mask)
    assert rle.area_px == mask.sum()


@pytest.mark.parametrize("order", ["C", "F", "reversed rows", "every second column"])
def test_masks_in_any_memory_layout_have_the_same_string(order):
    whole = np.zeros((30, 44), bool)
    whole[4:20, 12:31] = True
    whole[9, 17] = False
    match order:
        case "C":
            mask = whole
        case "F":
            mask = np.asfortranarray(whole)
        case "reversed rows":
            mask = whole[::-1]
        case _:
            mask = whole[:, ::2]
    assert Rle.of(mask).counts == string_slowly(lengths_slowly(mask))
    assert (Rle.of(mask).decode() == mask).all()


@given(st.lists(st.integers(0, 1 << 45), min_size=1, max_size=30))
def test_lengths_of_any_size_come_back(counts):
    rle = Rle.of_lengths(counts, (1, sum(counts)))
    assert rle.counts == string_slowly(counts)
    assert rle.lengths.tolist() == counts


def test_known_strings():
    """Output of the COCO tools for an empty, a full and a framed mask."""
    frame = np.ones((4, 5), dtype=bool)
    frame[1:3, 1:4] = False
    known = {"d0": np.zeros((4, 5)), "0d0": np.ones((4, 5)), "052M0003": frame}
    for counts, mask in known.items():
        assert Rle.of(mask.astype(bool)) == Rle((4, 5), counts)


@pytest.mark.parametrize(
    "counts",
    ["", "d", "d0d", "c0", "\x00", "é", "zzzz", "T", "TTTTTTTTTTTTTTTTTTTTTTT0", "0O", None, 7],
)
def test_damaged_strings_are_refused(counts):
    with pytest.raises(InvalidMask, match="run lengths: expected"):
        Rle((4, 5), counts).decode()


@given(st.text(max_size=12), st.integers(1, 6), st.integers(1, 6))
def test_any_text_is_a_mask_or_refused(counts, height, width):
    with contextlib.suppress(InvalidMask):
        assert Rle((height, width), counts).decode().shape == (height, width)
