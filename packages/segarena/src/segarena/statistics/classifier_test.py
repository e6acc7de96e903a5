"""The classifier two-sample test: whether a classifier can distinguish two samples, with an interval over groups.

Its statistic is the area under the ROC curve (AUC): the probability that the classifier scores a value of the second
sample above one of the first. 0.5 is "indistinguishable", 1 is "always right"; slightly below 0.5 is chance. Values are
scored by classifiers that were not trained on their groups.

Source: Lopez-Paz and Oquab, Revisiting classifier two-sample tests, ICLR 2017, with the area instead of the accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput, MissingExtra
from segarena.statistics.bootstrap import check_bootstrap, percentile_interval
from segarena.statistics.roc import area_over_groups, area_under_roc
from segarena.statistics.two_samples import Floats, Ids, number_groups, stack_samples

FOLDS = 5
_TREES = 150
_LEAVES = 15
_RATE = 0.08
_LEAST_IN_LEAF = 20
_SHARE_IN_LEAF = 0.1
_ENOUGH = 300
_SPLITS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierTest:
    """How well a classifier distinguishes two samples.

    Attributes:
        auc: area under the ROC curve on held-out values, mean over the splits.
        low: lower end of the interval over groups, without the variation from other training values.
        high: upper end.
        draws: the area in each draw of the groups, (repeats,). Tests of the same groups and seed have the same draws,
            so that the difference of two has an interval too.
        n: values of each sample, as many of both.
        groups: number of groups.
        rows: (first, second): rows drawn from each sample, (n,) each, in order.
        said: (first, second): probability of each to be of the second sample, 0 to 1, mean over the splits.
        lost: float64 (features,): permutation importance, the loss of area when the held-out values of a feature are
            shuffled; empty unless requested. Redundant features may each lose nothing.
    """

    auc: float
    low: float
    high: float
    draws: Floats
    n: int
    groups: int
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    said: tuple[Floats, Floats]
    lost: Floats


def c2st(
    first: ArrayLike,
    second: ArrayLike,
    groups: Ids,
    *,
    n: int | None = None,
    splits: int | None = None,
    least_in_leaf: int | None = None,
    exchanges: int = 0,
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> ClassifierTest:
    """Test how well gradient-boosted trees distinguish two samples.

    150 trees of 15 leaves, rate 0.08; five folds, with all values of a group in one fold, and as many of either sample
    in each as that allows. Where one sample has more values than the other, or both have more than `n`, rows are drawn.
    The test has little power below about fifty values: even samples that differ may give an area near 0.5.

    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.normal(size=(100, 3)), rng.normal(9, size=(100, 3))
    >>> images = np.arange(100)
    >>> c2st(near, far, (images, images), splits=1).auc
    1.0

    Args:
        first: real (n1, features), finite.
        second: real (n2, features).
        groups: group ids of each sample's values, such as patients or images, (n1,) and (n2,); the same id in both
            samples is one group.
        n: values of each sample; None: as many as the smaller one has. Two areas can only be compared at the same n.
        splits: random splits into five folds; None: enough for 300 values of either sample in total, at most 5.
        least_in_leaf: values in a leaf; None: 20, but at most a tenth of the training values, so that a classifier of
            few values can split at all.
        exchanges: how often the values of each feature are shuffled, for `ClassifierTest.lost`.
        repeats: bootstrap samples of the groups.
        level: share of them inside the interval.
        seed: seed of the rows, folds, exchanges and draws; results do not depend on the number of
            cores.

    Raises:
        InvalidInput: other shapes, values that are not finite, fewer than five groups, a sample with fewer than `n`
            values, or with all of them in one group.
        MissingExtra: scikit-learn is not installed.
    """
    check_bootstrap(repeats, level)
    rng = np.random.default_rng(seed)
    values, sizes = stack_samples(first, second)
    samples = _Samples.drawn(values, number_groups(groups, sizes), sizes, n, rng)
    times = max(1, min(_SPLITS, -(-_ENOUGH // samples.n))) if splits is None else splits
    if times < 1:
        raise InvalidInput(f"splits: expected one or more, got {times}")
    learnt = [list(_learnt(samples, seed + number, least_in_leaf)) for number in range(times)]
    said = np.stack([_said(folds, samples.values) for folds in learnt])
    sides = said[:, : samples.n], said[:, samples.n :]
    auc, draws = area_over_groups(*sides, samples.groups, repeats, np.random.default_rng(seed))
    mean = said.mean(axis=0)
    return ClassifierTest(
        auc,
        *percentile_interval(draws, level),
        draws=draws,
        n=samples.n,
        groups=len(np.unique(samples.groups)),
        rows=samples.rows,
        said=(mean[: samples.n], mean[samples.n :]),
        lost=_lost(learnt, samples, auc, exchanges, rng),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """Equally many values of both samples.

    Attributes:
        values: (2 n, features), those of the first sample before those of the second.
        groups: (2 n,) group numbers from 0, without gaps.
        rows: indices of these rows in each input sample.
    """

    values: Floats
    groups: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def drawn(
        cls,
        values: Floats,
        groups: NDArray[np.int64],
        sizes: tuple[int, int],
        n: int | None,
        rng: np.random.Generator,
    ) -> _Samples:
        """Draw `n` of either without replacement, or as many as the smaller one has."""
        count = min(sizes) if n is None else n
        if not FOLDS <= count <= min(sizes):
            raise InvalidInput(
                f"n: expected at least {FOLDS} values of each sample and at most what there are, "
                f"{sizes[0]} and {sizes[1]}, got {count}"
            )
        first, second = (np.sort(rng.permutation(size)[:count]) for size in sizes)
        taken = np.concatenate([first, sizes[0] + second])
        left = np.unique(groups[taken], return_inverse=True)[1]
        if left.max() + 1 < FOLDS:
            raise InvalidInput(
                f"groups: expected {FOLDS} or more, a fold each, got {left.max() + 1}"
            )
        return cls(values[taken], left, (first, second))

    @property
    def n(self) -> int:
        """Values of either sample."""
        return len(self.rows[0])

    @property
    def is_second(self) -> NDArray[np.bool_]:
        """Which values are of the second sample."""
        return np.arange(len(self.values)) >= self.n


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A classifier, and its held-out rows."""

    classifier: Any
    rows: NDArray[np.int64]

    def says(self, values: Floats) -> Floats:
        """Return the probability of each row to be of the second sample."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return self.classifier.predict_proba(values)[:, 1]


def _learnt(samples: _Samples, seed: int, least_in_leaf: int | None) -> Iterator[_Fold]:
    """Yield the classifier trained without each fold."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.model_selection import StratifiedGroupKFold
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtra(
            'telling samples apart needs scikit-learn: pip install "segarena[people]"'
        ) from error
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    # One thread: sums are reproducible, and several threads are slower on so few values.
    with threadpool_limits(1):
        for learn, rows in folds.split(samples.values, samples.is_second, samples.groups):
            if len(np.unique(samples.is_second[learn])) == 1:
                raise InvalidInput(
                    "groups: expected each sample in several of them, got one that is all in one"
                )
            classifier = HistGradientBoostingClassifier(
                max_iter=_TREES,
                max_leaf_nodes=_LEAVES,
                min_samples_leaf=least_in_leaf
                or max(1, min(_LEAST_IN_LEAF, round(_SHARE_IN_LEAF * len(learn)))),
                learning_rate=_RATE,
                early_stopping=cast("Any", False),  # declared as text, though it may be either
                random_state=seed,
            )
            yield _Fold(classifier.fit(samples.values[learn], samples.is_second[learn]), rows)


def _said(folds: list[_Fold], values: Floats) -> Floats:
    """Return the out-of-fold probability that each row belongs to the second sample."""
    said = np.empty(len(values))
    for fold in folds:
        said[fold.rows] = fold.says(values[fold.rows])
    return said


def _lost(
    learnt: list[list[_Fold]],
    samples: _Samples,
    auc: float,
    exchanges: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the loss of area when the values of each feature are shuffled within each fold."""
    if not exchanges:
        return np.empty(0)
    features = samples.values.shape[1]
    left: list[float] = []
    for folds in learnt:
        said = np.empty((features, exchanges, 2 * samples.n))
        for fold in folds:
            rows = samples.values[fold.rows]
            exchanged = np.tile(rows, (features, exchanges, 1, 1))
            for feature, time in np.ndindex(features, exchanges):
                exchanged[feature, time, :, feature] = rng.permutation(rows[:, feature])
            # One call for all: the overhead of a call exceeds the time of its few rows.
            said[..., fold.rows] = fold.says(exchanged.reshape(-1, features)).reshape(
                features, exchanges, -1
            )
        left += [
            area_under_roc(row[: samples.n], row[samples.n :])
            for row in said.reshape(-1, 2 * samples.n)
        ]
    return auc - np.reshape(left, (len(learnt), features, exchanges)).mean(axis=(0, 2))
