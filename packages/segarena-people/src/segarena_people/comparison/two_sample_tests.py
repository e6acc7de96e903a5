"""The two-sample tests of one scope: people against each other, and a user against people.

A unit of long work is one user in one scope; its arrays travel, its result is plain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import MissingExtra
from segarena.statistics.classifier import FOLDS, ToldApart, c2st
from segarena.statistics.curve_distance import frechet_matrix
from segarena.statistics.energy import energy_test, median_kernel, mmd_test, permutation_test
from segarena.statistics.ks2d import ks2d
from segarena.statistics.one_by_one import differences
from segarena_people.comparison.results import (
    ALL_PEOPLE,
    Estimate,
    FeatureResult,
    SeparationResult,
    TwoSampleTest,
)
from segarena_people.measures.human_ceiling import (
    ceiling_by_halves,
    ceiling_by_person,
    excess_over_ceiling,
)
from segarena_people.measures.user_shift import BEHAVIOUR_MEASURES, compute_user_shift

FeatureArray = NDArray[np.float64]

FEWEST_ANSWERS = 10
"""Fewer answers of each are not compared."""

MOST_PEOPLE_IN_PAIRS = 6
"""People are compared one by one as long as they are no more; of more, those who answered most."""

_MOST_PERMUTED = 1000
_MOST_CURVES = 100
_CURVE_POINTS = 24
"""So many answers of each go into the tests by permutation."""

_EXCHANGES = 5
_HALVED = 3
"""How often features are exchanged, and questions halved."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerSample:
    """The answers of one side in a scope, as far as they can be measured.

    Attributes:
        values: (n, features).
        behaviour: (n, measures of user shift), NaN where there are none.
        persons: who gave each, or in whose place it was given.
        questions: to what.
        groups: what must not lie on both sides of a split.
        curves: the longest line of each in units of the goal, where lines are known; () otherwise.
    """

    values: FeatureArray
    behaviour: FeatureArray
    persons: NDArray[np.str_]
    questions: NDArray[np.str_]
    groups: NDArray[np.str_]
    curves: tuple[FeatureArray, ...] = ()

    def of(self, chosen: NDArray[Any]) -> AnswerSample:
        """Return some of the answers."""
        if self.curves:
            curves = tuple(self.curves[place] for place in np.arange(len(self.values))[chosen])
        else:
            curves = ()
        return AnswerSample(
            values=self.values[chosen],
            behaviour=self.behaviour[chosen],
            persons=self.persons[chosen],
            questions=self.questions[chosen],
            groups=self.groups[chosen],
            curves=curves,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestUnit:
    """What is tested: a user's answers against people's, row by row to the same question; or people alone.

    Attributes:
        people, user: the two sides; None tests people against each other.
        features: names of the features.
        coarse: columns of those that the width of a tool cannot fake; () without such.
        seed: of all random choices.
    """

    people: AnswerSample
    user: AnswerSample | None
    user_name: str
    features: tuple[str, ...]
    coarse: tuple[int, ...]
    seed: int


def require_scikit_learn() -> None:
    """Refuse to begin what could not be ended.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise MissingExtra(
            'telling users from people needs scikit-learn: pip install "segarena[people]"'
        )


def run_tests(unit: TestUnit) -> dict[str, Any]:
    """Return what was found, as plain values: the ceiling, or the fields of `UserFound` that are tested."""
    user = unit.user
    people = unit.people
    if user is None:
        return {name: [asdict(one) for one in found] for name, found in _ceiling(unit).items()}
    n = shared_sample_size(people)
    every = _column_sets(unit)[0]
    if n:
        sides = [(person, people.of(own), user.of(own)) for person, own in _persons(people)]
    else:
        sides = []
    told = [
        (person, [_told(unit, one, other, columns, n=n) for columns in _column_sets(unit)])
        for person, one, other in sides
    ]
    together = _told(unit, people, user, every, exchanges=_EXCHANGES)
    if unit.coarse and not told:
        coarse = _told(unit, people, user, list(unit.coarse))
    else:
        coarse = None
    if together is None:
        everybody = None
    else:
        everybody = _between((ALL_PEOPLE, unit.user_name), together, coarse)
    each = [
        _between((person, unit.user_name), one, *others)
        for person, (one, *others) in told
        if one is not None
    ]
    beyond_people = _beyond(unit, [one for _, (one, *_) in told if one is not None], n)
    return {
        "each": [asdict(one) for one in each],
        "together": None if everybody is None else asdict(everybody),
        "beyond": None if beyond_people is None else asdict(beyond_people),
        "features": [asdict(one) for one in _features(unit, together)],
        "tests": {name: asdict(one) for name, one in _tests(unit).items()},
        "shift": {name: asdict(one) for name, one in _shift(people, user).items()},
    }


def _beyond(unit: TestUnit, tests: Sequence[ToldApart], n: int) -> Estimate | None:
    """Return how much better a user is told from people than two people; None where no two answered the same."""
    if not tests:
        return None
    own = unit.people.of(_compared(unit.people))
    ceiling = ceiling_by_person(
        own.values, own.persons.tolist(), own.groups.tolist(), n=n, seed=unit.seed
    )
    value, low, high = excess_over_ceiling(tests, ceiling)
    return Estimate(value=float(value), low=float(low), high=float(high))


def _compared(people: AnswerSample) -> NDArray[np.bool_]:
    """Return which answers are of people who are compared one by one."""
    return np.isin(people.persons, [name for name, _ in _persons(people)])


def _persons(side: AnswerSample) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the people who are compared one by one, and which rows are theirs: none where only one is known."""
    counts = Counter(name for name in side.persons.tolist() if name)
    most = [
        name for name, count in counts.most_common(MOST_PEOPLE_IN_PAIRS) if count >= FEWEST_ANSWERS
    ]
    own = [(name, side.persons == name) for name in sorted(most)]
    enough = [(name, rows) for name, rows in own if len(np.unique(side.groups[rows])) >= FOLDS]
    return enough if len(enough) > 1 else []


def _ceiling(unit: TestUnit) -> dict[str, list[SeparationResult]]:
    """Return how two people are told apart; where no two answered the same, how two halves of all answers are."""
    people = unit.people
    own = people.of(_compared(people))
    n = shared_sample_size(people)
    found: dict[str, list[SeparationResult]] = {"pairs": [], "halves": []}
    if n:
        ceilings = [
            ceiling_by_person(
                own.values[:, columns],
                own.persons.tolist(),
                own.groups.tolist(),
                n=n,
                seed=unit.seed,
            )
            for columns in _column_sets(unit)
        ]
        found["pairs"] = list(map(_between, ceilings[0].names, *(one.tests for one in ceilings)))
    elif len(people.values) >= 2 * FEWEST_ANSWERS and len(np.unique(people.groups)) >= FOLDS:
        ceilings = [
            ceiling_by_halves(
                people.values[:, columns], people.groups.tolist(), splits=_HALVED, seed=unit.seed
            )
            for columns in _column_sets(unit)
        ]
        names = [("half of the answers", "the other half")] * len(ceilings[0].tests)
        found["halves"] = list(map(_between, names, *(one.tests for one in ceilings)))
    return found


def shared_sample_size(people: AnswerSample) -> int:
    """Return how many answers any two of the people who are compared have at least in what both answered; 0: none."""
    sizes: list[int] = []
    for (_, one), (_, other) in combinations(_persons(people), 2):
        both = np.intersect1d(people.groups[one], people.groups[other])
        rows = [own & np.isin(people.groups, both) for own in (one, other)]
        size = min(int(own.sum()) for own in rows)
        sizes += [size] if size >= FEWEST_ANSWERS and len(both) >= FOLDS else []
    return min(sizes, default=0)


def _column_sets(unit: TestUnit) -> list[list[int]]:
    return [list(range(len(unit.features))), *([list(unit.coarse)] if unit.coarse else [])]


def _between(
    names: tuple[str, str], every: ToldApart, coarse: ToldApart | None = None
) -> SeparationResult:
    return SeparationResult(
        first=names[0],
        second=names[1],
        n=every.n,
        auc=_measured(every),
        coarse=None if coarse is None else _measured(coarse),
    )


def _measured(told: ToldApart) -> Estimate:
    return Estimate(value=float(told.auc), low=float(told.low), high=float(told.high))


def _told(
    unit: TestUnit,
    one: AnswerSample,
    other: AnswerSample,
    columns: list[int],
    *,
    n: int | None = None,
    exchanges: int = 0,
) -> ToldApart | None:
    """Return what the classifier says of some features; None where there are too few answers or groups."""
    if len(one.values) < FEWEST_ANSWERS or len(np.unique(one.groups)) < FOLDS:
        return None
    first = one.values[:, columns]
    second = other.values[:, columns]
    most = None if n is None else min(n, len(first))
    return c2st(
        first, second, (one.groups, other.groups), n=most, exchanges=exchanges, seed=unit.seed
    )


def _features(unit: TestUnit, together: ToldApart | None) -> list[FeatureResult]:
    """Return every feature, the one that differs most first."""
    if unit.user is None or not len(unit.people.values):
        return []
    found = differences(unit.people.values, unit.user.values)
    lost = np.full(len(unit.features), np.nan) if together is None else together.lost
    rows = [
        FeatureResult(
            name=name, people=float(found.medians[0, k]), user=float(found.medians[1, k]), ks=float(found.ks[k]),
            above=float(found.above[k]), n=len(unit.people.values), lost=float(lost[k]),
        )
        for k, name in enumerate(unit.features)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -row.ks)


def _tests(unit: TestUnit) -> dict[str, TwoSampleTest]:
    """Return the tests by permutation, of as many answers as they can take; values change places within a question."""
    if unit.user is None or len(unit.people.values) < FEWEST_ANSWERS:
        return {}
    rng = np.random.default_rng(unit.seed)
    order = np.sort(rng.permutation(len(unit.people.values))[:_MOST_PERMUTED])
    people = unit.people.of(order)
    user = unit.user.of(order)
    pairs = (people.questions, user.questions)
    found: dict[str, TwoSampleTest] = {}
    for name, test in (("energy distance", energy_test), ("maximum mean discrepancy", mmd_test)):
        result = test(people.values, user.values, pairs=pairs, is_scaled=True, seed=unit.seed)
        found[name] = _tested(result.statistic, result.p_value, len(order))
    if unit.features[:2] == ("row", "column"):
        ks = ks2d(user.values[:, :2], people.values[:, :2])
        found["KS in two dimensions"] = _tested(ks.statistics[0], ks.p_values[0], len(order))
    if people.curves and user.curves:
        count = min(_MOST_CURVES, len(order))
        distances = frechet_matrix(
            [*people.curves[:count], *user.curves[:count]], points=_CURVE_POINTS, either_way=True
        )
        ids = (people.questions[:count], user.questions[:count])
        result = permutation_test(
            median_kernel(distances), (count, count), pairs=ids, seed=unit.seed
        )
        found["courses of lines (Fréchet)"] = _tested(result.statistic, result.p_value, count)
    return found


def _tested(statistic: Any, p_value: Any, n: int) -> TwoSampleTest:
    return TwoSampleTest(statistic=float(statistic), p_value=float(p_value), n=n)


def _shift(people: AnswerSample, user: AnswerSample) -> dict[str, Estimate]:
    """Return the measures of user shift, user minus people, with intervals over groups."""
    if not np.isfinite(people.behaviour).any():
        return {}
    shifts = compute_user_shift(user.behaviour, people.behaviour, people.groups)
    named = zip(BEHAVIOUR_MEASURES, shifts, strict=True)
    return {
        name: Estimate(value=float(one.difference), low=float(one.low), high=float(one.high))
        for name, one in named
        if one.n
    }
