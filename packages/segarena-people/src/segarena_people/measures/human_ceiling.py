"""Human ceiling: separability of people from one another, with the same test, features and sample size as for users.

No simulated user can be expected to be closer to people than people are to each other. By person:
the test compares two people at a time on their answers in the groups that they share. By halves:
the test splits the answers of all people at random, which gives about the same result as a perfect
copy of all these people would.
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
    """Separability of people from one another.

    Attributes:
        tests: classifier test of each pair of people, or of each split into halves.
        names: the two people of each test; empty strings for halves.
        left_out: pairs of people with too few values or groups in common for a test.
    """

    tests: tuple[ClassifierTest, ...]
    names: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def n(self) -> int:
        """Sample size per side, the same in all tests."""
        return self.tests[0].n

    @property
    def auc(self) -> float:
        """Median AUC."""
        return median(test.auc for test in self.tests)

    @property
    def interval(self) -> tuple[float, float]:
        """Medians of the lower and of the upper AUC interval bounds."""
        low = median(test.low for test in self.tests)
        high = median(test.high for test in self.tests)
        return low, high


def ceiling_by_person(
    features: ArrayLike,
    persons: Sequence[Any],
    groups: Sequence[Any],
    *,
    n: int | None = None,
    seed: int = 0,
) -> HumanCeiling:
    """Test each pair of people on their prompts in the groups that they share.

    Args:
        features: real (rows, k), finite.
        persons: person of each row.
        groups: group of each row, such as an image or a patient.
        n: sample size per person in each test; None uses the largest size that all testable pairs
            allow.
        seed: seed of the tests.

    Raises:
        InvalidInput: lengths differ, or no pair of people has enough in common.
        MissingExtra: scikit-learn is not installed.
    """
    values, names, belongs = _checked(features, persons, groups)
    pairs: dict[tuple[str, str], Any] = {}
    for pair in combinations(np.unique(names).tolist(), 2):
        pairs[pair] = _in_common(*pair, names, belongs)
    least = FOLDS if n is None else n
    enough = {pair: rows for pair, rows in pairs.items() if _is_enough(rows, belongs, least)}
    if not enough:
        raise InvalidInput(
            f"ceiling: expected two people with at least {least} values each in at least {FOLDS} shared groups, "
            f"but none of {len(pairs)} pairs has that; compare halves instead"
        )
    # AUCs grow with the sample size, so all pairs must use the same size.
    count = min(min(map(len, rows)) for rows in enough.values()) if n is None else n
    tests: list[ClassifierTest] = []
    for rows in enough.values():
        tests.append(_separate(values, belongs, rows, count, seed))
    left_out = [pair for pair in pairs if pair not in enough]
    return HumanCeiling(tuple(tests), tuple(enough), tuple(left_out))


def ceiling_by_halves(
    features: ArrayLike,
    groups: Sequence[Any],
    *,
    n: int | None = None,
    splits: int = 5,
    seed: int = 0,
) -> HumanCeiling:
    """Test random halves of all rows against each other, for several random splits.

    The rows of each group are divided between the halves as evenly as possible, because a simulated
    user and people also answer the same questions; a group with a single row is in one half only.

    >>> ceiling_by_halves(np.zeros((600, 1)), np.arange(600).tolist(), splits=1).n
    300

    Args:
        features: real (rows, k), finite.
        groups: group of each row.
        n: sample size per half in each test; None uses half of the rows.
        splits: number of splits.
        seed: seed of the splits and the tests.

    Raises:
        InvalidInput: lengths differ, there are fewer than ten rows, `splits` is below 1, or as
            for `c2st`.
        MissingExtra: scikit-learn is not installed.
    """
    values, belongs = _checked(features, groups)
    if len(values) < 2 * FOLDS or splits < 1:
        raise InvalidInput(
            f"halves: expected at least {2 * FOLDS} rows and one split, got {len(values)} and {splits}"
        )
    count = len(values) // 2 if n is None else n
    halves = _halves(belongs, splits, np.random.default_rng(seed))
    tests: list[ClassifierTest] = []
    for rows in halves:
        tests.append(_separate(values, belongs, rows, count, seed))
    return HumanCeiling(tuple(tests), (("", ""),) * splits)


def excess_over_ceiling(
    user: Sequence[ClassifierTest],
    people: HumanCeiling,
    *,
    level: float = 0.95,
) -> tuple[float, float, float]:
    """Return the AUC of a user against people minus the AUC between people, with an interval over groups.

    AUCs are medians, over people and over pairs of people. If all tests share groups and seed, each
    bootstrap resample contains the easily separable groups equally often for the user and for
    people.

    Args:
        user: tests of the user against each person.
        people: human ceiling.
        level: confidence level of the interval.

    Returns:
        (difference, low, high).

    Raises:
        InvalidInput: there are no tests, or their numbers of bootstrap resamples differ.
    """
    draws = [
        [test.draws for test in user],
        [test.draws for test in people.tests],
    ]
    counts = set(map(len, [*draws[0], *draws[1]]))
    if not all(draws) or len(counts) > 1:
        raise InvalidInput(
            "excess: expected tests of the user and of people, all with the same number of bootstrap resamples"
        )
    user_medians = np.median(np.stack(draws[0]), axis=0)
    people_medians = np.median(np.stack(draws[1]), axis=0)
    low, high = percentile_interval(user_medians - people_medians, level)
    difference = median(test.auc for test in user) - people.auc
    return difference, low, high


def _checked(features: ArrayLike, *ids: Sequence[Any]) -> tuple[NDArray[Any], ...]:
    """Return the features, and the ids as strings; raise an error if lengths differ."""
    values = np.asarray(features, dtype=np.float64)
    names = [np.asarray(part).astype(str) for part in ids]
    if values.ndim != 2 or any(part.shape != (len(values),) for part in names):
        shapes = ", ".join(str(part.shape) for part in (values, *names))
        raise InvalidInput(
            f"ceiling: expected (rows, k) and an id for each row, got shapes {shapes}"
        )
    return values, *names


def _in_common(
    first: str,
    second: str,
    names: NDArray[Any],
    belongs: NDArray[Any],
) -> tuple[RowIndices, RowIndices]:
    """Return the rows of two people in the groups that both have."""
    one = np.flatnonzero(names == first)
    two = np.flatnonzero(names == second)
    both = np.intersect1d(belongs[one], belongs[two])
    of_first = one[np.isin(belongs[one], both)]
    of_second = two[np.isin(belongs[two], both)]
    return of_first, of_second


def _is_enough(
    rows: tuple[RowIndices, RowIndices],
    belongs: NDArray[Any],
    least: int,
) -> bool:
    group_count = len(np.unique(belongs[rows[0]]))
    return min(map(len, rows)) >= least and group_count >= FOLDS


def _halves(
    belongs: NDArray[Any],
    splits: int,
    rng: np.random.Generator,
) -> Iterator[tuple[RowIndices, RowIndices]]:
    """Yield the rows of both halves: alternate rows, after shuffling the groups and the rows within each."""
    numbers = np.unique(belongs, return_inverse=True)[1]
    for _ in range(splits):
        # The order of these two calls determines the random stream, so it must not change.
        row_order = rng.random(len(numbers))
        group_order = rng.permutation(numbers.max() + 1)[numbers]
        # Rows of a group are adjacent, so taking alternate rows divides each group evenly.
        order = np.lexsort((row_order, group_order))
        yield np.sort(order[::2]), np.sort(order[1::2])


def _separate(
    values: NDArray[Any],
    belongs: NDArray[Any],
    rows: tuple[RowIndices, RowIndices],
    n: int,
    seed: int,
) -> ClassifierTest:
    first, second = rows
    groups = (belongs[first], belongs[second])
    return c2st(values[first], values[second], groups, n=n, seed=seed)
