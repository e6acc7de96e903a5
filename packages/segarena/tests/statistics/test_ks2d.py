from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from segarena.errors import InvalidInput
from segarena.statistics import ks2d as module
from segarena.statistics.ks2d import ks2d


def point_sets(least: int = 1):
    coordinates = st.integers(0, 6).map(float)
    return st.integers(least, 9).flatmap(
        lambda n: hnp.arrays(np.float64, (n, 2), elements=coordinates)
    )


def slow_one_sided(own, other) -> float:
    n, greatest = len(own), 0.0
    for x, y in own:
        for left in (True, False):
            for lower in (True, False):
                share = [
                    sum(((px <= x) == left) and ((py <= y) == lower) for px, py in points)
                    / len(points)
                    for points in (own, other)
                ]
                difference = share[0] - share[1] - (1 / n if left and lower else 0)
                greatest = max(greatest, -difference, difference + 1 / n)
    return greatest


def slow_ks(first, second) -> tuple[float, float]:
    d = (slow_one_sided(first, second) + slow_one_sided(second, first)) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        r1, r2 = (
            stats.pearsonr(*points.T)[0] if len(points) > 1 else np.nan
            for points in (first, second)
        )
    n = np.sqrt(len(first) * len(second) / (len(first) + len(second)))
    r = np.sqrt(max(0.0, 1 - (r1**2 + r2**2) / 2)) if np.isfinite(r1 + r2) else np.nan
    return d, float(stats.kstwobign.sf(d * n / (1 + r * (0.25 - 0.75 / n))))


@given(point_sets(), point_sets())
def test_equals_a_loop_over_points_and_quadrants(first, second):
    test, (d, p) = ks2d(first, second), slow_ks(first, second)
    assert test.statistics[0] == pytest.approx(d, abs=1e-12)
    assert test.p_values[0] == pytest.approx(p, abs=1e-12, nan_ok=True)


@pytest.mark.long
def test_many_sets_at_once_equal_the_loop_for_each():
    rng = np.random.default_rng(1)
    sets, points = rng.normal(size=(7, 30, 2)), rng.normal(0.4, 1.2, size=(45, 2))
    expected = np.array([slow_ks(own, points) for own in sets])
    test = ks2d(sets, points)
    assert test.statistics == pytest.approx(expected[:, 0], abs=1e-12)
    assert test.p_values == pytest.approx(expected[:, 1], abs=1e-12)


def test_work_in_small_pieces_changes_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    sets, points = rng.integers(0, 9, (5, 21, 2)), rng.integers(0, 9, (13, 2))
    whole = ks2d(sets, points)
    for chunk in (1, 700):
        monkeypatch.setattr(module, "_AT_ONCE", chunk)
        pieces = ks2d(sets, points)
        assert np.array_equal(pieces.statistics, whole.statistics)
        assert np.array_equal(pieces.p_values, whole.p_values)


def test_by_hand():
    first, second = [[0, 0], [2, 2]], [[1, 1], [3, 0]]
    # At (0, 0): shares 1/2, 0, 0, 1/2 against 0, 0, 1/2, 1/2, corrected by 1/2: least -1/2, most 0 -> 1/2.
    # At (2, 2): shares 1, 0, 0, 0 against 1/2, 0, 1/2, 0, corrected: least -1/2, most 0. So D1 = 1/2.
    # At (1, 1): 1/2, 0, 1/2, 0 against 1/2, 0, 0, 1/2, corrected: least -1/2, most 1/2 -> 1.
    test = ks2d(first, second)
    assert test.statistics.tolist() == [0.75]
    # r1 = 1, r2 = -1, so the correction for correlation is 0 and N = 1.
    assert test.p_values[0] == pytest.approx(stats.kstwobign.sf(0.75))


@given(point_sets(), point_sets())
def test_symmetric_in_the_samples_and_in_the_coordinates(first, second):
    test = ks2d(first, second)
    for other in (ks2d(second, first), ks2d(first[:, ::-1], second[:, ::-1])):
        assert other.statistics[0] == pytest.approx(test.statistics[0], abs=1e-12)
        assert other.p_values[0] == pytest.approx(test.p_values[0], abs=1e-12, nan_ok=True)


@given(point_sets(), point_sets(), st.randoms())
def test_the_order_of_points_and_their_scale_do_not_matter(first, second, random):
    shuffled = first[random.sample(range(len(first)), len(first))]
    assert ks2d(shuffled * 4 + 1, second * 4 + 1).statistics[0] == ks2d(first, second).statistics[0]


@given(point_sets(), point_sets())
def test_d_lies_between_0_and_1(first, second):
    assert 0 <= ks2d(first, second).statistics[0] <= 1 + 1e-12


@pytest.mark.parametrize(
    "constant", [[[0.1, 1], [0.1, 2], [0.1, 5]], [[1, 0.1], [2, 0.1], [4, 0.1]], [[3, 4]]]
)
def test_a_constant_coordinate_has_no_p_value(constant):
    spread = [[1, 2], [3, 1], [5, 7]]
    for test in (ks2d(constant, spread), ks2d(spread, constant)):
        assert np.isnan(test.p_values[0])
        assert np.isfinite(test.statistics[0])


def test_only_the_constant_sets_among_many_are_nan():
    sets = np.array([[[1, 2], [3, 1]], [[1, 2], [1, 5]]])
    assert np.isnan(ks2d(sets, [[0, 1], [4, 4], [2, 9]]).p_values).tolist() == [False, True]


def test_p_values_of_samples_from_one_distribution_are_spread_and_others_small():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(80, 2))
    same = ks2d(rng.normal(size=(100, 80, 2)), points).p_values
    other = ks2d(rng.normal(1.0, 1.0, size=(100, 80, 2)), points).p_values
    assert (same > 0.05).mean() > 0.85
    assert (other < 0.01).all()


@pytest.mark.parametrize(
    ("sets", "points"),
    [
        (np.zeros((0, 2)), np.zeros((3, 2))),
        (np.zeros((3, 2)), np.zeros((0, 2))),
        (np.zeros((3, 3)), np.zeros((3, 2))),
        (np.zeros((3, 2)), np.zeros((2, 3, 2))),
        (np.full((3, 2), np.nan), np.zeros((3, 2))),
        (np.zeros(2), np.zeros((3, 2))),
    ],
)
def test_what_is_not_a_set_of_points_is_refused(sets, points):
    with pytest.raises(InvalidInput):
        ks2d(sets, points)
