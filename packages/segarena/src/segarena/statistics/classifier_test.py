"""Classifier two-sample test: how well a classifier distinguishes two samples, with an interval over groups.

Its statistic is the area under the ROC curve (AUC): the probability that the classifier scores a
value of the second sample above one of the first, where ties count half. 0.5 means
indistinguishable, 1 means perfectly distinguishable; values slightly below 0.5 arise by chance.
Each value is scored by a classifier that was not trained on its group.

Source: Lopez-Paz and Oquab, Revisiting classifier two-sample tests, ICLR 2017, with the AUC instead
of the accuracy.
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
_LEARNING_RATE = 0.08
_LEAST_IN_LEAF = 20
# A minimum of 20 values in a leaf would keep a classifier of few values from splitting at all, so
# the minimum is also limited to this share of the training values.
_SHARE_IN_LEAF = 0.1
_ENOUGH_VALUES = 300
_MOST_SPLITS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierTest:
    """Result of a classifier two-sample test.

    Attributes:
        auc: area under the ROC curve on held-out values, mean over the splits.
        low: lower end of the bootstrap interval over groups. The classifiers are not trained again,
            so the interval does not include the variation between training sets.
        high: upper end of the interval.
        draws: the AUC of each bootstrap sample of the groups, (repeats,). Tests with the same
            groups and seed use the same samples, so that the difference between two tests has an
            interval too.
        n: number of values of each sample, equal for both.
        groups: number of groups.
        rows: (first, second): indices of the rows used from each sample, (n,) each, ascending.
        said: (first, second): predicted probability that each value belongs to the second sample, mean over the splits.
        lost: float64 (features,): permutation importance, the loss of AUC if the held-out values of a feature are
            shuffled; empty unless requested. If features are redundant, none of them may show a
            loss.
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

    The classifier has 150 trees of at most 15 leaves and a learning rate of 0.08. Five folds keep
    all values of a group in one fold, and balance both samples as far as that allows. A sample with
    more than `n` values is subsampled to `n`. The test has little power below about fifty values:
    even samples that differ may give an AUC near 0.5.

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
        n: number of values to use of each sample, at least 5; None: the size of the smaller sample. Two AUCs can only
            be compared at the same n.
        splits: number of random splits into five folds; None: enough for 300 values of each sample in total, at most 5.
        least_in_leaf: minimum values in a leaf; None: 20, but at most a tenth of the training values, so that
            a classifier of few values can split at all.
        exchanges: how often the values of each feature are shuffled, for `ClassifierTest.lost`.
        repeats: bootstrap samples of the groups.
        level: share of the bootstrap samples inside the interval.
        seed: seed of the rows, folds, exchanges and draws; results do not depend on the number of
            cores.

    Raises:
        InvalidInput: shapes do not match, values are not finite, there are fewer than five groups, a sample has fewer
            than five or fewer than `n` values, or all of its values in one group, or `n`, `splits`, `repeats` or
            `level` is out of range.
        MissingExtra: scikit-learn is not installed.
    """
    check_bootstrap(repeats, level)
    rng = np.random.default_rng(seed)
    values, sizes = stack_samples(first, second)
    samples = _Samples.draw(values, number_groups(groups, sizes), sizes, n, rng)
    count = samples.n
    if splits is None:
        # Integer division that rounds up.
        splits = max(1, min(_MOST_SPLITS, -(-_ENOUGH_VALUES // count)))
    if splits < 1:
        raise InvalidInput(f"splits: expected one or more, got {splits}")
    classifiers: list[list[_Fold]] = []
    for number in range(splits):
        folds = list(_train_folds(samples, seed + number, least_in_leaf))
        classifiers.append(folds)
    scores = np.stack([_held_out_scores(folds, samples.values) for folds in classifiers])
    # Use the same generator for every test of the same groups, so that their bootstrap samples can
    # be compared.
    draw_rng = np.random.default_rng(seed)
    auc, draws = area_over_groups(
        scores[:, :count], scores[:, count:], samples.groups, repeats, draw_rng
    )
    low, high = percentile_interval(draws, level)
    mean_scores = scores.mean(axis=0)
    return ClassifierTest(
        auc,
        low,
        high,
        draws=draws,
        n=count,
        groups=len(np.unique(samples.groups)),
        rows=samples.rows,
        said=(mean_scores[:count], mean_scores[count:]),
        lost=_permutation_importance(classifiers, samples, auc, exchanges, rng),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """Equally sized subsets of both samples.

    Attributes:
        values: (2 n, features), those of the first sample before those of the second.
        groups: (2 n,) group indices from 0, without gaps.
        rows: indices of these rows in each input sample.
    """

    values: Floats
    groups: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def draw(
        cls,
        values: Floats,
        groups: NDArray[np.int64],
        sizes: tuple[int, int],
        n: int | None,
        rng: np.random.Generator,
    ) -> _Samples:
        """Subsample `n` values of each sample without replacement; None takes as many as the smaller sample has."""
        first_size, second_size = sizes
        most = min(sizes)
        if most < FOLDS:
            raise InvalidInput(
                f"samples: expected at least {FOLDS} values each, got {first_size} and {second_size}"
            )
        count = most if n is None else n
        if not FOLDS <= count <= most:
            raise InvalidInput(
                f"n: expected {FOLDS} to {most}, the size of the smaller sample "
                f"(sizes: {first_size} and {second_size}), got {count}"
            )
        first = np.sort(rng.permutation(first_size)[:count])
        second = np.sort(rng.permutation(second_size)[:count])
        rows = np.concatenate([first, first_size + second])
        # Renumber, because the omitted rows may have removed whole groups.
        names, numbers = np.unique(groups[rows], return_inverse=True)
        if len(names) < FOLDS:
            raise InvalidInput(
                f"groups: expected {FOLDS} or more, at least one per fold, got {len(names)}"
            )
        return cls(values[rows], numbers, (first, second))

    @property
    def n(self) -> int:
        """Number of values of each sample."""
        return len(self.rows[0])

    @property
    def is_second(self) -> NDArray[np.bool_]:
        """For each value, whether it belongs to the second sample."""
        return np.arange(len(self.values)) >= self.n


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A classifier, and its held-out rows."""

    classifier: Any
    rows: NDArray[np.int64]

    def score(self, values: Floats) -> Floats:
        """Return the probability that each row belongs to the second sample."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            probabilities = self.classifier.predict_proba(values)
        return probabilities[:, 1]


def _train_folds(
    samples: _Samples,
    seed: int,
    least_in_leaf: int | None,
) -> Iterator[_Fold]:
    """Yield a classifier for each fold, trained on the other folds."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.model_selection import StratifiedGroupKFold
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise MissingExtra(
            'the classifier test needs scikit-learn: pip install "segarena[people]"'
        ) from error
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    # One thread: sums are reproducible, and several threads are slower on so few values.
    with threadpool_limits(1):
        for training_rows, held_out in folds.split(
            samples.values, samples.is_second, samples.groups
        ):
            labels = samples.is_second[training_rows]
            if len(np.unique(labels)) == 1:
                raise InvalidInput(
                    "groups: expected each sample in several groups, got a sample in a single group"
                )
            leaf_size = least_in_leaf
            if not leaf_size:
                share_size = round(_SHARE_IN_LEAF * len(training_rows))
                leaf_size = max(1, min(_LEAST_IN_LEAF, share_size))
            classifier = HistGradientBoostingClassifier(
                max_iter=_TREES,
                max_leaf_nodes=_LEAVES,
                min_samples_leaf=leaf_size,
                learning_rate=_LEARNING_RATE,
                early_stopping=cast("Any", False),  # typed as str, although a bool is allowed
                random_state=seed,
            )
            classifier.fit(samples.values[training_rows], labels)
            yield _Fold(classifier, held_out)


def _held_out_scores(folds: list[_Fold], values: Floats) -> Floats:
    """Return the out-of-fold probability that each row belongs to the second sample."""
    scores = np.empty(len(values))
    for fold in folds:
        scores[fold.rows] = fold.score(values[fold.rows])
    return scores


def _permutation_importance(
    classifiers: list[list[_Fold]],
    samples: _Samples,
    auc: float,
    exchanges: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the loss of AUC if a feature is shuffled within each fold, by feature; empty without `exchanges`."""
    if not exchanges:
        return np.empty(0)
    row_count, features = samples.values.shape
    areas: list[float] = []
    for folds in classifiers:
        scores = np.empty((features, exchanges, row_count))
        for fold in folds:
            rows = samples.values[fold.rows]
            shuffled = np.tile(rows, (features, exchanges, 1, 1))
            for feature, time in np.ndindex(features, exchanges):
                shuffled[feature, time, :, feature] = rng.permutation(rows[:, feature])
            # Predict all rows in one call, because the overhead of a call exceeds the time for its
            # few rows.
            fold_scores = fold.score(shuffled.reshape(-1, features))
            scores[..., fold.rows] = fold_scores.reshape(features, exchanges, -1)
        for row in scores.reshape(-1, row_count):
            areas.append(area_under_roc(row[: samples.n], row[samples.n :]))
    shuffled_areas = np.reshape(areas, (len(classifiers), features, exchanges))
    return auc - shuffled_areas.mean(axis=(0, 2))
