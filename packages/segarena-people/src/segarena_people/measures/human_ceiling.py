"""Human ceiling: separability of people from people, by the same test, features and sample size.

No user can be expected to come nearer to people than they are to each other. By person: two people
at a time, on the questions that both got. By halves: all people together, split at random, which is
about the result of a perfect copy of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import percentile_interval
from segarena.statistics.classifier_test import FOLDS, ClassifierTest, c2st

RowIndices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HumanCeiling:
    """Separability of people from people.

    Attributes:
        tests: classifier test of each pair of people, or of each split into halves.
        names: the two people of each test; empty strings for halves.
        left_out: pairs of people with too few values or groups in common for the test.
    """

    tests: tuple[ClassifierTest, ...]
    names: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def n(self) -> int:
        """Sample size of either side, the same in all tests."""
        return self.tests[0].n

    @property
    def auc(self) -> float:
        """Median AUC."""
        return median(test.auc for test in self.tests)

    @property
    def interval(self) -> tuple[float, float]:
        """Medians of the lower and of the upper bounds of the AUC intervals."""
        return median(test.low for test in self.tests), median(test.high for test in self.tests)


def ceiling_by_person(
    features: ArrayLike,
    persons: Sequence[Any],
    groups: Sequence[Any],
    *,
    n: int | None = None,
    seed: int = 0,
) -> HumanCeiling:
    """Test each pair of people on their prompts in the same groups.

    Args:
        features: real (rows, k), finite.
        persons: person of each row.
        groups: group of each row, such as an image or a patient.
        n: sample size of either person in each test; None takes the largest that all testable pairs
            have.
        seed: seed of the tests.

    Raises:
        InvalidInput: lengths differ, or no pair of people has enough in common.
        MissingExtra: scikit-learn is not installed.
    """
    values, names, belongs = _checked(features, persons, groups)
    pairs = {
        pair: _in_common(*pair, names, belongs)
        for pair in combinations(np.unique(names).tolist(), 2)
    }
    least = FOLDS if n is None else n
    enough = {pair: rows for pair, rows in pairs.items() if _is_enough(rows, belongs, least)}
    if not enough:
        raise InvalidInput(
            f"ceiling: expected two people with {least} values or more each, in {FOLDS} groups or more that both have, "
            f"got {len(pairs)} pairs without; compare halves instead"
        )
    count = min(min(map(len, rows)) for rows in enough.values()) if n is None else n
    tests = tuple(_told_apart(values, belongs, rows, count, seed) for rows in enough.values())
    return HumanCeiling(tests, tuple(enough), tuple(pair for pair in pairs if pair not in enough))


def ceiling_by_halves(
    features: ArrayLike,
    groups: Sequence[Any],
    *,
    n: int | None = None,
    splits: int = 5,
    seed: int = 0,
) -> HumanCeiling:
    """Test random halves of all rows against each other, for each of several splits.

    The rows of each group are divided between the halves as evenly as possible, because a simulated
    user and people get the same questions too; a group of a single row is in one of them.

    >>> ceiling_by_halves(np.zeros((600, 1)), np.arange(600).tolist(), splits=1).n
    300

    Args:
        features: real (rows, k), finite.
        groups: group of each row.
        n: sample size of either half in each test; None takes half of the rows.
        splits: number of splits.
        seed: seed of the splits and the tests.

    Raises:
        InvalidInput: lengths differ, fewer than ten rows, `splits` below 1, or as `c2st`.
        MissingExtra: scikit-learn is not installed.
    """
    values, belongs = _checked(features, groups)
    if len(values) < 2 * FOLDS or splits < 1:
        raise InvalidInput(
            f"halves: expected {2 * FOLDS} rows and a split, or more, got {len(values)} and {splits}"
        )
    count = len(values) // 2 if n is None else n
    halves = _halves(belongs, splits, np.random.default_rng(seed))
    tests = [_told_apart(values, belongs, rows, count, seed) for rows in halves]
    return HumanCeiling(tuple(tests), (("", ""),) * splits)


def excess_over_ceiling(
    user: Sequence[ClassifierTest], people: HumanCeiling, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the AUC of a user against people minus that of people, with its interval over groups.

    AUCs are medians over persons and over pairs. Where all tests have the same groups and seed, the
    bootstrap draws easily separable groups as often for the user as for people.

    Args:
        user: tests of the user against each person.
        people: ceiling of people against each other.
        level: confidence level of the interval.

    Returns:
        (difference, low, high).

    Raises:
        InvalidInput: there are no tests, or their numbers of draws differ.
    """
    draws = [[test.draws for test in tests] for tests in (user, people.tests)]
    if not all(draws) or len({len(each) for tests in draws for each in tests}) > 1:
        raise InvalidInput(
            "beyond: expected tests of the user and of people, all with the same number of draws"
        )
    one, other = (np.median(np.stack(tests), axis=0) for tests in draws)
    low, high = percentile_interval(one - other, level)
    return median(test.auc for test in user) - people.auc, low, high


def _checked(features: ArrayLike, *ids: Sequence[Any]) -> tuple[NDArray[Any], ...]:
    """Return the features, and ids as strings; raise an error where lengths differ."""
    values = np.asarray(features, dtype=np.float64)
    names = [np.asarray(part).astype(str) for part in ids]
    if values.ndim != 2 or any(part.shape != (len(values),) for part in names):
        shapes = ", ".join(str(part.shape) for part in (values, *names))
        raise InvalidInput(
            f"ceiling: expected (rows, k) and an id for each row, got shapes {shapes}"
        )
    return values, *names


def _in_common(
    first: str, second: str, names: NDArray[Any], belongs: NDArray[Any]
) -> tuple[RowIndices, RowIndices]:
    """Return the rows of two people in the groups that both have."""
    one = np.flatnonzero(names == first)
    two = np.flatnonzero(names == second)
    both = np.intersect1d(belongs[one], belongs[two])
    return one[np.isin(belongs[one], both)], two[np.isin(belongs[two], both)]


def _is_enough(rows: tuple[RowIndices, RowIndices], belongs: NDArray[Any], least: int) -> bool:
    return min(map(len, rows)) >= least and len(np.unique(belongs[rows[0]])) >= FOLDS


def _halves(
    belongs: NDArray[Any], splits: int, rng: np.random.Generator
) -> Iterator[tuple[RowIndices, RowIndices]]:
    """Yield the rows of both halves: every other row, after shuffling the groups and the rows of each."""
    numbers = np.unique(belongs, return_inverse=True)[1]
    for _ in range(splits):
        # The order of these two draws fixes the random stream.
        row_order = rng.random(len(numbers))
        group_order = rng.permutation(numbers.max() + 1)[numbers]
        order = np.lexsort((row_order, group_order))
        yield np.sort(order[::2]), np.sort(order[1::2])


def _told_apart(
    values: NDArray[Any],
    belongs: NDArray[Any],
    rows: tuple[RowIndices, RowIndices],
    n: int,
    seed: int,
) -> ClassifierTest:
    first, second = rows
    return c2st(values[first], values[second], (belongs[first], belongs[second]), n=n, seed=seed)
