from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from segarena.errors import InvalidInput
from segarena.statistics.correlations import correlation_table, kendall


def random_table(seed, names="abc", segmenters=12):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(0, 9, segmenters).astype(float) for name in names}


def test_equals_scipy_on_one_dataset():
    table = random_table(1)
    result = correlation_table([table], absolute=False)
    assert result.names == ("a", "b", "c")
    assert np.diag(result.values).tolist() == [1.0, 1.0, 1.0]
    for i, first in enumerate("abc"):
        for j, second in enumerate("abc"):
            if i < j:
                pearson = stats.pearsonr(table[first], table[second]).statistic
                spearman = stats.spearmanr(table[first], table[second]).statistic
                assert result.values[i, j] == pytest.approx(pearson)
                assert result.values[j, i] == pytest.approx(spearman)


def test_a_monotone_curve_has_rank_correlation_one_below_the_diagonal_only():
    values = correlation_table([{"x": [1, 2, 3, 4], "y": [1, 10, 100, 1000]}]).values
    assert values[1, 0] == pytest.approx(1)
    assert values[0, 1] < 0.9


def test_the_mean_is_taken_over_datasets_before_the_sign_is_dropped():
    up, down = {"x": [1, 2, 3], "y": [1, 2, 3]}, {"y": [3, 2, 1], "x": [1, 2, 3]}
    assert correlation_table([up, down]).values[0, 1] == pytest.approx(0)
    assert correlation_table([down]).values[0, 1] == pytest.approx(1)
    assert correlation_table([down], absolute=False).values[0, 1] == pytest.approx(-1)
    assert correlation_table([up, up, down], absolute=False).values[1, 0] == pytest.approx(1 / 3)


def test_datasets_where_a_statistic_is_constant_are_left_out_of_its_means():
    varied, constant = {"x": [1, 2, 3], "y": [1, 2, 3]}, {"x": [1, 2, 3], "y": [0.1, 0.1, 0.1]}
    assert correlation_table([varied, constant]).values == pytest.approx(np.ones((2, 2)))
    alone = correlation_table([constant]).values
    assert np.isnan(alone[[0, 1], [1, 0]]).all()
    assert np.diag(alone).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "datasets",
    [
        [],
        [{}],
        [{"x": [1, 2]}, {"y": [1, 2]}],
        [{"x": [1, 2], "y": [1, 2, 3]}],
        [{"x": [1.0]}],
        [{"x": [1, np.nan]}],
    ],
)
def test_unusable_tables_are_refused(datasets):
    with pytest.raises(InvalidInput):
        correlation_table(datasets)


def test_kendall_is_tau_b_as_scipy_has_it():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 4, (2, 5, 6))  # with ties
    expected = [stats.kendalltau(*pair).statistic for pair in zip(first, second, strict=True)]
    assert np.allclose(kendall(first, second), expected, equal_nan=True)
