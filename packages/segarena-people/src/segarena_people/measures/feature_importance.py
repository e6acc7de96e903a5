"""What gives a simulated user away: features, by how much the classifier needs them and how they differ alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from segarena.errors import InvalidInput
from segarena.statistics.classifier import ToldApart, c2st
from segarena.statistics.one_by_one import differences
from segarena.statistics.two_samples import Ids


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """What a feature tells.

    Attributes:
        feature: its name.
        lost: how much of the classifier's area goes when it does not have this feature; features that say the same
            stand in for each other, and may lose nothing each.
        ks: how far its distributions are apart by themselves, 0 to 1.
        above: the chance that a simulated value is above a person's, ties counting half: above 0.5 the user has more.
        people: people's median.
        simulated: the user's median.
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
) -> tuple[ToldApart, list[FeatureImportance]]:
    """Return how well a user is told from people, and what each feature has to do with it, the most telling first.

    >>> rng = np.random.default_rng(0)
    >>> people, simulated = rng.normal(size=(2, 300, 2)) + np.array([[[0, 0]], [[0, 9]]])
    >>> _, told = what_tells(people, simulated, (np.arange(300), np.arange(300)), ["length", "depth"], exchanges=1)
    >>> told[0].feature, told[0].above, round(told[0].people), round(told[0].simulated)
    ('depth', 1.0, 0, 9)

    Args:
        people: real (n1, features), finite.
        simulated: real (n2, features).
        groups: as for `c2st`.
        names: of the features.
        n: values of either; None: as many as the smaller one has.
        exchanges: how often the values of each feature are exchanged.
        seed: of rows, folds and exchanges.

    Raises:
        InvalidInput: another number of names, or as `c2st`.
        MissingExtra: scikit-learn is not installed.
    """
    first = np.asarray(people, dtype=np.float64)
    second = np.asarray(simulated, dtype=np.float64)
    if first.ndim != 2 or first.shape[1] != len(names):
        raise InvalidInput(
            f"features: expected a name for each, got shape {first.shape} and {len(names)} names"
        )
    test = c2st(first, second, groups, n=n, exchanges=exchanges, seed=seed)
    alone = differences(first[test.rows[0]], second[test.rows[1]])
    columns = (test.lost, alone.ks, alone.above, *alone.medians)
    told = [
        FeatureImportance(name, *map(float, row))
        for name, *row in zip(names, *columns, strict=True)
    ]
    return test, sorted(told, key=lambda one: (one.lost, one.ks), reverse=True)
