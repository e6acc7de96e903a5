from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from segarena.users.habits.box_habits import BoxHabits, SizeClass, copula_shares

LEVELS = (0.0, 0.25, 0.5, 1.0)
SMALL = (-0.4, -0.2, 0.0, 0.8)
LARGE = (-0.2, -0.1, 0.0, 0.4)


def habits(*, sizes, tail=4.0, correlation=None, between_people=0.0):
    table = np.eye(4) if correlation is None else correlation
    return BoxHabits(
        source="made here",
        between_people=between_people,
        tail=tail,
        correlation=tuple(map(tuple, np.asarray(table).tolist())),
        levels=LEVELS,
        sizes=tuple(SizeClass(side_px=side, edges=0, quantiles=rows) for side, rows in sizes),
    )


TWO = habits(sizes=[(10.0, (SMALL,)), (40.0, (LARGE,))])


def test_quantiles_are_those_of_the_size_class():
    assert TWO.offsets([10, 10, 10], [0.0, 0.25, 1.0], 0).tolist() == [-0.4, -0.2, 0.8]
    assert TWO.offsets([40], [0.75], 3).tolist() == pytest.approx([0.2])


def test_between_size_classes_quantiles_are_interpolated_over_the_logarithm():
    assert TWO.offsets([20], [1.0], 0).tolist() == pytest.approx(
        [0.6]
    )  # 20 is half-way from 10 to 40 in octaves


def test_beyond_the_classes_the_nearest_one_holds():
    assert TWO.offsets([1, 1000], [1.0, 1.0], 0).tolist() == [0.8, 0.4]


def test_each_edge_may_have_quantiles_of_its_own():
    rows = tuple(tuple(k * level for level in LEVELS) for k in range(4))
    found = habits(sizes=[(10.0, rows)])
    assert [found.offsets([10], [1.0], edge).tolist() for edge in range(4)] == [
        [0.0],
        [1.0],
        [2.0],
        [3.0],
    ]


def test_top_and_bottom_go_with_the_height_left_and_right_with_the_width():
    drawn = habits(sizes=[(10.0, ((0.5, 0.5, 0.5, 0.5),))]).offsets_px(
        [(20, 6)], np.random.default_rng(0)
    )
    assert drawn.tolist() == [[10.0, 3.0, 10.0, 3.0]]


def test_shares_are_uniform_and_correlate_as_asked():
    correlation = np.array([[1.0, 0.6], [0.6, 1.0]])
    shares = copula_shares(20_000, correlation, 5.0, np.random.default_rng(0))
    assert stats.kstest(shares[:, 0], "uniform").pvalue > 0.01
    expected = 2 / np.pi * np.arcsin(0.6)  # Kendall's tau of every elliptical copula
    assert stats.kendalltau(shares[:2000, 0], shares[:2000, 1]).statistic == pytest.approx(
        expected, abs=0.03
    )


def test_a_heavy_tailed_copula_has_edges_that_are_far_off_together():
    def both_far(tail):
        shares = copula_shares(20_000, np.eye(2), tail, np.random.default_rng(1))
        return (np.abs(shares - 0.5) > 0.49).all(axis=1).mean()

    assert both_far(2.0) > 5 * both_far(1000.0)


def test_factors_of_people_have_the_spread_between_them():
    found = habits(sizes=[(10.0, (SMALL,))], between_people=0.5)
    logs = np.log([found.factor(np.random.default_rng([0, k])) for k in range(2000)])
    assert logs.std() == pytest.approx(0.5, rel=0.05)
    assert np.median(logs) == pytest.approx(0.0, abs=0.04)
