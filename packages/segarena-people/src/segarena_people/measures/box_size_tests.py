"""Tests of a simulated user's boxes against people's by object size, including the tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.permutation_tests import energy_test

FEWEST_IN_CLASS = 30
"""Least number of boxes in a size class that is tested."""

MOST_TESTED = 400
"""Larger classes are subsampled to this many boxes: the test looks at all pairs."""

FAR_QUANTILE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTest:
    """Test of one size class.

    Attributes:
        name: name of the class.
        boxes: number of tested boxes of each side.
        p_value: p-value of the energy test for equal distributions.
        far, far_people: 99th percentile of absolute edge offsets over the side, of the user and of
            people.
    """

    name: str
    boxes: int
    p_value: float
    far: float
    far_people: float

    @property
    def far_ratio(self) -> float:
        """Ratio of the user's 99th percentile to that of people."""
        if self.far_people:
            return self.far / self.far_people
        return float("inf" if self.far else 1)


def run_size_tests(
    simulated: ArrayLike, people: ArrayLike, classes: Sequence[str], *, seed: int = 0
) -> list[SizeTest]:
    """Test each size class with 30 boxes or more, in the order of their first box.

    Args:
        simulated: `BOX_FEATURES` of the user's boxes, (n, 4).
        people: `BOX_FEATURES` of people's boxes around the same objects, in the same order.
        classes: the size class of each object, as `size_class` gives it.
        seed: seed of subsamples and permutations.

    Raises:
        InvalidInput: shapes do not match.
    """
    ours = np.asarray(simulated, dtype=np.float64)
    theirs = np.asarray(people, dtype=np.float64)
    if ours.shape != theirs.shape or ours.shape != (len(classes), 4):
        raise InvalidInput(
            f"boxes: expected four features of each of {len(classes)}, got shapes {ours.shape} and {theirs.shape}"
        )
    names = np.asarray(classes)
    known = [(name, np.flatnonzero(names == name)) for name in dict.fromkeys(classes)]
    rng = np.random.default_rng(seed)
    return [
        _test(name, ours[at], theirs[at], rng) for name, at in known if len(at) >= FEWEST_IN_CLASS
    ]


def _test(
    name: str, ours: NDArray[np.float64], theirs: NDArray[np.float64], rng: np.random.Generator
) -> SizeTest:
    """Compare the offsets of a user's and of people's boxes on the same goals."""
    count = min(len(ours), MOST_TESTED)
    # Independent draws: the two samples must not hold pairs of the same goals.
    first = rng.permutation(len(ours))[:count]
    second = rng.permutation(len(ours))[:count]
    seed = int(rng.integers(1 << 31))
    found = energy_test(ours[first], theirs[second], seed=seed)
    far = float(np.quantile(np.abs(ours), FAR_QUANTILE))
    far_people = float(np.quantile(np.abs(theirs), FAR_QUANTILE))
    return SizeTest(name=name, boxes=count, p_value=found.p_value, far=far, far_people=far_people)
