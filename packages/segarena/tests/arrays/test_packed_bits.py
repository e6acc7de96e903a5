from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from segarena.arrays.packed_bits import (
    count_bits,
    dilate,
    pack_element,
    pack_mask,
    shift_pixels,
    unpack_mask,
    words_needed,
)
from segarena.arrays.structuring_elements import disk

masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=12))
wide = arrays(
    np.bool_,
    st.tuples(st.integers(1, 4), st.integers(60, 200)),
    elements=st.integers(0, 30).map(lambda n: not n),
)


@given(masks | wide, st.integers(0, 2))
def test_what_is_packed_can_be_unpacked_and_counted(mask, margin):
    words = pack_mask(mask, margin)
    assert words.shape == (len(mask), words_needed(mask.shape[1]) + 2 * margin)
    assert np.array_equal(unpack_mask(words, mask.shape[1], margin), mask)
    assert count_bits(words) == mask.sum()


@given(wide, st.integers(-63, 63))
def test_rows_move_sideways_and_do_not_meet(mask, columns):
    expected = np.zeros_like(mask)
    if columns < 0:
        expected[:, :columns] = mask[:, -columns:]
    else:
        expected[:, columns:] = mask[:, : mask.shape[1] - columns]
    words = pack_mask(mask)
    assert np.array_equal(
        unpack_mask(shift_pixels(words.ravel(), columns).reshape(words.shape), mask.shape[1]),
        expected,
    )


def held_somewhere(mask, element):
    """The definition: a pixel is set if any pixel under the element, centred on it, is set."""
    around = np.argwhere(element) - np.array(element.shape) // 2
    found = np.zeros_like(mask)
    for place in np.ndindex(mask.shape):
        under = place + around
        under = under[((under >= 0) & (under < mask.shape)).all(axis=1)]
        found[place] = mask[tuple(under.T)].any()
    return found


between_pixels = np.array([[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
to_one_side = np.array([[0, 0, 0, 1], [0, 0, 1, 1]])


@given(masks | wide, st.floats(0, 14).map(disk) | st.sampled_from([between_pixels, to_one_side]))
def test_dilation_is_that_of_the_definition(mask, element):
    words = pack_mask(mask)
    assert np.array_equal(
        unpack_mask(dilate(words, pack_element(element)), mask.shape[1]),
        held_somewhere(mask, element),
    )


@pytest.mark.parametrize("radius", [63, 64, 100])
def test_disks_may_be_wider_than_a_word(radius):
    mask = np.zeros((5, 300), bool)
    mask[1, 120] = mask[4, 1] = True
    margin = words_needed(radius)
    found = unpack_mask(dilate(pack_mask(mask, margin), pack_element(disk(radius))), 300, margin)
    rows, columns = np.indices(mask.shape)
    away = np.minimum(np.hypot(rows - 1, columns - 120), np.hypot(rows - 4, columns - 1))
    assert np.array_equal(found, away <= radius)
