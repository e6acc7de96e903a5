"""Paired permutation tests of all pairs of segmenters on the same targets, corrected for multiple testing.

If each pair is tested separately at 5 %, about ten pairs of twenty equal segmenters differ. A
correction of single p-values, such as Holm's, can reject nothing once there are more pairs than
random flips can resolve: 1 / 2001 times 105 pairs is above 5 %. So every flip contributes the
largest statistic among all pairs, whatever their number.
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
"""A statistic this near the observed one ties with it: rounding of sums in single precision is smaller."""


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseTests:
    """Tests of every segmenter against every other.

    Attributes:
        differences: (segmenters, segmenters), the row's values minus the column's on the targets that both have: means
            of clusters, then their mean; NaN where they share none.
        p_values: likewise, of "no difference", corrected for all pairs; 1 where there is no information.
    """

    differences: Floats
    p_values: Floats

    def ahead(self, *, higher_is_better: bool = True, level: float = 0.05) -> NDArray[np.bool_]:
        """Return where the row's segmenter is significantly better than the column's, corrected for all pairs."""
        leads = self.differences > 0 if higher_is_better else self.differences < 0
        return leads & (self.p_values <= level)


def rank_ranges(ahead: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst rank that each segmenter can have, given the significant wins.

    >>> [ends.tolist() for ends in rank_ranges(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))]
    [[1, 1, 3], [2, 2, 3]]
    """
    return 1 + ahead.sum(axis=0), len(ahead) - ahead.sum(axis=1)


def compare_all_pairs(
    values: ArrayLike, clusters: ArrayLike | None = None, *, repeats: int = 2000, seed: int = 0
) -> PairwiseTests:
    """Test every pair of segmenters on the same targets, with p-values corrected for all pairs.

    The signs of the clusters' mean differences are flipped, the same way for all pairs: all flips when they are no more
    than `repeats`, else random ones. A pair's statistic is the sum of its clusters' means over the root of their sum of
    squares; every cluster counts the same, because one with many targets would dominate otherwise. The p-value is the
    share of flips in which the largest statistic among the pair and all pairs that differ less reaches the observed
    one, and at least the p-value of the pairs that differ more. A single pair with clusters of one size has the p-value
    of `segarena.statistics.intervals.paired_difference`. With fewer than six clusters no pair can differ at 5 %.

    >>> found = compare_all_pairs([[1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7]])
    >>> found.differences.tolist(), found.p_values.tolist()
    ([[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.03125], [0.03125, 1.0]])

    Args:
        values: (segmenters, targets), NaN where a segmenter has none; a pair is compared on the targets that both have.
        clusters: (targets,) id of the cluster of each target; None: each is its own cluster.
        repeats: number of random flips.
        seed: seed of the flips.

    Raises:
        InvalidInput: not two axes, infinite, another number of clusters, or `repeats` below 1.

    Source: the step-down method, Westfall and Young, Resampling-based multiple testing (1993), section 2.6, here with
    flips of signs; why it keeps the chance of any false difference at the level, Romano and Wolf, Exact and approximate
    stepdown methods for multiple hypothesis testing, JASA 100 (2005).
    """
    check_bootstrap(repeats, 0.95)
    given, starts = _sorted_by_cluster(values, clusters)
    count = len(given)
    rows, columns = np.triu_indices(count, 1)
    differences = np.full((count, count), np.nan)
    p_values = np.ones((count, count))
    has_values = np.isfinite(given).any(axis=1)
    np.fill_diagonal(differences, np.where(has_values, 0.0, np.nan))
    if not len(rows) or not given.shape[1]:
        return PairwiseTests(differences, p_values)
    step_down = _StepDown(given, starts, rows, columns)
    differences[rows, columns] = step_down.means
    differences[columns, rows] = 0 - step_down.means  # no negative zeros
    corrected = step_down.p_values(repeats, np.random.default_rng(seed))
    p_values[rows, columns] = corrected
    p_values[columns, rows] = corrected
    return PairwiseTests(differences, p_values)


def _sorted_by_cluster(
    values: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values with targets of one cluster side by side, and where each cluster starts."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 2 or np.isinf(given).any():
        raise InvalidInput(
            f"values: expected (segmenters, targets) without infinity, got shape {given.shape}"
        )
    if clusters is None:
        belongs = np.arange(given.shape[1])
    else:
        belongs = np.unique(np.asarray(clusters), return_inverse=True)[1]
    if len(belongs) != given.shape[1]:
        raise InvalidInput(
            f"clusters: expected one id per target, {given.shape[1]}, got {len(belongs)}"
        )
    order = np.argsort(belongs, kind="stable")
    return given[:, order], np.flatnonzero(np.diff(belongs[order], prepend=-1))


class _StepDown:
    """The step-down test of all pairs, ordered by their statistics, the smallest first."""

    def __init__(
        self, values: Floats, starts: NDArray[np.int64], rows: NDArray[Any], columns: NDArray[Any]
    ) -> None:
        self._values = values
        self._starts = starts
        self._rows = rows
        self._columns = columns
        # Without gaps a pair's difference is that of two rows of cluster means, which are computed once.
        self._levels = self._by_cluster(values) if np.isfinite(values).all() else None
        self.means = np.empty(len(rows))
        totals = np.empty(len(rows))
        norms = np.empty(len(rows))
        for part in row_chunks(len(rows), values.shape[1], most=_MAX_CELLS):
            found = self._differences(np.arange(part.start, part.stop))
            totals[part] = np.nansum(found, axis=1)
            norms[part] = np.sqrt(np.nansum(np.square(found), axis=1))
            shared = np.isfinite(found).sum(axis=1)
            undefined = np.full(len(shared), np.nan)
            self.means[part] = np.divide(totals[part], shared, out=undefined, where=shared > 0)
        weights = np.divide(1.0, norms, out=np.zeros(len(rows)), where=norms > 0)
        self._weights = weights.astype(np.float32)
        self._seen = (np.abs(totals) * self._weights).astype(np.float32)
        self._order = np.argsort(self._seen, kind="stable")

    def p_values(self, repeats: int, rng: np.random.Generator) -> Floats:
        """Return the p-value of each pair."""
        count = len(self._starts)
        # The first condition keeps the shift small, whatever the number of clusters.
        is_exact = count < repeats.bit_length() and 1 << count <= repeats
        # Random flips include the observed signs, as one flip that always reaches the statistic.
        observed_flips = 0 if is_exact else 1
        hits = np.zeros(len(self._rows), dtype=np.int64)
        tried = observed_flips
        for signs in _signs(count, repeats, rng, is_exact=is_exact):
            hits += self._hits(signs)
            tried += signs.shape[1]
        found = (hits + observed_flips) / tried
        falling = self._order[::-1]
        found[falling] = np.maximum.accumulate(found[falling])
        return np.where(self._seen > 0, found, 1.0)

    def _hits(self, signs: _Single) -> NDArray[np.int64]:
        """Count for each pair the flips in which the largest statistic up to it reaches the observed one."""
        totals = None if self._levels is None else self._levels.astype(np.float32) @ signs
        hits = np.empty(len(self._rows), dtype=np.int64)
        largest = np.zeros(signs.shape[1], dtype=np.float32)
        for part in row_chunks(len(self._order), max(signs.shape), most=_MAX_CELLS):
            pairs = self._order[part]
            if totals is None:
                found = self._flipped(pairs, signs)
            else:
                found = self._between(totals, pairs)
            np.abs(found, out=found)
            found *= self._weights[pairs, None]
            for row in found:  # row by row: faster than `accumulate`, which goes number by number
                largest = np.maximum(row, largest, out=row)
            largest = largest.copy()
            observed = self._seen[pairs, None] * np.float32(_TIE)
            hits[pairs] = np.count_nonzero(found >= observed, axis=1)
        return hits

    def _between(self, totals: _Single, pairs: NDArray[Any]) -> _Single:
        return totals[self._rows[pairs]] - totals[self._columns[pairs]]

    def _flipped(self, pairs: NDArray[Any], signs: _Single) -> _Single:
        """Return the totals of pairs in every flip; a cluster without a shared target counts as difference 0."""
        return np.nan_to_num(self._differences(pairs)).astype(np.float32) @ signs

    def _differences(self, pairs: NDArray[Any]) -> Floats:
        """Return the mean difference in each cluster, (pairs, clusters); NaN where a pair shares no target."""
        rows = self._rows[pairs]
        columns = self._columns[pairs]
        if self._levels is not None:
            return self._levels[rows] - self._levels[columns]
        return self._by_cluster(self._values[rows] - self._values[columns])

    def _by_cluster(self, values: Floats) -> Floats:
        """Return the means of clusters, ignoring NaN; NaN for clusters without values."""
        is_known = np.isfinite(values)
        sizes = np.add.reduceat(is_known, self._starts, axis=1, dtype=np.float64)
        sums = np.add.reduceat(np.where(is_known, values, 0.0), self._starts, axis=1)
        return np.divide(sums, sizes, out=np.full(sums.shape, np.nan), where=sizes > 0)


def _signs(
    count: int, repeats: int, rng: np.random.Generator, *, is_exact: bool
) -> Iterator[_Single]:
    """Yield the signs of clusters, (clusters, flips), of every flip or of random ones, in chunks."""
    if is_exact:
        flips = np.arange(1 << count)
        is_flipped = flips >> np.arange(count)[:, None] & 1
        yield 1 - 2 * is_flipped.astype(np.float32)
        return
    for part in row_chunks(repeats, count, most=_MAX_SIGNS):
        drawn = rng.integers(2, size=(part.stop - part.start, count), dtype=np.int8)
        yield 1 - 2 * drawn.T.astype(np.float32)
