from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import binary_erosion

from segarena.arrays.boundary import band_width_px, inner_band
from segarena.arrays.boxes import bounding_window

masks = hnp.arrays(
    np.bool_,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=24),
    elements=st.floats(0, 1).map(lambda x: x > 0.1),
)


@given(masks, st.integers(1, 9))
def test_band_is_the_mask_without_its_repeated_erosion(mask, width_px):
    eroded = binary_erosion(mask, np.ones((3, 3)), iterations=width_px, border_value=0)
    assert np.array_equal(inner_band(mask, width_px), mask & ~eroded)


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=7)), st.integers(1, 2)
)
def test_band_of_a_volume(mask, width_px):
    eroded = binary_erosion(mask, np.ones((3, 3, 3)), iterations=width_px, border_value=0)
    assert np.array_equal(inner_band(mask, width_px), mask & ~eroded)


@given(masks, st.integers(1, 5))
def test_band_of_a_crop_that_holds_the_mask_is_the_crop_of_the_band(mask, width_px):
    window = bounding_window(mask)
    assert np.array_equal(inner_band(mask, width_px)[window], inner_band(mask[window], width_px))


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
