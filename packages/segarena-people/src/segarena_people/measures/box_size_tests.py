"""Tests, by object size, whether a simulated user's boxes are offset like people's boxes, also in the tails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.permutation_tests import energy_test

FEWEST_IN_CLASS = 30
"""Minimum number of boxes in a tested size class."""

MOST_TESTED = 400
"""Larger classes are subsampled to this many boxes, because the test compares all pairs."""

FAR_QUANTILE = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTest:
    """Test result of one size class.

    Attributes:
        name: name of the size class.
        boxes: number of tested boxes per side.
        p_value: p-value of the energy test for equal distributions.
        far, far_people: 99th percentile of the absolute relative edge offsets, of the user and of
            people.
    """

    name: str
    boxes: int
    p_value: float
    far: float
    far_people: float

    @property
    def far_ratio(self) -> float:
        """Ratio of the user's 99th percentile to that of people; if that is 0, 1 for equal ones, else infinity."""
        if self.far_people:
            return self.far / self.far_people
        return float("inf" if self.far else 1)


def run_size_tests(
    simulated: ArrayLike,
    people: ArrayLike,
    classes: Sequence[str],
    *,
    seed: int = 0,
) -> list[SizeTest]:
    """Test each size class with at least 30 boxes, in the order in which the classes first appear.

    Args:
        simulated: `BOX_FEATURES` of the user's boxes, (n, 4).
        people: `BOX_FEATURES` of people's boxes around the same objects, in the same order.
        classes: size class of each object, from `size_class`.
        seed: seed of subsamples and permutations.

    Raises:
        InvalidInput: shapes do not match.
    """
    ours = np.asarray(simulated, dtype=np.float64)
    theirs = np.asarray(people, dtype=np.float64)
    if ours.shape != theirs.shape or ours.shape != (len(classes), 4):
        raise InvalidInput(
            f"boxes: expected four features for each of {len(classes)} boxes, "
            f"got shapes {ours.shape} and {theirs.shape}"
        )
    names = np.asarray(classes)
    known = [(name, np.flatnonzero(names == name)) for name in dict.fromkeys(classes)]
    rng = np.random.default_rng(seed)
    tests: list[SizeTest] = []
    for name, at in known:
        if len(at) >= FEWEST_IN_CLASS:
            tests.append(_test(name, ours[at], theirs[at], rng))
    return tests


def _test(
    name: str,
    ours: NDArray[np.float64],
    theirs: NDArray[np.float64],
    rng: np.random.Generator,
) -> SizeTest:
    """Compare the offsets of a user's and of people's boxes for the same goals."""
    count = min(len(ours), MOST_TESTED)
    # Subsample both sides independently: the two samples must not be paired by goal.
    first = rng.permutation(len(ours))[:count]
    second = rng.permutation(len(ours))[:count]
    seed = int(rng.integers(1 << 31))
    found = energy_test(ours[first], theirs[second], seed=seed)
    # Use all boxes instead of the subsample, because tail percentiles need as many as possible.
    far = float(np.quantile(np.abs(ours), FAR_QUANTILE))
    far_people = float(np.quantile(np.abs(theirs), FAR_QUANTILE))
    return SizeTest(
        name=name,
        boxes=count,
        p_value=found.p_value,
        far=far,
        far_people=far_people,
    )
