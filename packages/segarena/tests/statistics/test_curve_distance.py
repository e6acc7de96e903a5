"""Distances of curves, compared with the recursions that define them."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidInput
from segarena.statistics import curve_distance
from segarena.statistics.curve_distance import (
    frechet,
    frechet_matrix,
    resample_curve,
    time_warping,
    time_warping_matrix,
)
from segarena.statistics.permutation_tests import gaussian_kernel, permutation_test

CURVES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=7)


def slow(first, second, join):
    @cache
    def cost(i, j):
        leash = math.dist(first[i], second[j])
        before = [
            cost(a, b) for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if a >= 0 and b >= 0
        ]
        return join(leash, min(before)) if before else leash

    return cost(len(first) - 1, len(second) - 1)


@given(CURVES, CURVES)
def test_frechet_equals_its_recursion(first, second):
    assert frechet(first, second) == pytest.approx(slow(first, second, max), abs=1e-12)


@given(CURVES, CURVES)
def test_time_warping_equals_its_recursion(first, second):
    assert time_warping(first, second) == pytest.approx(
        slow(first, second, float.__add__), abs=1e-9
    )


@given(CURVES, CURVES)
def test_symmetric_and_zero_of_itself_and_at_least_the_ends(first, second):
    assert frechet(first, first) == time_warping(first, first) == 0
    assert frechet(first, second) == pytest.approx(frechet(second, first))
    assert time_warping(first, second) == pytest.approx(time_warping(second, first))
    ends = max(math.dist(first[0], second[0]), math.dist(first[-1], second[-1]))
    assert time_warping(first, second) >= frechet(first, second) - 1e-9
    assert frechet(first, second) >= ends - 1e-9


def test_turning_back_costs_what_the_leash_says():
    """One curve goes out and back, the other is straight: the Hausdorff distance is .5, the Frechet distance 2."""
    straight = [[0, column] for column in range(7)]
    back = [[0.5, column] for column in [0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6]]
    assert frechet(straight, back) == pytest.approx(math.hypot(0.5, 2))


@pytest.mark.parametrize(
    ("matrix", "single", "scale"),
    [(frechet_matrix, frechet, 1), (time_warping_matrix, time_warping, 9)],
)
@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_all_pairs_at_once_equal_each_by_itself(matrix, single, scale, at_once, monkeypatch):
    monkeypatch.setattr(curve_distance, "_MAX_CELLS", at_once)
    rng = np.random.default_rng(1)
    curves = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (1, 4, 12, 30)]
    even = [resample_curve(curve, 9) for curve in curves]
    expected = [[single(one, two) / scale for two in even] for one in even]
    assert matrix(curves, points=9) == pytest.approx(np.array(expected), abs=1e-12)
    either = [
        [min(single(one, two), single(one, two[::-1])) / scale for two in even] for one in even
    ]
    assert matrix(curves, points=9, either_way=True)[~np.eye(4, dtype=bool)] == pytest.approx(
        np.array(either)[~np.eye(4, dtype=bool)], abs=1e-12
    )


def test_no_curves_have_no_distances():
    assert frechet_matrix([]).shape == (0, 0)


def test_points_lie_evenly_along_the_curve():
    rng = np.random.default_rng(2)
    curve = rng.normal(size=(20, 3)).cumsum(axis=0)
    even = resample_curve(curve, 400)
    assert (even[0] == curve[0]).all()
    assert even[-1] == pytest.approx(curve[-1])
    steps = np.linalg.norm(np.diff(even, axis=0), axis=1)
    length = np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()
    # Where it turns a step is shorter than the way along it.
    assert steps.max() == pytest.approx(length / 399)
    assert np.median(steps) == pytest.approx(length / 399)
    assert resample_curve([[1, 2], [1, 2]], 3).tolist() == [[1, 2]] * 3


def test_strokes_of_two_habits_are_told_apart_by_their_courses():
    rng = np.random.default_rng(3)
    along = np.linspace(0, 1, 25)

    def stroke(bend):
        return np.stack([bend * np.sin(np.pi * along), along], axis=1) + rng.normal(0, 0.05, 2)

    straight, bent = [[stroke(rng.normal(bend, 0.1)) for _ in range(15)] for bend in (0, 0.3)]
    kernel = gaussian_kernel(frechet_matrix(straight + bent))
    assert permutation_test(kernel, (15, 15)).p_value < 0.01
    assert permutation_test(gaussian_kernel(frechet_matrix(straight)), (8, 7)).p_value > 0.05


@pytest.mark.parametrize(
    ("first", "second"),
    [(np.zeros((0, 2)), [[0, 0]]), ([[0, np.nan]], [[0, 0]]), ([[0, 0]], [[0, 0, 0]]), ([0], [0])],
)
def test_what_is_no_curve_is_refused(first, second):
    with pytest.raises(InvalidInput, match="curve"):
        frechet(first, second)
