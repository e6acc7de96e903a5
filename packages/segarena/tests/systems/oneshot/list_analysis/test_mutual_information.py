"""Mutual information, compared with closed forms."""

import math

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.oneshot.list_analysis.mutual_information import mutual_information


def test_two_separate_intervals_tell_one_bit():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=4000)
    assert mutual_information(rng.random(4000) + 2 * labels, labels) == pytest.approx(
        math.log(2), abs=0.01
    )


def test_overlapping_uniforms_tell_half_a_bit():
    """On [0, 1] and [0.5, 1.5], half of all values determine the class and half do not: ln 2 / 2."""
    rng = np.random.default_rng(1)
    labels = np.arange(8000) % 2
    found = mutual_information(rng.random(8000) + 0.5 * labels, labels)
    assert found == pytest.approx(math.log(2) / 2, abs=0.02)


def test_independent_values_tell_nothing():
    rng = np.random.default_rng(2)
    assert mutual_information(rng.normal(size=4000), rng.integers(3, size=4000)) == pytest.approx(
        0, abs=0.02
    )


def test_scale_and_shift_of_values_do_not_matter():
    rng = np.random.default_rng(3)
    labels = rng.integers(2, size=2000)
    values = rng.normal(size=2000) + labels
    assert mutual_information(values * 1e-6 + 3, labels) == pytest.approx(
        mutual_information(values, labels), abs=1e-2
    )


def test_normal_values_apart_by_two_deviations_tell_what_the_integral_says():
    grid = np.linspace(-8, 10, 40001)
    one, two = (np.exp(-((grid - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (0, 2))
    mixed = (one + two) / 2
    exact = np.trapezoid((one * np.log(one / mixed) + two * np.log(two / mixed)) / 2, grid)
    rng = np.random.default_rng(4)
    labels = np.arange(8000) % 2
    assert mutual_information(rng.normal(size=8000) + 2 * labels, labels) == pytest.approx(
        exact, abs=0.02
    )


@pytest.mark.parametrize(
    ("values", "labels"),
    [([1, 1, 1], [0, 1, 1]), ([1, 2, 3], [0, 0, 0]), ([1, 2], [0, 1]), ([], [])],
)
def test_no_spread_one_class_or_single_values_tell_nothing(values, labels):
    assert mutual_information(values, labels) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("values", "labels"), [([1, math.nan], [0, 1]), ([1, 2, 3], [0, 1]), ([[1]], [[0]])]
)
def test_values_that_cannot_be_used_are_refused(values, labels):
    with pytest.raises(InvalidInput):
        mutual_information(values, labels)
