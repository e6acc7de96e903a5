"""Paired permutation tests of all pairs of segmenters on the same targets, corrected for multiple testing.

If each pair is tested separately at 5 %, about ten pairs among twenty equal segmenters appear
different. A correction of single p-values, such as Holm's, cannot reject anything once there are
more pairs than random flips can resolve: 1 / 2001 times 105 pairs is above 5 %. Here, every flip
therefore contributes a single value, the largest statistic among the pairs, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import check_bootstrap

Floats = NDArray[np.float64]
_Single = NDArray[np.float32]

_MAX_CELLS = 1 << 19  # numbers in memory at a time: 2 MB, which stay in the cache
_MAX_SIGNS = 1 << 24  # signs in memory at a time: 64 MB as float32
_TIE = 1 - 1e-5
"""A statistic of at least this share of the observed one reaches it; rounding in single precision changes less."""


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseTests:
    """Tests of every segmenter against every other.

    Attributes:
        differences: (segmenters, segmenters), values of the row minus values of the column on their common targets:
            mean over each cluster, then mean over the clusters; NaN without common targets.
        p_values: (segmenters, segmenters), for "no difference", corrected for all pairs; 1 for a
            pair without common targets or without any difference.
    """

    differences: Floats
    p_values: Floats

    def ahead(self, *, higher_is_better: bool = True, level: float = 0.05) -> NDArray[np.bool_]:
        """Return True where the row's segmenter is significantly better than the column's, by corrected p-values."""
        leads = self.differences > 0 if higher_is_better else self.differences < 0
        return leads & (self.p_values <= level)


def rank_ranges(ahead: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst possible rank of each segmenter, given the significant wins.

    >>> [ends.tolist() for ends in rank_ranges(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))]
    [[1, 1, 3], [2, 2, 3]]
    """
    better = ahead.sum(axis=0)
    worse = ahead.sum(axis=1)
    best_ranks = 1 + better
    worst_ranks = len(ahead) - worse
    return best_ranks, worst_ranks


def compare_all_pairs(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    repeats: int = 2000,
    seed: int = 0,
) -> PairwiseTests:
    """Test every pair of segmenters on the same targets, with p-values corrected for all pairs.

    Each flip changes the signs of the mean differences of some clusters, the same ones for all
    pairs. If there are at most `repeats` possible flips, all are evaluated; otherwise, `repeats`
    random ones and the observed signs. The statistic of a pair is the absolute sum of its mean
    differences divided by the root of their sum of squares; every cluster has equal weight, because
    otherwise a cluster with many targets would dominate. The p-value is the share of flips in which
    the largest statistic among the pair and all pairs with smaller statistics reaches the observed
    one, or the p-value of a pair with a larger statistic if that is higher. For a single pair with
    clusters of one size it equals that of `segarena.statistics.intervals.paired_difference`. With
    fewer than six clusters no pair can differ at 5 %.

    >>> found = compare_all_pairs([[1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7]])
    >>> found.differences.tolist(), found.p_values.tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.03125], [0.03125, 1.0]])

    Args:
        values: (segmenters, targets), NaN for missing values; a pair is compared on its common targets.
        clusters: (targets,) cluster id of each target; None: each target is its own cluster.
        repeats: maximum number of flips.
        seed: seed of the random flips.

    Raises:
        InvalidInput: values do not have two axes or are infinite, the number of cluster ids differs from that of
            targets, or `repeats` is below 1.

    Source: the step-down method of Westfall and Young, Resampling-based multiple testing (1993),
    section 2.6, here with sign flips. Romano and Wolf, Exact and approximate stepdown methods for
    multiple hypothesis testing, JASA 100 (2005), show why it bounds the probability of any false
    difference by the level.
    """
    check_bootstrap(repeats, 0.95)
    table, starts = _sort_by_cluster(values, clusters)
    segmenters, targets = table.shape
    rows, columns = np.triu_indices(segmenters, 1)
    differences = np.full((segmenters, segmenters), np.nan)
    p_values = np.ones((segmenters, segmenters))
    has_values = np.isfinite(table).any(axis=1)
    np.fill_diagonal(differences, np.where(has_values, 0.0, np.nan))
    if not len(rows) or not targets:
        return PairwiseTests(differences, p_values)
    step_down = _StepDown(table, starts, rows, columns)
    differences[rows, columns] = step_down.means
    differences[columns, rows] = 0 - step_down.means  # no negative zeros
    corrected = step_down.p_values(repeats, np.random.default_rng(seed))
    p_values[rows, columns] = corrected
    p_values[columns, rows] = corrected
    return PairwiseTests(differences, p_values)


def _sort_by_cluster(
    values: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values with the targets of each cluster side by side, and the start index of each cluster."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise InvalidInput(
            f"values: expected (segmenters, targets) without infinity, got shape {table.shape}"
        )
    targets = table.shape[1]
    if clusters is None:
        cluster_of = np.arange(targets)
    else:
        _, cluster_of = np.unique(np.asarray(clusters), return_inverse=True)
    if len(cluster_of) != targets:
        raise InvalidInput(
            f"clusters: expected one id per target, {targets}, got {len(cluster_of)}"
        )
    order = np.argsort(cluster_of, kind="stable")
    changes = np.diff(cluster_of[order], prepend=-1)
    return table[:, order], np.flatnonzero(changes)


class _StepDown:
    """Step-down test of all pairs, in ascending order of their statistics."""

    def __init__(
        self,
        values: Floats,
        starts: NDArray[np.int64],
        rows: NDArray[Any],
        columns: NDArray[Any],
    ) -> None:
        self._values = values
        self._starts = starts
        self._rows = rows
        self._columns = columns
        # Without gaps, the difference of a pair is that of two rows of cluster means, which are
        # computed once.
        self._cluster_means: Floats | None = None
        if np.isfinite(values).all():
            self._cluster_means = self._by_cluster(values)
        pair_count = len(rows)
        self.means = np.full(pair_count, np.nan)
        totals = np.empty(pair_count)
        norms = np.empty(pair_count)
        for chunk in row_chunks(pair_count, values.shape[1], most=_MAX_CELLS):
            differences = self._differences(np.arange(chunk.start, chunk.stop))
            shared = np.full(len(differences), len(starts))
            if self._cluster_means is None:
                is_shared = np.isfinite(differences)
                shared = is_shared.sum(axis=1)
                differences = np.where(is_shared, differences, 0.0)
            totals[chunk] = differences.sum(axis=1)
            norms[chunk] = np.sqrt(np.square(differences).sum(axis=1))
            np.divide(totals[chunk], shared, out=self.means[chunk], where=shared > 0)
        # A pair without any difference gets weight 0, and never reaches the statistic of another
        # pair.
        weights = np.zeros(pair_count)
        np.divide(1.0, norms, out=weights, where=norms > 0)
        # Single precision halves the time of the matrix products; `_TIE` allows for its rounding.
        self._weights = weights.astype(np.float32)
        self._observed = (np.abs(totals) * self._weights).astype(np.float32)
        self._order = np.argsort(self._observed, kind="stable")

    def p_values(self, repeats: int, rng: np.random.Generator) -> Floats:
        """Return the p-value of each pair."""
        count = len(self._starts)
        # The first condition keeps the bit shift small, whatever the number of clusters.
        is_exact = count < repeats.bit_length() and 1 << count <= repeats
        # The observed signs count as one of the random flips, which always reaches the statistic.
        observed_flips = 0 if is_exact else 1
        hits = np.zeros(len(self._rows), dtype=np.int64)
        tried = observed_flips
        for signs in _signs(count, repeats, rng, is_exact=is_exact):
            hits += self._hits(signs)
            tried += signs.shape[1]
        p_values = (hits + observed_flips) / tried
        # The step-down rule: a pair's p-value is at least that of any pair with a larger statistic.
        largest_first = self._order[::-1]
        p_values[largest_first] = np.maximum.accumulate(p_values[largest_first])
        return np.where(self._observed > 0, p_values, 1.0)

    def _hits(self, signs: _Single) -> NDArray[np.int64]:
        """Count for each pair the flips in which the largest statistic up to this pair reaches the observed one.

        Pairs are in ascending order of their observed statistics.
        """
        totals: _Single | None = None
        if self._cluster_means is not None:
            totals = self._cluster_means.astype(np.float32) @ signs
        flips = signs.shape[1]
        hits = np.empty(len(self._rows), dtype=np.int64)
        largest = np.zeros(flips, dtype=np.float32)
        for chunk in row_chunks(len(self._order), max(signs.shape), most=_MAX_CELLS):
            pairs = self._order[chunk]
            if totals is None:
                statistics = self._flip(pairs, signs)
            else:
                statistics = totals[self._rows[pairs]]
                statistics -= totals[self._columns[pairs]]
            statistics *= self._weights[pairs, None]
            observed = self._observed[pairs] * np.float32(_TIE)
            largest_after = np.maximum(largest, statistics.max(axis=0))
            largest_after = np.maximum(largest_after, -statistics.min(axis=0))
            # The pairs are in ascending order of `observed`. The next two cases, which hold for most chunks, need no
            # count for each pair.
            if largest.min() >= observed[-1]:
                hits[pairs] = flips
            elif largest_after.max() < observed[0]:
                hits[pairs] = 0
            else:
                hits[pairs] = _count_hits(np.abs(statistics), largest, observed)
            largest = largest_after
        return hits

    def _flip(self, pairs: NDArray[Any], signs: _Single) -> _Single:
        """Return the totals of pairs in every flip; a cluster without a shared target counts as difference 0."""
        differences = np.nan_to_num(self._differences(pairs))
        return differences.astype(np.float32) @ signs

    def _differences(self, pairs: NDArray[Any]) -> Floats:
        """Return the mean difference in each cluster, (pairs, clusters); NaN if a pair has no common target there."""
        rows = self._rows[pairs]
        columns = self._columns[pairs]
        if self._cluster_means is not None:
            return self._cluster_means[rows] - self._cluster_means[columns]
        differences = self._values[rows] - self._values[columns]
        return self._by_cluster(differences)

    def _by_cluster(self, values: Floats) -> Floats:
        """Return the means of clusters, ignoring NaN; NaN for clusters without values."""
        is_known = np.isfinite(values)
        filled = np.where(is_known, values, 0.0)
        sizes = np.add.reduceat(is_known, self._starts, axis=1, dtype=np.float64)
        sums = np.add.reduceat(filled, self._starts, axis=1)
        means = np.full(sums.shape, np.nan)
        np.divide(sums, sizes, out=means, where=sizes > 0)
        return means


def _count_hits(
    statistics: _Single,
    largest: _Single,
    observed: _Single,
) -> NDArray[np.int64]:
    """Count for each pair the flips in which the largest statistic up to this pair reaches the observed one.

    That is the largest of `largest`, of the pair's statistic and of those before it. It replaces
    the values in `statistics`, (pairs, flips).
    """
    # Process row by row, which is faster than `accumulate`, which processes single values.
    for row in statistics:
        largest = np.maximum(row, largest, out=row)
    return np.count_nonzero(statistics >= observed[:, None], axis=1)


def _signs(
    count: int,
    repeats: int,
    rng: np.random.Generator,
    *,
    is_exact: bool,
) -> Iterator[_Single]:
    """Yield the signs of clusters, (clusters, flips), for every flip or for random flips, in chunks."""
    if is_exact:
        # Bit k of a flip's index is set if cluster k is flipped.
        flips = np.arange(1 << count)
        clusters = np.arange(count)[:, None]
        is_flipped = flips >> clusters & 1
        yield 1 - 2 * is_flipped.astype(np.float32)
        return
    for chunk in row_chunks(repeats, count, most=_MAX_SIGNS):
        flips_in_chunk = chunk.stop - chunk.start
        drawn = rng.integers(2, size=(flips_in_chunk, count), dtype=np.int8)
        yield 1 - 2 * drawn.T.astype(np.float32)
