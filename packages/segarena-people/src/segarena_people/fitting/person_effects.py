"""Random effects of people: differences in a value that was measured several times per person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_VALUES = 5
"""People with fewer values get no individual effect."""


def estimate_person_effects(
    values: ArrayLike, people: Sequence[str]
) -> tuple[float, NDArray[np.float64]]:
    """Return the standard deviation between people's true means, and the effect of each value's person.

    The variance between people is the variance of the means of people with at least five values,
    minus its expected sampling variance. Effects are empirical Bayes estimates: the fewer values a
    person has, the more the effect is shrunk towards 0. People with fewer than five values have an
    effect of 0, and so has everyone if fewer than two people have enough values.

    Args:
        values: (n,).
        people: person of each value, n names; "" if unknown.
    """
    given = np.asarray(values, dtype=np.float64)
    names = np.asarray(people)
    effects = np.zeros(len(given))
    of_person: dict[str, NDArray[np.float64]] = {}
    for name in sorted(set(people)):
        own = given[names == name]
        if name and len(own) >= FEWEST_VALUES:
            of_person[name] = own
    if len(of_person) < 2:
        return 0.0, effects
    means = {name: float(own.mean()) for name, own in of_person.items()}
    sampling_variances: dict[str, float] = {}
    for name, own in of_person.items():
        sampling_variances[name] = float(own.var(ddof=1)) / len(own)
    grand_mean = float(np.mean(list(means.values())))
    variance_of_means = float(np.var(list(means.values()), ddof=1))
    # The means also vary by chance; subtract that part.
    variance = max(0.0, variance_of_means - float(np.mean(list(sampling_variances.values()))))
    for name, mean in means.items():
        if variance:
            # Empirical Bayes: the mean of a few scattered values is weak evidence about the person.
            shrinkage = variance / (variance + sampling_variances[name])
        else:
            shrinkage = 0.0
        effects[names == name] = shrinkage * (mean - grand_mean)
    return float(np.sqrt(variance)), effects
