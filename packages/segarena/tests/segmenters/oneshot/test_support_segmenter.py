from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.comparison import Memory
from segarena.dialogue import Dialogue
from segarena.errors import InvalidMask, InvalidPrompt, SegmenterError
from segarena.prompts import Click
from segarena.samples import ImageSample, Support
from segarena.segmenters.oneshot.support_segmenter import (
    cell_coverage,
    encoding_of,
    shows_object,
    supports_of,
)


def support(mask, sample_id="s"):
    mask = np.asarray(mask)
    return Support(ImageSample(id=sample_id, image=np.zeros((*mask.shape[:2], 3), np.uint8)), mask)


def test_supports_of_all_rounds_come_in_the_order_given():
    first, second = support(np.ones((2, 3), bool)), support(np.ones((4, 5), bool))
    found = supports_of(Dialogue().ask((first,)).ask((second,)))
    assert [each.sample for each in found] == [first.sample, second.sample]
    assert found[0].mask is first.mask


def test_masks_of_zeros_and_ones_become_bool():
    (found,) = supports_of(Dialogue().ask((support(np.eye(3, dtype=np.int64)),)))
    assert found.mask.dtype == bool
    assert np.array_equal(found.mask, np.eye(3))


def test_a_dialogue_without_a_support_is_refused():
    with pytest.raises(SegmenterError, match="at least one support example"):
        supports_of(Dialogue().ask(()))
    with pytest.raises(SegmenterError, match="expected prompts of kind support, got 'click'"):
        supports_of(Dialogue().ask((Click((0, 0)),)))


def test_a_support_may_show_nothing():
    empty, full = support(np.zeros((3, 3), bool)), support(np.ones((3, 3), bool))
    assert [each.mask.any() for each in supports_of(Dialogue().ask((empty, full)))] == [False, True]
    assert not shows_object([empty, empty])
    assert shows_object([empty, full])


def test_a_support_mask_that_is_none_is_refused():
    with pytest.raises(InvalidMask, match="only 0 and 1"):
        supports_of(Dialogue().ask((support(np.full((3, 3), 255, np.uint8)),)))
    sample = ImageSample(id="s", image=np.zeros((4, 4, 3), np.uint8))
    with pytest.raises(InvalidPrompt, match="shape"):
        supports_of(Dialogue().ask((Support(sample, np.ones((3, 3), bool)),)))


def test_what_was_encoded_is_taken_and_otherwise_made_once():
    calls = []

    def encode(sample):
        calls.append(sample.id)
        return len(calls)

    bare, memory = support(np.ones((2, 2), bool)), Memory()
    assert encoding_of(Support(bare.sample, bare.mask, encoded="given"), encode, memory) == "given"
    assert [encoding_of(bare, encode, memory) for _ in range(3)] == [1, 1, 1]
    assert calls == ["s"]


def test_shares_of_cells_that_pixels_fill_are_means():
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    assert np.array_equal(cell_coverage(mask, (1, 2)), [[0.75, 0.0]])
    assert np.array_equal(cell_coverage(mask, (2, 4)), mask)


def test_a_pixel_in_two_cells_counts_in_both_with_its_part():
    assert np.allclose(cell_coverage(np.array([[0, 1, 0]], bool), (1, 2)), [[1 / 3, 1 / 3]])
    assert np.array_equal(cell_coverage(np.array([[1]], bool), (3, 2)), np.ones((3, 2)))


def test_padding_is_covered_by_nothing():
    shares = cell_coverage(np.ones((3, 8), bool), (4, 4), (1.5, 4.0))
    assert np.allclose(shares, np.array([1.0, 0.5, 0.0, 0.0])[:, None].repeat(4, 1))


@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
)
def test_covered_area_is_the_area_of_the_mask(height, width, rows, columns, seed):
    mask = np.random.default_rng(seed).random((height, width)) < 0.4
    shares = cell_coverage(mask, (rows, columns))
    assert shares.shape == (rows, columns)
    assert np.isclose(shares.mean(), mask.mean(), atol=1e-5)
    fine = mask.repeat(rows, 0).repeat(
        columns, 1
    )  # in which every cell is a whole number of pixels
    slow = fine.reshape(rows, height, columns, width).mean((1, 3))
    assert np.allclose(shares, slow, atol=1e-5)
