from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import binary_erosion

from segarena.arrays.boundary import band_width_px, inner_band, pack_lines
from segarena.arrays.boxes import bounding_window

masks = hnp.arrays(
    np.bool_,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=24),
    elements=st.floats(0, 1).map(lambda x: x > 0.1),
)


@st.composite
def wide_masks(draw):
    """Draw masks whose lines fill several words, up to and one beyond the end of a word.

    Some are one pixel high, others high enough for squares of more than a word.
    """
    height = draw(st.integers(1, 12) | st.sampled_from([63, 67, 131]))
    width = draw(st.sampled_from([1, 63, 64, 65, 127, 128, 129, 190]))
    mask = np.ones((height, width), dtype=bool)
    holes = draw(st.lists(st.tuples(st.integers(0, height - 1), st.integers(0, width - 1))))
    for hole in holes:
        mask[hole] = False
    return mask


def band_of(mask, width_px):
    """Return the band as a mask."""
    words = np.ascontiguousarray(inner_band(mask, width_px), dtype="<u8")
    bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    inside = tuple(slice(size) for size in mask.shape)
    band = bits[inside].astype(bool)
    assert np.count_nonzero(bits) == np.count_nonzero(band), "set bits outside the frame"
    return band


@given(masks | wide_masks(), st.integers(1, 9) | st.sampled_from([31, 32, 33, 63, 64, 65, 100]))
def test_band_is_the_mask_without_its_repeated_erosion(mask, width_px):
    eroded = binary_erosion(mask, np.ones((3, 3)), iterations=width_px, border_value=0)
    assert np.array_equal(band_of(mask, width_px), mask & ~eroded)


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=7)), st.integers(1, 4)
)
def test_band_of_a_volume(mask, width_px):
    eroded = binary_erosion(mask, np.ones((3, 3, 3)), iterations=width_px, border_value=0)
    assert np.array_equal(band_of(mask, width_px), mask & ~eroded)


@given(masks, st.integers(1, 5))
def test_band_of_a_crop_that_holds_the_mask_is_the_crop_of_the_band(mask, width_px):
    window = bounding_window(mask)
    assert np.array_equal(band_of(mask, width_px)[window], band_of(mask[window], width_px))


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=1, max_side=150)), st.integers(1, 70)
)
def test_band_of_a_line(mask, width_px):
    eroded = binary_erosion(mask, np.ones(3), iterations=width_px, border_value=0)
    assert np.array_equal(band_of(mask, width_px), mask & ~eroded)


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=1, max_dims=3, max_side=9)))
def test_lines_are_packed_with_a_false_pixel_after_each(mask):
    words = pack_lines(mask)
    bits = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")
    assert np.array_equal(bits[tuple(slice(size) for size in mask.shape)], mask)
    assert bits.sum() == mask.sum()
    assert bits.shape[-1] > mask.shape[-1]


def test_mask_itself_is_not_changed():
    mask = np.ones((9, 9), dtype=bool)
    inner_band(mask, 2)
    assert mask.all()


@pytest.mark.parametrize(
    ("shape", "width_px"),
    [
        ((480, 854), 20),
        ((1080, 1920), 44),
        ((2048, 2048), 58),
        ((3, 4), 1),
        ((75, 100), 2),
        ((105, 140), 4),
    ],
)
def test_band_width_is_a_fiftieth_of_the_diagonal_with_halves_to_even(shape, width_px):
    # (75, 100) and (105, 140) have diagonals 125 and 175: 2.5 goes to 2, 3.5 to 4.
    assert band_width_px(shape) == width_px
