"""Bootstrap intervals of means, and the paired test of two segmenters on the same targets.

Values that share an image are not independent; with `clusters` (image ids) whole images are drawn or flipped. All
randomness comes from `seed`, so the same values in the same order give the same interval everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

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
"""With more clusters the normal approximation replaces draws, which would take seconds and be less exact."""
_ROUNDING = (
    1e-12  # sums of the same numbers in another order differ by less, relative to their size
)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap interval.

    Attributes:
        mean: NaN when there are no values.
        low: lower end; NaN when there are fewer than two clusters, which show no spread.
        high: upper end; NaN likewise.
        n: how many values.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How two segmenters differ on the same targets.

    Attributes:
        difference: mean of first minus second.
        low: lower end of the interval that the test gives; NaN where the clusters are too few for the test to reject
            any difference: fewer than 6 at a level of 0.95.
        high: upper end.
        p_value: two-sided sign-flip permutation test of "no difference"; at most 1 - level where, and only where, the
            interval leaves out zero.
        n: how many pairs.
        clusters: how many of them are independent.
        better: share of pairs where the first is strictly better.
        ties: share of pairs that are equal.
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
        """Return the difference of the second minus the first; `better` remains that of the first."""
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

    With clusters, clusters are drawn with replacement and the mean is that of all their values. Values that are
    all equal give an interval of width 0; no values give NaN; one cluster gives the mean without an interval. Above
    `MAX_DRAWN_CLUSTERS` clusters the interval is the normal one that draws tend to.

    >>> bootstrap_mean([0.5, 0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5, n=4)
    >>> bootstrap_mean([0.5, 0.9], clusters=["photograph", "photograph"])
    Interval(mean=0.7, low=nan, high=nan, n=2)

    Args:
        values: (n,), finite.
        clusters: cluster id of each value, n hashable and sortable ids; None: one cluster per
            value.
        repeats: bootstrap samples.
        level: share of them inside the interval.
        seed: seed of the resampling.

    Raises:
        InvalidInput: not one axis, not finite, another number of clusters, `repeats` below 1 or `level` not in (0, 1).
    """
    sums, sizes, mean = _clustered(values, clusters)
    low, high = _interval(sums, sizes, repeats, level, np.random.default_rng(seed))
    return Interval(mean, low, high, int(sizes.sum()))


def bootstrap_means(
    values: ArrayLike, clusters: Sequence[Any] | NDArray[Any] | None = None
) -> list[Interval]:
    """Return `bootstrap_mean` of each row of values, (rows, n), ignoring NaN.

    Rows with values at the same targets share their draws.

    >>> bootstrap_means([[0.5, 0.9], [0.5, math.nan]])
    [Interval(mean=0.7, low=0.5, high=0.9, n=2), Interval(mean=0.5, low=nan, high=nan, n=1)]

    Raises:
        InvalidInput: as `bootstrap_mean`.
    """
    given = np.asarray(values, dtype=np.float64)
    ids = np.arange(given.shape[1]) if clusters is None else np.asarray(clusters)
    intervals = [Interval(math.nan, math.nan, math.nan, 0)] * len(given)
    if not len(given):
        return intervals
    is_known = np.isfinite(given)
    for pattern in np.unique(is_known, axis=0):
        rows = np.flatnonzero((is_known == pattern).all(axis=1))
        found = _means_alike(given[rows][:, pattern], ids[pattern])
        for row, interval in zip(rows, found, strict=True):
            intervals[row] = interval
    return intervals


def _means_alike(values: NDArray[np.float64], clusters: NDArray[Any]) -> Iterator[Interval]:
    """Yield the interval of each row of values without NaN, from shared draws."""
    count = len(set(clusters.tolist()))
    if not 2 <= count <= MAX_DRAWN_CLUSTERS:
        yield from (bootstrap_mean(row, clusters) for row in values)
        return
    belongs = np.unique(clusters, return_inverse=True)[1]
    order = np.argsort(belongs, kind="stable")
    starts = np.flatnonzero(np.diff(belongs[order], prepend=-1))
    sums = np.add.reduceat(values[:, order], starts, axis=1)
    sizes = np.bincount(belongs).astype(np.float64)
    means: list[NDArray[np.float64]] = []
    for counts in draw_counts(
        count, 2000, np.random.default_rng(0)
    ):  # the defaults of bootstrap_mean
        drawn_sizes = (counts @ sizes)[:, None]
        means.append(counts @ sums.T / drawn_sizes)
    lows, highs = np.quantile(np.concatenate(means), tail_shares(0.95), axis=0).tolist()
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
    """Return how `first` differs from `second`, value by value.

    The permutation test flips the sign of each cluster's differences together. All 2 ** clusters flips are
    tried when they are no more than `repeats`; otherwise `repeats` random ones, and p is (1 + hits) / (1 + repeats).
    The interval holds the differences that the same flips do not reject. Above `MAX_DRAWN_CLUSTERS` clusters both are
    the normal approximations to which flips converge. No pairs give NaN everywhere; one cluster has p 1 and no
    interval.

    >>> found = paired_difference([0.75, 0.5, 1.0], [0.5, 0.25, 0.75])
    >>> found.difference, found.p_value, found.better
    (0.25, 0.25, 1.0)

    Args:
        first: (n,) values of one segmenter.
        second: (n,) values of the other on the same targets, in the same order.
        clusters: as `bootstrap_mean`.
        higher_is_better: which way `better` counts.
        repeats: random flips.
        level: level of the interval.
        seed: seed of the flips.

    Raises:
        InvalidInput: lengths differ, or as `bootstrap_mean`.

    Source: the interval, Hartigan, Using subsample values as typical values, JASA 64 (1969): flipping the signs of
    some clusters gives a total as far from 0 as the one seen where the mean of these clusters is beyond the difference.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    if one.shape != two.shape:
        raise InvalidInput(
            f"paired values: expected as many of each, got shapes {one.shape} and {two.shape}"
        )
    differences = one - two
    sums, sizes, mean = _clustered(differences, clusters)
    check_bootstrap(repeats, level)
    p_value, low, high = _sign_flips(sums, sizes, repeats, level, np.random.default_rng(seed))
    n = len(differences)
    wins = differences > 0 if higher_is_better else differences < 0
    return PairedDifference(
        difference=mean,
        low=low,
        high=high,
        p_value=p_value,
        n=n,
        clusters=len(sums),
        better=float(np.mean(wins)) if n else math.nan,
        ties=float(np.mean(differences == 0)) if n else math.nan,
    )


def _clustered(
    values: ArrayLike, clusters: Sequence[Any] | NDArray[Any] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the sum and number of values of each cluster, and the mean of all values."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1:
        raise InvalidInput(f"values: expected one axis, got shape {given.shape}")
    if not np.isfinite(given).all():
        raise InvalidInput(
            "values: contain NaN or infinity; leave out the targets where the statistic is not defined"
        )
    mean = float(given.mean()) if len(given) else math.nan
    if clusters is None:
        return given, np.ones(len(given)), mean
    if len(clusters) != len(given):
        raise InvalidInput(
            f"clusters: expected one id per value, {len(given)}, got {len(clusters)}"
        )
    belongs = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(belongs, weights=given).astype(np.float64)
    return sums, np.bincount(belongs).astype(np.float64), mean


def _interval(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    repeats: int,
    level: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    check_bootstrap(repeats, level)
    if len(sums) < 2:
        return math.nan, math.nan
    if len(sums) > MAX_DRAWN_CLUSTERS:
        return _normal_interval(sums, sizes, level)
    is_one_size = bool((sizes == sizes[0]).all())
    means: list[NDArray[np.float64]] = []
    for drawn in draw_units(len(sums), repeats, rng):
        # Mostly all clusters have one size; every draw then has the same number of values.
        drawn_sizes = sizes[0] * len(sizes) if is_one_size else sizes.take(drawn).sum(axis=1)
        means.append(sums.take(drawn).sum(axis=1) / drawn_sizes)
    return percentile_interval(np.concatenate(means), level)


def _normal_interval(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], level: float
) -> tuple[float, float]:
    """Return the normal interval to which the bootstrap converges."""
    mean, spread = _normal(sums, sizes)
    reach = NormalDist().inv_cdf(0.5 + level / 2) * spread
    return mean - reach, mean + reach


def _normal(sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the standard error of a ratio of sums over clusters."""
    mean = float(sums.sum() / sizes.sum())
    residuals = sums - mean * sizes
    return mean, math.sqrt(float((residuals**2).sum())) / float(sizes.sum())


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
        mean, spread = _normal(sums, sizes)
        p_value = 2 * NormalDist().cdf(-abs(mean) / spread) if spread else float(mean == 0)
        return p_value, *_normal_interval(sums, sizes, level)
    is_exact = 1 << count <= repeats
    clusters = np.stack([sums, sizes], axis=1)
    flipped = np.concatenate(list(_flipped(clusters, repeats, rng, is_exact=is_exact)))
    total = sums.sum()
    rounding = _ROUNDING * np.abs(sums).sum()
    flipped_totals = np.abs(total - 2 * flipped[:, 0])
    hits = np.count_nonzero(flipped_totals >= abs(total) - rounding)
    # Random flips include the observed signs, as one flip that always reaches the total.
    extra = 0 if is_exact else 1
    tried = len(flipped) + extra
    # Each flip divides the clusters in two sides: the flipped ones, and the others.
    sides = np.concatenate([flipped, np.array([total, sizes.sum()]) - flipped])
    has_values = sides[:, 1] > 0
    side_sums = np.where(np.abs(sides[:, 0]) <= rounding, 0, sides[:, 0])
    means = np.sort(side_sums[has_values] / sides[has_values, 1])
    # The test does not reject a difference that has at least this many side means on either side of it; sides without
    # clusters count for both. Rounding to nine digits keeps (1 - level) * tried from falling just below an integer.
    empty_sides = np.count_nonzero(~has_values)
    needed = math.floor(round((1 - level) * tried, 9) - extra - empty_sides) + 1
    if needed < 1:
        ends = (math.nan, math.nan)
    else:
        ends = (float(means[needed - 1]), float(means[-needed]))
    return float((extra + hits) / tried), *ends


def _flipped(
    values: NDArray[np.float64], repeats: int, rng: np.random.Generator, *, is_exact: bool
) -> Iterator[NDArray[np.float64]]:
    """Yield the sums of `values` (clusters, ...) over the flipped clusters, of every flip or of random ones."""
    count = len(values)
    if is_exact:
        flips = np.arange(1 << count)[:, None]
        yield (flips >> np.arange(count) & 1) @ values
        return
    for part in row_chunks(repeats, count, most=_AT_ONCE):
        is_flipped = rng.integers(2, size=(part.stop - part.start, count), dtype=np.int8)
        yield is_flipped @ values
