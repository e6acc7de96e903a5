"""How sure a mean is: bootstrap intervals, and paired comparison of two segmenters on the same targets.

Values that share an image are not independent; `clusters` (image ids) resamples whole images instead. All
randomness comes from `seed`, so the same values in the same order give the same interval everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import chunks
from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import check_bootstrap, percentile_interval, units_drawn

_AT_ONCE = 1 << 21  # signs held at once: 2 MB, and 16 MB where they are multiplied
MANY = 50_000
"""With more clusters nothing is drawn: that would take seconds, and tell less than the limit that draws tend to."""
_TINY = 1e-12  # sums of the same numbers in another order differ by less, relative to their size


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap interval.

    Attributes:
        mean: NaN when there are no values.
        low: lower end; NaN when there are fewer than two clusters, for then no spread can be seen.
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
        low: lower end of its bootstrap interval; NaN with fewer than two clusters.
        high: upper end.
        p_value: two-sided sign-flip permutation test of "no difference".
        n: how many pairs.
        better: share of pairs where the first is strictly better.
        ties: share of pairs that are equal.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int
    better: float
    ties: float


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
    `MANY` clusters the interval is the normal one that draws tend to.

    >>> bootstrap_mean([0.5, 0.5, 0.5, 0.5])
    Interval(mean=0.5, low=0.5, high=0.5, n=4)
    >>> bootstrap_mean([0.5, 0.9], clusters=["photograph", "photograph"])
    Interval(mean=0.7, low=nan, high=nan, n=2)

    Args:
        values: (n,), finite.
        clusters: what each value belongs to, n hashable and sortable ids; None: each value by itself.
        repeats: bootstrap samples.
        level: share of them inside the interval.
        seed: of the resampling.

    Raises:
        InvalidInput: not one axis, not finite, another number of clusters, `repeats` below 1 or `level` not in (0, 1).
    """
    sums, sizes, mean = _clustered(values, clusters)
    low, high = _interval(sums, sizes, repeats, level, np.random.default_rng(seed))
    return Interval(mean, low, high, int(sizes.sum()))


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
    No pairs give NaN everywhere; one cluster has p 1 and no interval.

    >>> found = paired_difference([0.75, 0.5, 1.0], [0.5, 0.25, 0.75])
    >>> found.difference, found.p_value, found.better
    (0.25, 0.25, 1.0)

    Args:
        first: (n,) values of one segmenter.
        second: (n,) values of the other on the same targets, in the same order.
        clusters: as `bootstrap_mean`.
        higher_is_better: which way `better` counts.
        repeats: bootstrap samples, and random flips.
        level: of the interval.
        seed: of both.

    Raises:
        InvalidInput: lengths differ, or as `bootstrap_mean`.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape:
        raise InvalidInput(f"paired values: expected as many of each, got shapes {one.shape} and {two.shape}")
    differences = one - two
    sums, sizes, mean = _clustered(differences, clusters)
    rng = np.random.default_rng(seed)
    low, high = _interval(sums, sizes, repeats, level, rng)
    n = len(differences)
    wins = differences > 0 if higher_is_better else differences < 0
    return PairedDifference(
        difference=mean,
        low=low,
        high=high,
        p_value=_sign_flip_p(sums, repeats, rng),
        n=n,
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
        raise InvalidInput("values: contain NaN or infinity; leave out the targets where the statistic is not defined")
    mean = float(given.mean()) if len(given) else math.nan
    if clusters is None:
        return given, np.ones(len(given)), mean
    if len(clusters) != len(given):
        raise InvalidInput(f"clusters: expected one id per value, {len(given)}, got {len(clusters)}")
    belongs = np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(belongs, weights=given).astype(np.float64)
    return sums, np.bincount(belongs).astype(np.float64), mean


def _interval(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], repeats: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    check_bootstrap(repeats, level)
    if len(sums) < 2:
        return math.nan, math.nan
    if len(sums) > MANY:
        return _normal_interval(sums, sizes, level)
    # Most often all clusters are of one size: what a draw has of values is known then.
    size = sizes[0] * len(sizes) if (sizes == sizes[0]).all() else None
    means = [
        sums.take(drawn).sum(axis=1) / (sizes.take(drawn).sum(axis=1) if size is None else size)
        for drawn in units_drawn(len(sums), repeats, rng)
    ]
    return percentile_interval(np.concatenate(means), level)


def _normal_interval(sums: NDArray[np.float64], sizes: NDArray[np.float64], level: float) -> tuple[float, float]:
    """Return the interval that draws tend to: a normal one, with the spread of a ratio of sums over clusters."""
    mean = float(sums.sum() / sizes.sum())
    spread = math.sqrt(float(((sums - mean * sizes) ** 2).sum())) / float(sizes.sum())
    reach = NormalDist().inv_cdf(0.5 + level / 2) * spread
    return mean - reach, mean + reach


def _sign_flip_p(sums: NDArray[np.float64], repeats: int, rng: np.random.Generator) -> float:
    """Return how often a random sign for each cluster gives a total at least as far from 0 as the one seen."""
    count = len(sums)
    if not count:
        return math.nan
    least = abs(sums.sum()) - _TINY * np.abs(sums).sum()
    if 1 << count <= repeats:
        flips = np.arange(1 << count)[:, None] >> np.arange(count) & 1
        return float(np.mean(np.abs(sums.sum() - 2 * (flips @ sums)) >= least))
    hits = 0
    for part in chunks(repeats, count, most=_AT_ONCE):
        flips = rng.integers(2, size=(part.stop - part.start, count), dtype=np.int8)
        hits += np.count_nonzero(np.abs(sums.sum() - 2 * (flips @ sums)) >= least)
    return (1 + hits) / (1 + repeats)
