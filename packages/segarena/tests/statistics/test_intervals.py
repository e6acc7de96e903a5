from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from segarena.errors import InvalidInput
from segarena.statistics import intervals
from segarena.statistics.intervals import bootstrap_each_mean, bootstrap_mean, paired_difference


def test_the_mean_is_the_plain_mean():
    interval = bootstrap_mean([1.0, 2.0, 6.0])
    assert interval.mean == 3.0
    assert interval.n == 3
    assert 1.0 <= interval.low <= 3.0 <= interval.high <= 6.0


def test_equal_values_have_no_width():
    interval = bootstrap_mean([0.25] * 9)
    assert (interval.mean, interval.low, interval.high) == (0.25, 0.25, 0.25)


def test_no_values_and_one_value_have_no_interval():
    none, one = bootstrap_mean([]), bootstrap_mean([0.4])
    assert none.n == 0
    assert all(map(math.isnan, (none.mean, none.low, none.high)))
    assert (one.mean, one.n) == (0.4, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.high)


def test_many_values_of_one_image_have_no_interval_either():
    assert math.isnan(bootstrap_mean([0.1, 0.9, 0.5], ["a", "a", "a"]).low)


def test_two_values_have_the_binomial_quantiles():
    # Means of two draws from {0, 1} are 0, 0.5, 1 with 1/4, 1/2, 1/4.
    half = bootstrap_mean([0.0, 1.0], level=0.4, repeats=4000)
    wide = bootstrap_mean([0.0, 1.0], level=0.6, repeats=4000)
    assert (half.low, half.high) == (0.5, 0.5)
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another(rng):
    values = rng.random(30)
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_agrees_with_scipy(level, rng):
    values = rng.gamma(2.0, size=60)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20000, confidence_level=level, method="percentile", rng=rng
    ).confidence_interval
    mine = bootstrap_mean(values, repeats=20000, level=level)
    noise = 0.05 * values.std(ddof=1) / math.sqrt(len(values))
    assert mine.low == pytest.approx(expected.low, abs=noise)
    assert mine.high == pytest.approx(expected.high, abs=noise)


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(11)
    covered = 0
    for seed in range(300):
        interval = bootstrap_mean(rng.normal(size=50), repeats=400, level=0.9, seed=seed)
        covered += interval.low <= 0 <= interval.high
    # Binomial(300, 0.88) lies in 0.82..0.94 but for one time in 500.
    assert 0.82 <= covered / 300 <= 0.94


def test_clusters_cover_the_true_mean_where_single_values_do_not():
    rng = np.random.default_rng(12)
    images = np.repeat(np.arange(30), 8)
    covered = {"clusters": 0, "singly": 0}
    for seed in range(200):
        values = np.repeat(rng.normal(size=30), 8) + 0.1 * rng.normal(size=240)
        for name, clusters in (("clusters", images), ("singly", None)):
            interval = bootstrap_mean(values, clusters, repeats=300, level=0.9, seed=seed)
            covered[name] += interval.low <= 0 <= interval.high
    assert covered["clusters"] >= 160
    assert covered["singly"] <= 110


def test_a_cluster_for_each_value_is_the_plain_bootstrap(rng):
    values = rng.random(25)
    assert bootstrap_mean(values, np.arange(25)) == bootstrap_mean(values)


def test_clusters_of_unequal_size_keep_the_mean_over_values():
    interval = bootstrap_mean([0.0, 0.0, 0.0, 1.0], ["a", "a", "a", "b"], repeats=4000, level=0.6)
    assert interval.mean == 0.25
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_the_order_of_clustered_values_does_not_matter(rng):
    values, images = rng.random(40), np.repeat(list("abcdefgh"), 5)
    order = rng.permutation(40)
    first, second = bootstrap_mean(values, images), bootstrap_mean(values[order], images[order])
    assert second.low == pytest.approx(first.low, abs=1e-12)
    assert second.high == pytest.approx(first.high, abs=1e-12)


def test_memory_stays_bounded(rng):
    values = rng.random(20_000)
    tracemalloc.start()
    bootstrap_mean(values, repeats=1000)
    paired_difference(values, values[::-1], repeats=1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # the whole table of draws would take 160 MB


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([[1.0]], {}),
        ([1.0, np.nan], {}),
        ([1.0, np.inf], {}),
        ([1.0, 2.0], {"clusters": ["a"]}),
        ([1.0, 2.0], {"repeats": 0}),
        ([1.0, 2.0], {"level": 1.0}),
    ],
)
def test_unusable_input_is_refused(values, options):
    with pytest.raises(InvalidInput):
        bootstrap_mean(values, **options)


def test_paired_difference_by_hand():
    pair = paired_difference([0.9, 0.8, 0.5, 0.7], [0.5, 0.8, 0.6, 0.2])
    assert pair.difference == pytest.approx(0.2)
    assert (pair.n, pair.better, pair.ties) == (4, 0.5, 0.25)
    # Of the 8 signs of (.4, -.1, .5) four reach |.8|: both signs of .4 + .5 with any of .1.
    assert pair.p_value == 0.5


def test_lower_may_be_better():
    pair = paired_difference([1.0, 5.0, 2.0], [2.0, 4.0, 9.0], higher_is_better=False)
    assert pair.better == pytest.approx(2 / 3)
    assert pair.difference == pytest.approx(-7 / 3)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_few_pairs_are_tested_exactly(count, rng):
    first, second = rng.random(count), rng.random(count)
    expected = 1.0
    if count > 1:
        expected = stats.permutation_test(
            (first, second),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            vectorized=True,
        ).pvalue
    assert paired_difference(first, second).p_value == pytest.approx(expected)


def test_many_pairs_are_tested_by_random_flips(rng):
    first = rng.normal(0.3, 1.0, 40)
    pair = paired_difference(first, np.zeros(40), repeats=20000)
    expected = stats.permutation_test(
        (first, np.zeros(40)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=20000,
        vectorized=True,
        rng=rng,
    ).pvalue
    assert pair.p_value == pytest.approx(expected, abs=0.015)


def refused(differences, shift):
    """Return whether SciPy's sign test rejects that the median difference is `shift`."""
    return (
        stats.permutation_test(
            (differences - shift, np.zeros(len(differences))),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        <= 0.05
    )


@pytest.mark.parametrize("count", [6, 7, 10])
def test_the_interval_holds_the_differences_that_the_test_does_not_refuse(count, rng):
    differences = rng.gamma(1.0, size=count) - 0.4
    pair = paired_difference(differences, np.zeros(count))
    width = pair.high - pair.low
    assert [refused(differences, end - 1e-6 * width) for end in (pair.low, pair.high)] == [
        True,
        False,
    ]
    assert [refused(differences, end + 1e-6 * width) for end in (pair.low, pair.high)] == [
        False,
        True,
    ]


@pytest.mark.parametrize("clustered", [True, False])
def test_the_interval_leaves_out_zero_exactly_where_p_says_so(clustered):
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(300):
        count = int(rng.integers(6, 40))
        clusters = rng.integers(0, 9, count) if clustered else None
        pair = paired_difference(rng.normal(0.4, 1.0, count).round(1), np.zeros(count), clusters)
        is_out = pair.low > 0 or pair.high < 0
        assert is_out == (pair.p_value <= 0.05)
        seen.add(is_out)
    assert seen == {True, False}


@pytest.mark.parametrize(("count", "is_told"), [(2, False), (5, False), (6, True)])
def test_few_pairs_cannot_tell(count, is_told):
    pair = paired_difference(np.linspace(0.5, 1.0, count), np.zeros(count))
    assert math.isnan(pair.low) != is_told
    assert (pair.p_value <= 0.05) == is_told
    assert pair.p_value == 2 / 2**count


@pytest.mark.parametrize("count", [7, 25])
def test_the_paired_interval_covers_as_often_as_it_says(count):
    rng = np.random.default_rng(count)
    covered = 0
    for seed in range(300):
        pair = paired_difference(rng.normal(size=count), np.zeros(count), seed=seed)
        covered += pair.low <= 0 <= pair.high
    # Binomial(300, 0.95) lies in 0.91..0.985 but for one time in 300; a bootstrap of 7 covers 0.87.
    assert 0.91 <= covered / 300 <= 0.985


def test_many_pairs_have_about_the_interval_of_student(rng):
    differences = rng.normal(0.3, 1.0, 200)
    pair = paired_difference(differences, np.zeros(200), repeats=20000)
    expected = stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    assert pair.low == pytest.approx(expected.low, abs=0.01)
    assert pair.high == pytest.approx(expected.high, abs=0.01)


def test_the_other_way_round_has_the_same_p_and_the_other_sign(rng):
    first, second = rng.random(9), rng.random(9)
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert back.difference == -there.difference
    assert back.p_value == there.p_value


def test_clusters_flip_together():
    # Two images whose targets all agree: only 4 flips exist, half of them as far from 0.
    pair = paired_difference([1.0] * 6, [0.0] * 6, ["a"] * 3 + ["b"] * 3)
    assert pair.p_value == 0.5
    assert paired_difference([1.0] * 6, [0.0] * 6).p_value == 2 / 64


def test_equal_segmenters_do_not_differ():
    pair = paired_difference([0.5] * 30, [0.5] * 30)
    assert (pair.difference, pair.p_value, pair.ties, pair.better) == (0.0, 1.0, 1.0, 0.0)


def test_no_pairs_and_one_pair():
    none, one = paired_difference([], []), paired_difference([1.0], [0.5])
    assert none.n == 0
    assert all(map(math.isnan, (none.difference, none.low, none.p_value, none.better, none.ties)))
    assert (one.difference, one.p_value, one.better) == (0.5, 1.0, 1.0)
    assert math.isnan(one.low)


def test_pairs_need_as_many_of_each():
    with pytest.raises(InvalidInput, match="expected equal shapes"):
        paired_difference([1.0, 2.0], [1.0])


def test_very_many_clusters_have_the_interval_that_draws_tend_to(monkeypatch):
    rng = np.random.default_rng(7)
    clusters = np.sort(rng.integers(0, 1500, 4000))
    values = rng.beta(5, 2, 4000) + 0.2 * rng.uniform(size=1500)[clusters]
    drawn = bootstrap_mean(values, clusters)
    monkeypatch.setattr(intervals, "MAX_DRAWN_CLUSTERS", 1000)
    limit = bootstrap_mean(values, clusters)
    width = drawn.high - drawn.low
    assert limit.mean == drawn.mean
    assert abs(limit.low - drawn.low) < 0.05 * width
    assert abs(limit.high - drawn.high) < 0.05 * width
    others = values.mean() + 0.01 * rng.normal(size=4000)
    pair = paired_difference(values, others, clusters)
    monkeypatch.setattr(intervals, "MAX_DRAWN_CLUSTERS", 50_000)
    flips = paired_difference(values, others, clusters)
    assert pair.p_value == pytest.approx(flips.p_value, abs=0.1)
    assert pair.high - pair.low == pytest.approx(flips.high - flips.low, rel=0.1)


def test_rows_have_the_intervals_that_each_has_alone(rng):
    values = rng.normal(size=(5, 40))
    values[3, :4] = np.nan  # and with them the whole first cluster
    values[4] = np.nan
    clusters = np.arange(40) // 4
    for row, found in zip(values, intervals.bootstrap_means(values, clusters), strict=True):
        is_there = np.isfinite(row)
        alone = bootstrap_mean(row[is_there], clusters[is_there])
        assert found.n == alone.n
        assert (found.mean, found.low, found.high) == pytest.approx(
            (alone.mean, alone.low, alone.high), nan_ok=True
        )


def test_samples_that_share_draws_have_the_intervals_that_each_has_alone(rng):
    samples = []
    for count in (0, 1, 2, 7, 7, 30, 30):
        values = rng.random(count)
        samples += [(values, None), (values, rng.integers(0, 1 + count // 2, count))]
    alone = [bootstrap_mean(values, clusters) for values, clusters in samples]
    # NaN is not equal to itself.
    assert repr(bootstrap_each_mean(samples)) == repr(alone)
