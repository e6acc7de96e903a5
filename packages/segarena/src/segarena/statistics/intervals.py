"""Bootstrap intervals of means, and the paired test of two segmenters on the same targets.

Values that share an image are not independent; with `clusters` (image ids), the bootstrap resamples
whole images, and the test flips the signs of all values of an image together. All randomness comes
from `seed`, so the same values in the same order give the same interval everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import (
    check_bootstrap,
    draw_counts,
    draw_units,
    percentile_interval,
    tail_shares,
)

_AT_ONCE = 1 << 21  # signs in memory at a time: 2 MB, and 16 MB where they are multiplied
MAX_DRAWN_CLUSTERS = 50_000
"""Above this many clusters the normal approximation replaces resampling, which would take seconds and be less exact."""
# Relative rounding error: sums of the same values in another order differ by less.
_ROUNDING = 1e-12
# The defaults of `bootstrap_mean`.
_REPEATS = 2000
_LEVEL = 0.95
_SEED = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap interval.

    Attributes:
        mean: NaN if there are no values.
        low: lower end; NaN for fewer than two clusters, which show no spread.
        high: upper end; NaN for fewer than two clusters.
        n: number of values.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Difference of two segmenters on the same targets.

    Attributes:
        difference: mean of first minus second.
        low: lower end of the interval that the test gives; NaN if there are too few clusters for the test to reject
            any difference: fewer than 6 at a level of 0.95.
        high: upper end of the interval.
        p_value: p-value of the two-sided sign-flip permutation test of "no difference"; it is at most 1 - level if and
            only if the interval excludes zero.
        n: number of pairs.
        clusters: number of independent clusters of pairs.
        better: share of pairs in which the first is strictly better.
        ties: share of equal pairs.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int
    clusters: int
    better: float
    ties: float

    def turned(self) -> PairedDifference:
        """Return the difference of the second minus the first; `better` still refers to the first."""
        # Subtract from 0 instead of negating, so that a difference of 0 does not become -0.0.
        return replace(self, difference=0 - self.difference, low=0 - self.high, high=0 - self.low)


def bootstrap_mean(
    values: ArrayLike,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    *,
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the mean of `values` with its percentile bootstrap interval.

    With clusters, clusters are resampled with replacement, and the mean is taken over all their
    values. Equal values give an interval of width 0, no values give NaN, and a single cluster gives
    the mean without an interval. Above `MAX_DRAWN_CLUSTERS` clusters the interval is the normal
    approximation to which the bootstrap converges.

    >>> bootstrap_mean([0.5, 0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5, n=4)
    >>> bootstrap_mean([0.5, 0.9], clusters=["photograph", "photograph"])
    Interval(mean=0.7, low=nan, high=nan, n=2)

    Args:
        values: (n,), finite.
        clusters: cluster id of each value, n hashable and sortable ids; None: one cluster per
            value.
        repeats: number of bootstrap samples.
        level: share of the samples inside the interval.
        seed: seed of the resampling.

    Raises:
        InvalidInput: values do not have one axis or are not finite, the number of clusters differs, `repeats`
            is below 1, or `level` is not in (0, 1).
    """
    check_bootstrap(repeats, level)
    (interval,) = _intervals([_sum_clusters(values, clusters)], repeats, level, seed)
    return interval


def bootstrap_each_mean(
    samples: Sequence[tuple[ArrayLike, Sequence[Any] | NDArray[Any] | None]],
) -> list[Interval]:
    """Return the result of `bootstrap_mean` for each (values, clusters), equal bit for bit.

    Samples with equally many clusters share the random draws, which take most of the time.

    >>> bootstrap_each_mean([([0.5, 0.9], None), ([0.5, 0.5], None)])
    [Interval(mean=0.7, low=0.5, high=0.9, n=2), Interval(mean=0.5, low=0.5, high=0.5, n=2)]

    Raises:
        InvalidInput: see `bootstrap_mean`.
    """
    # A generator, so that the totals of large samples, which are not drawn, are in memory one at a time.
    totals = (_sum_clusters(values, clusters) for values, clusters in samples)
    return _intervals(totals, _REPEATS, _LEVEL, _SEED)


def bootstrap_means(
    values: ArrayLike, clusters: Sequence[Any] | NDArray[Any] | None = None
) -> list[Interval]:
    """Return `bootstrap_mean` of each row of values, (rows, n), ignoring NaN and infinity.

    Rows with values at the same targets share their bootstrap samples.

    >>> bootstrap_means([[0.5, 0.9], [0.5, math.nan]])
    [Interval(mean=0.7, low=0.5, high=0.9, n=2), Interval(mean=0.5, low=nan, high=nan, n=1)]

    Raises:
        InvalidInput: the number of clusters is not that of columns.
    """
    table = np.asarray(values, dtype=np.float64)
    if clusters is None:
        ids = np.arange(table.shape[1])
    else:
        ids = np.asarray(clusters)
    intervals = [Interval(math.nan, math.nan, math.nan, 0)] * len(table)
    if not len(table):
        return intervals
    if len(ids) != table.shape[1]:
        raise InvalidInput(
            f"clusters: expected one id per column, {table.shape[1]}, got {len(ids)}"
        )
    is_known = np.isfinite(table)
    # Rows with the same gaps can share their bootstrap samples.
    for pattern in np.unique(is_known, axis=0):
        rows = np.flatnonzero((is_known == pattern).all(axis=1))
        complete = table[rows][:, pattern]
        row_intervals = _intervals_of_rows(complete, ids[pattern])
        for row, interval in zip(rows, row_intervals, strict=True):
            intervals[row] = interval
    return intervals


def _intervals_of_rows(values: NDArray[np.float64], clusters: NDArray[Any]) -> Iterator[Interval]:
    """Yield the interval of each row of values without NaN, from shared bootstrap samples."""
    count = len(set(clusters.tolist()))
    # These cases need no resampling, so there is nothing to share between rows.
    if not 2 <= count <= MAX_DRAWN_CLUSTERS:
        yield from (bootstrap_mean(row, clusters) for row in values)
        return
    _, cluster_of = np.unique(clusters, return_inverse=True)
    # `reduceat` sums adjacent values, so bring the values of each cluster together first.
    order = np.argsort(cluster_of, kind="stable")
    starts = np.flatnonzero(np.diff(cluster_of[order], prepend=-1))
    sums = np.add.reduceat(values[:, order], starts, axis=1)
    sizes = np.bincount(cluster_of).astype(np.float64)
    rng = np.random.default_rng(_SEED)
    means: list[NDArray[np.float64]] = []
    for counts in draw_counts(count, _REPEATS, rng):
        drawn_sizes = (counts @ sizes)[:, None]
        means.append(counts @ sums.T / drawn_sizes)
    quantiles = np.quantile(np.concatenate(means), tail_shares(_LEVEL), axis=0)
    lows, highs = quantiles.tolist()
    for row, low, high in zip(values, lows, highs, strict=True):
        yield Interval(float(row.mean()), low, high, len(row))


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Sequence[Any] | NDArray[Any] | None = None,
    *,
    higher_is_better: bool = True,
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> PairedDifference:
    """Test how `first` differs from `second`, value by value.

    The permutation test flips the signs of each cluster's differences together. A hit is a flip
    whose total is at least as far from 0 as the observed one. If the number of possible flips,
    2 ** clusters, is at most `repeats`, all are evaluated, and p is the share of hits. Otherwise
    `repeats` random flips are evaluated, and p is (1 + hits) / (1 + repeats). The interval contains
    the differences that the same flips do not reject. Above `MAX_DRAWN_CLUSTERS` clusters, p and
    the interval are normal approximations, to which the flips converge. Without pairs all values
    but the two counts are NaN; a single cluster has p 1 and no interval.

    >>> found = paired_difference([0.75, 0.5, 1.0], [0.5, 0.25, 0.75])
    >>> found.difference, found.p_value, found.better
    (0.25, 0.25, 1.0)

    Args:
        first: (n,) values of one segmenter.
        second: (n,) values of the other segmenter on the same targets, in the same order.
        clusters: see `bootstrap_mean`.
        higher_is_better: whether higher values count as better in `better`.
        repeats: maximum number of flips.
        level: level of the interval.
        seed: seed of the random flips.

    Raises:
        InvalidInput: lengths differ, or see `bootstrap_mean`.

    Source of the interval: Hartigan, Using subsample values as typical values, JASA 64 (1969).
    Flipping the signs of some clusters gives a total at least as far from 0 as the observed one if
    the tested difference lies between the mean of these clusters and the mean of all clusters.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    if one.shape != two.shape:
        raise InvalidInput(f"paired values: expected equal shapes, got {one.shape} and {two.shape}")
    differences = one - two
    sums, sizes, mean = _sum_clusters(differences, clusters)
    check_bootstrap(repeats, level)
    rng = np.random.default_rng(seed)
    p_value, low, high = _sign_flips(sums, sizes, repeats, level, rng)
    is_better = differences > 0 if higher_is_better else differences < 0
    better = math.nan
    ties = math.nan
    if len(differences):
        better = float(np.mean(is_better))
        ties = float(np.mean(differences == 0))
    return PairedDifference(
        difference=mean,
        low=low,
        high=high,
        p_value=p_value,
        n=len(differences),
        clusters=len(sums),
        better=better,
        ties=ties,
    )


_ClusterTotals: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], float]
"""Sum and number of the values of each cluster, and the mean of all values."""


def _sum_clusters(
    values: ArrayLike, clusters: Sequence[Any] | NDArray[Any] | None
) -> _ClusterTotals:
    """Return the sum and the number of values of each cluster, and the mean of all values."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InvalidInput(f"values: expected one axis, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInput(
            "values: expected finite numbers, got NaN or infinity; leave out targets without the statistic"
        )
    count = len(array)
    mean = float(array.mean()) if count else math.nan
    if clusters is None:
        return array, np.ones(count), mean
    if len(clusters) != count:
        raise InvalidInput(f"clusters: expected one id per value, {count}, got {len(clusters)}")
    _, cluster_of = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(cluster_of, weights=array)
    sizes = np.bincount(cluster_of)
    return sums.astype(np.float64), sizes.astype(np.float64), mean


def _intervals(
    totals: Iterable[_ClusterTotals],
    repeats: int,
    level: float,
    seed: int,
) -> list[Interval]:
    """Return the interval of each sample, drawn with a generator from `seed` as if the sample were alone."""
    intervals: list[Interval] = []
    # By number of clusters: (index of the sample, sums, sizes).
    to_draw: dict[int, list[tuple[int, NDArray[np.float64], NDArray[np.float64]]]] = {}
    for index, (sums, sizes, mean) in enumerate(totals):
        low = math.nan
        high = math.nan
        if len(sums) > MAX_DRAWN_CLUSTERS:
            low, high = _normal_interval(sums, sizes, level)
        elif len(sums) >= 2:
            to_draw.setdefault(len(sums), []).append((index, sums, sizes))
        intervals.append(Interval(mean, low, high, int(sizes.sum())))
    for count, samples in to_draw.items():
        means: list[list[NDArray[np.float64]]] = [[] for _ in samples]
        # Equal seeds and counts give equal draws.
        for drawn in draw_units(count, repeats, np.random.default_rng(seed)):
            for own_means, (_, sums, sizes) in zip(means, samples, strict=True):
                own_means.append(_drawn_means(sums, sizes, drawn))
        for own_means, (index, _, _) in zip(means, samples, strict=True):
            low, high = percentile_interval(np.concatenate(own_means), level)
            intervals[index] = replace(intervals[index], low=low, high=high)
    return intervals


def _drawn_means(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    drawn: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the mean of each bootstrap sample, from the indices of its clusters (draws, clusters)."""
    # If all clusters have one size, as is common, every bootstrap sample has the same number of
    # values.
    if bool((sizes == sizes[0]).all()):
        drawn_sizes = sizes[0] * len(sizes)
    else:
        drawn_sizes = sizes.take(drawn).sum(axis=1)
    return sums.take(drawn).sum(axis=1) / drawn_sizes


def _normal_interval(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    level: float,
) -> tuple[float, float]:
    """Return the normal interval to which the bootstrap converges."""
    mean, standard_error = _ratio_of_sums(sums, sizes)
    quantile = NormalDist().inv_cdf(0.5 + level / 2)
    reach = quantile * standard_error
    return mean - reach, mean + reach


def _ratio_of_sums(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the standard error of a ratio of sums over clusters."""
    total_size = sizes.sum()
    mean = float(sums.sum() / total_size)
    residuals = sums - mean * sizes
    squares = float((residuals**2).sum())
    standard_error = math.sqrt(squares) / float(total_size)
    return mean, standard_error


def _sign_flips(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    repeats: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Return the two-sided p-value of the total under random signs, and the interval of the mean."""
    count = len(sums)
    if not count:
        return math.nan, math.nan, math.nan
    if count > MAX_DRAWN_CLUSTERS:
        mean, standard_error = _ratio_of_sums(sums, sizes)
        if standard_error:
            p_value = 2 * NormalDist().cdf(-abs(mean) / standard_error)
        else:
            # Without variation every flip of a mean of 0 ties with it, and no flip reaches any
            # other mean.
            p_value = float(mean == 0)
        low, high = _normal_interval(sums, sizes, level)
        return p_value, low, high
    # Evaluate all flips if there are few, which makes the p-value exact and independent of the
    # seed.
    is_exact = 1 << count <= repeats
    clusters = np.stack([sums, sizes], axis=1)
    chunks = list(_sum_flipped(clusters, repeats, rng, is_exact=is_exact))
    flipped = np.concatenate(chunks)
    total = sums.sum()
    rounding = _ROUNDING * np.abs(sums).sum()
    # Flipping the sign of a cluster subtracts its sum twice.
    flipped_totals = np.abs(total - 2 * flipped[:, 0])
    # Ties count as hits; the tolerance keeps rounding from breaking them.
    hits = np.count_nonzero(flipped_totals >= abs(total) - rounding)
    # The observed signs count as one of the random flips, which always reaches the total.
    extra = 0 if is_exact else 1
    tried = len(flipped) + extra
    # Each flip divides the clusters into two sides: the flipped ones, and the others.
    others = np.array([total, sizes.sum()]) - flipped
    sides = np.concatenate([flipped, others])
    side_sums, side_sizes = sides.T
    # Rounding must not move a side mean of exactly 0 to either side of 0.
    side_sums = np.where(np.abs(side_sums) <= rounding, 0, side_sums)
    has_values = side_sizes > 0
    means = np.sort(side_sums[has_values] / side_sizes[has_values])
    # The test does not reject a difference if at least `needed` side means are at most as high, and
    # at least `needed` are at least as high; a side without clusters counts for both. Rounding to
    # nine digits keeps (1 - level) * tried from falling just below an integer.
    empty_sides = np.count_nonzero(~has_values)
    rejected = round((1 - level) * tried, 9)
    needed = math.floor(rejected - extra - empty_sides) + 1
    low = math.nan
    high = math.nan
    if needed >= 1:
        low = float(means[needed - 1])
        high = float(means[-needed])
    p_value = float((extra + hits) / tried)
    return p_value, low, high


def _sum_flipped(
    values: NDArray[np.float64],
    repeats: int,
    rng: np.random.Generator,
    *,
    is_exact: bool,
) -> Iterator[NDArray[np.float64]]:
    """Yield the sums of `values` (clusters, ...) over the flipped clusters, for every flip or for random flips."""
    count = len(values)
    if is_exact:
        # Bit k of a flip's index is set if cluster k is flipped.
        flips = np.arange(1 << count)[:, None]
        is_flipped = flips >> np.arange(count) & 1
        yield is_flipped @ values
        return
    for chunk in row_chunks(repeats, count, most=_AT_ONCE):
        flips_in_chunk = chunk.stop - chunk.start
        is_flipped = rng.integers(2, size=(flips_in_chunk, count), dtype=np.int8)
        yield is_flipped @ values
