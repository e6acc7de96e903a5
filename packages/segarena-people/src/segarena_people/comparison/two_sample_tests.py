"""Two-sample tests within one scope: people against each other, and a user against people.

A unit of work is one user, or people alone, in one scope. Worker processes receive its arrays and
return plain values.
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
from segarena.statistics.classifier_test import FOLDS, ClassifierTest, c2st
from segarena.statistics.curve_distance import frechet_matrix
from segarena.statistics.feature_differences import feature_differences
from segarena.statistics.ks2d import ks2d
from segarena.statistics.permutation_tests import (
    energy_test,
    gaussian_kernel,
    mmd_test,
    permutation_test,
)
from segarena_people.comparison.results import (
    ALL_PEOPLE,
    Estimate,
    FeatureResult,
    SeparationResult,
    TwoSampleTest,
)
from segarena_people.measures.human_ceiling import (
    HumanCeiling,
    ceiling_by_halves,
    ceiling_by_person,
    excess_over_ceiling,
)
from segarena_people.measures.user_shift import BEHAVIOUR_MEASURES, compute_user_shift

FeatureArray = NDArray[np.float64]

FEWEST_ANSWERS = 10
"""Samples with fewer answers are not compared."""

MOST_PEOPLE_IN_PAIRS = 6
"""Maximum number of people compared in pairs; those with the most answers are selected."""

# Sample sizes of the permutation tests, which compare all pairs of answers.
_MOST_PERMUTED = 1000
_MOST_CURVES = 100
_CURVE_POINTS = 24

# Repetitions of the feature permutation, and of the split into halves.
_EXCHANGES = 5
_HALVED = 3


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class AnswerSample:
    """Measured answers of people or of one user within a scope.

    Attributes:
        values: features, (n, features).
        behaviour: (n, measures of user shift), NaN if not measured.
        persons: person who gave each answer, or whose question the user answered.
        questions: question of each answer.
        groups: group of each answer, such as its image, which a train-test split must not divide.
        curves: longest line of each answer, scaled by the size of the goal; () if an answer has
            no line.
    """

    values: FeatureArray
    behaviour: FeatureArray
    persons: NDArray[np.str_]
    questions: NDArray[np.str_]
    groups: NDArray[np.str_]
    curves: tuple[FeatureArray, ...] = ()

    def of(self, chosen: NDArray[Any]) -> AnswerSample:
        """Return the answers that a mask or an index array selects."""
        if self.curves:
            # A tuple cannot be selected from with a mask or an index array, so convert it to indices.
            indices = np.arange(len(self.values))[chosen]
            curves = tuple(self.curves[index] for index in indices)
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


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class TestUnit:
    """Test of a user's answers against people's answers to the same questions, row by row; or of people's answers.

    Attributes:
        people, user: answers of both; without a user, people are tested against each other.
        features: feature names.
        coarse: columns of the features that do not depend on the tool's width; () if none.
        seed: seed of all random choices.
    """

    people: AnswerSample
    user: AnswerSample | None
    user_name: str
    features: tuple[str, ...]
    coarse: tuple[int, ...]
    seed: int


def require_scikit_learn() -> None:
    """Raise an error early if scikit-learn, which provides the classifier, is not installed.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    if find_spec("sklearn") is None:
        raise MissingExtra(
            'distinguishing users from people needs scikit-learn: pip install "segarena[people]"'
        )


def run_tests(unit: TestUnit) -> dict[str, Any]:
    """Run the tests of a unit; return the tests between people, or a user's test results as fields of `UserResult`."""
    people = unit.people
    user = unit.user
    if user is None:
        separations = _test_people(unit)
        return {name: _as_dicts(results) for name, results in separations.items()}
    n = shared_sample_size(people)
    by_person: list[tuple[str, ClassifierTest, ClassifierTest | None]] = []
    has_pairs = n > 0
    pairs = _people_in_pairs(people) if has_pairs else []
    for person, rows in pairs:
        tests: list[ClassifierTest | None] = []
        for columns in _column_sets(unit):
            tests.append(_classify(unit, people.of(rows), user.of(rows), columns, n=n))
        if tests[0] is not None:
            coarse_test = tests[1] if len(tests) > 1 else None
            by_person.append((person, tests[0], coarse_test))
    all_columns = list(range(len(unit.features)))
    together = _classify(unit, people, user, all_columns, exchanges=_EXCHANGES)
    coarse = None
    # If people are compared in pairs, the coarse AUC is the median over the individual people.
    if unit.coarse and not has_pairs:
        coarse = _classify(unit, people, user, list(unit.coarse))
    overall = None
    if together is not None:
        overall = _separation((ALL_PEOPLE, unit.user_name), together, coarse)
    each: list[SeparationResult] = []
    for person, every, coarse_test in by_person:
        each.append(_separation((person, unit.user_name), every, coarse_test))
    excess = _excess_over_people(unit, [test for _, test, _ in by_person], n)
    tests_by_name = {name: asdict(test) for name, test in _permutation_tests(unit).items()}
    shifts = {name: asdict(shift) for name, shift in _shift_estimates(people, user).items()}
    return {
        "each": _as_dicts(each),
        "together": None if overall is None else asdict(overall),
        "beyond": None if excess is None else asdict(excess),
        "features": _as_dicts(_compare_features(unit, together)),
        "tests": tests_by_name,
        "shift": shifts,
    }


def _as_dicts(results: Sequence[Any]) -> list[dict[str, Any]]:
    return [asdict(result) for result in results]


def _excess_over_people(
    unit: TestUnit,
    tests: Sequence[ClassifierTest],
    n: int,
) -> Estimate | None:
    """Return how much a user's AUC exceeds the AUC between two people.

    None if the user was not tested against single people.
    """
    if not tests:
        return None
    own = unit.people.of(_rows_in_pairs(unit.people))
    # Use the same answers, sample size and seed for people as for the user; otherwise the
    # difference would also reflect those.
    ceiling = ceiling_by_person(
        own.values,
        own.persons.tolist(),
        own.groups.tolist(),
        n=n,
        seed=unit.seed,
    )
    value, low, high = excess_over_ceiling(tests, ceiling)
    return Estimate(
        value=float(value),
        low=float(low),
        high=float(high),
    )


def _rows_in_pairs(people: AnswerSample) -> NDArray[np.bool_]:
    """Return a mask of the answers by people who are compared in pairs."""
    return np.isin(people.persons, [name for name, _ in _people_in_pairs(people)])


def _people_in_pairs(answers: AnswerSample) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the people to compare in pairs, with their rows; [] if fewer than two have enough answers and groups."""
    counts = Counter(name for name in answers.persons.tolist() if name)
    most_active = counts.most_common(MOST_PEOPLE_IN_PAIRS)
    active: list[str] = []
    for name, count in most_active:
        if count >= FEWEST_ANSWERS:
            active.append(name)
    people: list[tuple[str, NDArray[np.bool_]]] = []
    for name in sorted(active):
        rows = answers.persons == name
        # Each cross-validation fold of the classifier test needs at least one group.
        if len(np.unique(answers.groups[rows])) >= FOLDS:
            people.append((name, rows))
    return people if len(people) > 1 else []


def _test_people(unit: TestUnit) -> dict[str, list[SeparationResult]]:
    """Test people in pairs; if no pair has enough answers, test random halves of all answers if there are enough."""
    people = unit.people
    n = shared_sample_size(people)
    if n:
        return {"pairs": _test_pairs(unit, n), "halves": []}
    has_groups = len(np.unique(people.groups)) >= FOLDS
    if has_groups and len(people.values) >= 2 * FEWEST_ANSWERS:
        return {"pairs": [], "halves": _test_halves(unit)}
    return {"pairs": [], "halves": []}


def _test_pairs(unit: TestUnit, n: int) -> list[SeparationResult]:
    own = unit.people.of(_rows_in_pairs(unit.people))
    persons = own.persons.tolist()
    groups = own.groups.tolist()
    ceilings: list[HumanCeiling] = []
    for columns in _column_sets(unit):
        ceilings.append(
            ceiling_by_person(own.values[:, columns], persons, groups, n=n, seed=unit.seed)
        )
    tests_by_pair = zip(*(ceiling.tests for ceiling in ceilings), strict=True)
    results: list[SeparationResult] = []
    for names, tests in zip(ceilings[0].names, tests_by_pair, strict=True):
        results.append(_separation(names, *tests))
    return results


def _test_halves(unit: TestUnit) -> list[SeparationResult]:
    people = unit.people
    groups = people.groups.tolist()
    ceilings: list[HumanCeiling] = []
    for columns in _column_sets(unit):
        ceilings.append(
            ceiling_by_halves(people.values[:, columns], groups, splits=_HALVED, seed=unit.seed)
        )
    names = ("half of the answers", "the other half")
    tests_by_split = zip(*(ceiling.tests for ceiling in ceilings), strict=True)
    return [_separation(names, *tests) for tests in tests_by_split]


def shared_sample_size(people: AnswerSample) -> int:
    """Return the smallest number of answers in shared groups, over both people of each pair that has enough, or 0."""
    sizes: list[int] = []
    for (_, one), (_, other) in combinations(_people_in_pairs(people), 2):
        shared = np.intersect1d(people.groups[one], people.groups[other])
        is_shared = np.isin(people.groups, shared)
        first_size = int((one & is_shared).sum())
        second_size = int((other & is_shared).sum())
        size = min(first_size, second_size)
        if size >= FEWEST_ANSWERS and len(shared) >= FOLDS:
            sizes.append(size)
    return min(sizes, default=0)


def _column_sets(unit: TestUnit) -> list[list[int]]:
    """Return the columns of all features and, if there are any, of the coarse features."""
    column_sets = [list(range(len(unit.features)))]
    if unit.coarse:
        column_sets.append(list(unit.coarse))
    return column_sets


def _separation(
    names: tuple[str, str],
    every: ClassifierTest,
    coarse: ClassifierTest | None = None,
) -> SeparationResult:
    return SeparationResult(
        first=names[0],
        second=names[1],
        n=every.n,
        auc=_auc_estimate(every),
        coarse=None if coarse is None else _auc_estimate(coarse),
    )


def _auc_estimate(test: ClassifierTest) -> Estimate:
    return Estimate(
        value=float(test.auc),
        low=float(test.low),
        high=float(test.high),
    )


def _classify(
    unit: TestUnit,
    one: AnswerSample,
    other: AnswerSample,
    columns: list[int],
    *,
    n: int | None = None,
    exchanges: int = 0,
) -> ClassifierTest | None:
    """Run the classifier test on some features; None if there are too few answers or groups."""
    if len(one.values) < FEWEST_ANSWERS or len(np.unique(one.groups)) < FOLDS:
        return None
    first = one.values[:, columns]
    second = other.values[:, columns]
    size = None if n is None else min(n, len(first))
    return c2st(
        first,
        second,
        (one.groups, other.groups),
        n=size,
        exchanges=exchanges,
        seed=unit.seed,
    )


def _compare_features(unit: TestUnit, together: ClassifierTest | None) -> list[FeatureResult]:
    """Compare every feature; largest difference first."""
    if unit.user is None or not len(unit.people.values):
        return []
    found = feature_differences(unit.people.values, unit.user.values)
    people_medians, user_medians = found.medians
    if together is None:
        lost = np.full(len(unit.features), np.nan)
    else:
        lost = together.lost
    results: list[FeatureResult] = []
    for column, name in enumerate(unit.features):
        results.append(
            FeatureResult(
                name=name,
                people=float(people_medians[column]),
                user=float(user_medians[column]),
                ks=float(found.ks[column]),
                above=float(found.above[column]),
                n=len(unit.people.values),
                lost=float(lost[column]),
            )
        )
    return sorted(results, key=lambda result: -result.ks)


def _permutation_tests(unit: TestUnit) -> dict[str, TwoSampleTest]:
    """Run all two-sample tests except the classifier test, on a subsample; {} if there are too few answers."""
    if unit.user is None or len(unit.people.values) < FEWEST_ANSWERS:
        return {}
    rng = np.random.default_rng(unit.seed)
    rows = np.sort(rng.permutation(len(unit.people.values))[:_MOST_PERMUTED])
    people = unit.people.of(rows)
    user = unit.user.of(rows)
    pairs = (people.questions, user.questions)
    tests: dict[str, TwoSampleTest] = {}
    kinds = {"energy distance": energy_test, "maximum mean discrepancy": mmd_test}
    for name, test in kinds.items():
        result = test(
            people.values,
            user.values,
            pairs=pairs,
            is_scaled=True,
            seed=unit.seed,
        )
        tests[name] = _test_result(result.statistic, result.p_value, len(rows))
    # Only clicks have a position, and this test is two-dimensional.
    if unit.features[:2] == ("row", "column"):
        ks = ks2d(user.values[:, :2], people.values[:, :2])
        tests["KS in two dimensions"] = _test_result(ks.statistics[0], ks.p_values[0], len(rows))
    if people.curves and user.curves:
        tests["shapes of lines (Fréchet distance)"] = _test_curves(people, user, unit.seed)
    return tests


def _test_curves(
    people: AnswerSample,
    user: AnswerSample,
    seed: int,
) -> TwoSampleTest:
    # The distance matrix is quadratic in the number of curves, and each entry compares all their
    # points.
    count = min(_MOST_CURVES, len(people.values))
    curves = [*people.curves[:count], *user.curves[:count]]
    distances = frechet_matrix(curves, points=_CURVE_POINTS, either_way=True)
    pairs = (people.questions[:count], user.questions[:count])
    result = permutation_test(gaussian_kernel(distances), (count, count), pairs=pairs, seed=seed)
    return _test_result(result.statistic, result.p_value, count)


def _test_result(
    statistic: Any,
    p_value: Any,
    n: int,
) -> TwoSampleTest:
    return TwoSampleTest(
        statistic=float(statistic),
        p_value=float(p_value),
        n=n,
    )


def _shift_estimates(people: AnswerSample, user: AnswerSample) -> dict[str, Estimate]:
    """Return the measures of user shift, user minus people, with intervals over groups."""
    if not np.isfinite(people.behaviour).any():
        return {}
    shifts = compute_user_shift(user.behaviour, people.behaviour, people.groups)
    estimates: dict[str, Estimate] = {}
    for name, shift in zip(BEHAVIOUR_MEASURES, shifts, strict=True):
        if shift.n:
            estimates[name] = Estimate(
                value=float(shift.difference),
                low=float(shift.low),
                high=float(shift.high),
            )
    return estimates
