"""Feature importance: which features a classifier uses to distinguish a simulated user from people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from segarena.errors import InvalidInput
from segarena.statistics.classifier_test import ClassifierTest, c2st
from segarena.statistics.feature_differences import feature_differences
from segarena.statistics.two_samples import Ids


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """Importance of one feature for the classifier, and how its distributions differ.

    Attributes:
        feature: name of the feature.
        lost: permutation importance: decrease of the classifier's AUC when the values are
            permuted; redundant features substitute for each other, so each may seem unimportant.
        ks: Kolmogorov-Smirnov distance of the two distributions, 0 to 1.
        above: probability that a simulated value is greater than a person's; ties count half.
        people: median of people.
        simulated: median of the user.
    """

    feature: str
    lost: float
    ks: float
    above: float
    people: float
    simulated: float


def rank_features(
    people: ArrayLike,
    simulated: ArrayLike,
    groups: Ids,
    names: Sequence[str],
    *,
    n: int | None = None,
    exchanges: int = 5,
    seed: int = 0,
) -> tuple[ClassifierTest, list[FeatureImportance]]:
    """Run the classifier test; return its result with the importances of all features, most important first.

    >>> rng = np.random.default_rng(0)
    >>> people, simulated = rng.normal(size=(2, 300, 2)) + np.array([[[0, 0]], [[0, 9]]])
    >>> _, ranked = rank_features(people, simulated, (np.arange(300), np.arange(300)), ["length", "depth"], exchanges=1)
    >>> ranked[0].feature, ranked[0].above, round(ranked[0].people), round(ranked[0].simulated)
    ('depth', 1.0, 0, 9)

    Args:
        people: real (n1, features), finite.
        simulated: real (n2, features).
        groups: as for `c2st`.
        names: names of the features.
        n: sample size per side; None uses the size of the smaller side.
        exchanges: number of permutations of each feature.
        seed: seed of the sampled rows, folds and permutations.

    Raises:
        InvalidInput: the number of names differs from the number of features, or as for `c2st`.
        MissingExtra: scikit-learn is not installed.
    """
    first = np.asarray(people, dtype=np.float64)
    second = np.asarray(simulated, dtype=np.float64)
    if first.ndim != 2 or first.shape[1] != len(names):
        raise InvalidInput(
            f"features: expected a name for each, got shape {first.shape} and {len(names)} names"
        )
    test = c2st(
        first,
        second,
        groups,
        n=n,
        exchanges=exchanges,
        seed=seed,
    )
    # Computed on the rows of the test, so that both columns describe the same answers.
    alone = feature_differences(first[test.rows[0]], second[test.rows[1]])
    columns = (test.lost, alone.ks, alone.above, *alone.medians)
    importances: list[FeatureImportance] = []
    for name, *row in zip(names, *columns, strict=True):
        importances.append(FeatureImportance(name, *map(float, row)))
    # Sort by importance; break ties, as among features that the classifier does not need, by KS
    # distance.
    importances.sort(key=lambda one: (one.lost, one.ks), reverse=True)
    return test, importances
