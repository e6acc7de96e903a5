"""How far people are apart in something that was measured of each several times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

FEWEST_VALUES = 5
"""Values of a person that say something of them."""


def estimate_person_effects(
    values: ArrayLike, people: Sequence[str]
) -> tuple[float, NDArray[np.float64]]:
    """Return the standard deviation between people's true means, and how far each value's person is from the middle.

    The variance between the means of those with five values or more, less that of chance in them. What is said of a
    person is drawn to the middle, the more the less was seen of them; it is 0 for others, and for all where fewer than
    two people have so many values.

    Args:
        values: (n,).
        people: who each is of, n names; "" for nobody known.
    """
    given = np.asarray(values, dtype=np.float64)
    names = np.asarray(people)
    shifts = np.zeros(len(given))
    told = {
        name: given[names == name]
        for name in sorted(set(people))
        if name and (names == name).sum() >= FEWEST_VALUES
    }
    if len(told) < 2:
        return 0.0, shifts
    means = {name: float(each.mean()) for name, each in told.items()}
    chance = {name: float(each.var(ddof=1)) / len(each) for name, each in told.items()}
    middle = float(np.mean(list(means.values())))
    variance = max(
        0.0, float(np.var(list(means.values()), ddof=1)) - float(np.mean(list(chance.values())))
    )
    for name, mean in means.items():
        kept = variance / (variance + chance[name]) if variance else 0.0
        shifts[names == name] = kept * (mean - middle)
    return float(np.sqrt(variance)), shifts
