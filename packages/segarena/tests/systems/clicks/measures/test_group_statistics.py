from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.errors import InvalidInput
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.clicks.measures.group_statistics import (
    average_vs_baseline,
    failure_statistics,
    group_means,
    group_statistics,
    group_stds,
    least_over_most_likely,
    lower_over_upper_half,
)

# Two instances, four groups from least to most likely.
NOC = np.array([[8.0, 4.0, 2.0, 2.0], [3.0, 3.0, 3.0, 1.0]])
BASE = np.array([2.0, 5.0])

tables = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.just(10)), elements=st.integers(1, 20).map(float)
)


def test_mean_and_population_deviation_over_groups():
    assert group_means(NOC).tolist() == [4.0, 2.5]
    assert group_stds(NOC) == pytest.approx([math.sqrt(6), math.sqrt(0.75)])


def test_asb_by_hand():
    assert average_vs_baseline(NOC, BASE).tolist() == [1.0, -0.5]
    assert average_vs_baseline(NOC, BASE, change="difference").tolist() == [2.0, -2.5]


def test_agr_by_hand():
    assert least_over_most_likely(NOC).tolist() == [3.0, 2.0]
    assert least_over_most_likely(NOC, change="difference").tolist() == [6.0, 2.0]


def test_ahh_by_hand_for_both_protocols():
    # Merged: 6 from 2, 3 from 2. Published: mean of (8 from 2, 4 from 2) and of (3 from 3, 3 from 1).
    assert lower_over_upper_half(NOC).tolist() == [2.0, 0.5]
    assert lower_over_upper_half(NOC, protocol="published").tolist() == [2.0, 1.0]


@given(tables)
def test_both_protocols_agree_on_differences(values):
    merged = lower_over_upper_half(values, change="difference")
    paired = lower_over_upper_half(values, change="difference", protocol="published")
    assert merged == pytest.approx(paired)


@given(tables)
def test_the_summary_equals_a_loop_over_instances_and_groups(values):
    base = values[:, 3]
    n = len(values)
    summary = group_statistics(values, base, protocol="published")
    assert summary.sample.mean == pytest.approx(sum(map(sum, values.tolist())) / (10 * n))
    asb = [(sum(row) / 10 - b) / b for row, b in zip(values.tolist(), base.tolist(), strict=True)]
    assert summary.asb.mean == pytest.approx(sum(asb) / n)
    assert summary.agr.mean == pytest.approx(sum((row[0] - row[9]) / row[9] for row in values) / n)
    ahh = [(row[g] - row[g + 5]) / row[g + 5] for row in values for g in range(5)]
    assert summary.ahh.mean == pytest.approx(sum(ahh) / (5 * n))
    assert summary.sample_std.mean == pytest.approx(np.mean([np.std(row) for row in values]))


@given(tables)
def test_users_who_are_all_alike_cost_nothing(values):
    alike = np.repeat(values[:, :1], 10, axis=1)
    summary = group_statistics(alike, values[:, 0])
    for interval in (summary.asb, summary.agr, summary.ahh, summary.sample_std):
        assert interval.mean == pytest.approx(0, abs=1e-12)


def test_means_of_ratios_are_not_ratios_of_means():
    assert group_statistics(NOC, BASE).agr.mean == 2.5
    assert (NOC[:, 0].mean() - NOC[:, -1].mean()) / NOC[:, -1].mean() != 2.5


def test_intervals_are_those_of_the_values_per_instance():
    values = np.random.default_rng(0).integers(1, 21, (40, 10)).astype(float)
    images = np.arange(40) // 3
    summary = group_statistics(values, values[:, 5], images)
    assert summary.agr == bootstrap_mean(least_over_most_likely(values), images)
    assert summary.sample == bootstrap_mean(values.mean(axis=1), images)
    assert summary.agr.n == 40


def test_failures_are_counted():
    failed = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]])
    summary = failure_statistics(failed, [1, 0, 0])
    # By group 3, 2, 1, 0 of 3 instances fail; 1 does with the baseline user.
    assert summary.sample.mean == pytest.approx(1.5)
    assert summary.sample_std.mean == pytest.approx(math.sqrt(1.25))
    assert summary.base.mean == pytest.approx(1)
    assert summary.asb.mean == pytest.approx(0.5)
    assert summary.agr.mean == pytest.approx(3)
    assert summary.ahh.mean == pytest.approx(2.5 - 0.5)
    assert 0 <= summary.base.low <= 1 <= summary.base.high <= 3


def test_no_instances_give_nan():
    none = np.zeros((0, 10))
    assert math.isnan(group_statistics(none, []).agr.mean)
    assert math.isnan(failure_statistics(none, []).sample.mean)


@pytest.mark.parametrize("values", [[1.0, 2.0], [[1.0], [2.0]], [[1.0, math.nan]], [[[1.0, 2.0]]]])
def test_what_is_not_a_table_of_groups_is_refused(values):
    with pytest.raises(InvalidInput, match="groups"):
        group_means(values)


def test_ratios_to_zero_odd_groups_other_lengths_and_unknown_words_are_refused():
    with pytest.raises(InvalidInput, match="ratio"):
        least_over_most_likely([[1.0, 0.0]])
    with pytest.raises(InvalidInput, match="even"):
        lower_over_upper_half([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInput, match="base"):
        average_vs_baseline(NOC, [1.0])
    with pytest.raises(InvalidInput, match="change"):
        least_over_most_likely(NOC, change="percent")
