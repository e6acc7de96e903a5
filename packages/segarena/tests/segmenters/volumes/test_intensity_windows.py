"""Intensity windows, compared with NumPy and with a plain implementation of RadioActive's code."""

import numpy as np
import pytest

from segarena.errors import InvalidImage
from segarena.segmenters.volumes.intensity_windows import (
    percentile_range,
    slice_range,
    to_grey,
)

_DRAWN = np.random.default_rng(1)
CT = _DRAWN.normal(-200, 400, (6, 50, 40)).astype(np.int16)
MR = np.where(_DRAWN.random((50, 40)) < 0.4, 0, _DRAWN.gamma(3, 100, (50, 40))).astype(np.float32)


@pytest.mark.parametrize(
    "dtype", [np.int16, np.uint8, np.int8, np.uint16, np.int32, np.float32, np.float64]
)
@pytest.mark.parametrize("shape", [(6, 50, 40), (50, 40), (7,)])
def test_percentiles_are_those_of_all_values(dtype, shape, rng):
    values = rng.integers(0, 120, shape).astype(dtype)
    for percentiles in ((0.5, 99.5), (0, 100), (33.3, 66.6)):
        np.testing.assert_allclose(
            percentile_range(values, *percentiles), np.percentile(values, percentiles)
        )


def test_percentiles_of_extreme_integers_do_not_overflow():
    values = np.array([-32768, 32767, 0, 5], np.int16)
    # NumPy's own percentile of int16 does.
    np.testing.assert_allclose(
        percentile_range(values), np.percentile(values.astype(np.float64), (0.5, 99.5))
    )


def test_percentiles_of_nothing_are_zero():
    assert percentile_range(np.zeros((0,), np.int16)) == (0, 0)


def test_not_a_number_is_named():
    with pytest.raises(InvalidImage, match="NaN"):
        percentile_range(np.array([1.0, np.nan]))
    with pytest.raises(InvalidImage, match="NaN"):
        to_grey(np.array([[1.0, np.nan]]), (0, 1))


def test_the_published_rule_throws_negative_values_of_ct_away():
    plane = CT[0]
    assert slice_range(plane, is_published=True) == pytest.approx(
        np.percentile(plane[plane > 0], (0.5, 99.5))
    )
    low, _ = slice_range(plane)
    assert low < -800
    assert slice_range(MR) == slice_range(
        MR, is_published=True
    )  # the background is 0, and nothing below it


def test_a_slice_without_foreground_has_no_range():
    assert slice_range(np.full((4, 4), -1000), is_published=True) == (0, 0)
    assert slice_range(np.full((4, 4), 7)) == (0, 0)
    assert not to_grey(np.full((4, 4), 7), (0, 0)).any()


def test_grey_levels_are_rounded_and_clipped():
    np.testing.assert_array_equal(
        to_grey(np.array([[-5, 0, 1, 2, 509, 999]]), (0, 510)), [[0, 0, 0, 1, 254, 255]]
    )
