"""Comparison of simulated users with people: replies to the same questions, their features, and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.files.hashes import fingerprint
from segarena.plugin_spec import Plugin, PluginSpec
from segarena.prompts import Scribble
from segarena.work.jobs import FunctionJob, Job, Workers
from segarena.work.progress import OnProgress, ignore_progress
from segarena_people.collection import CollectedPrompt, Collection
from segarena_people.comparison.answer_features import (
    COARSE_FEATURES,
    FEATURE_DEFINITIONS,
    MeasuredAnswer,
    MeasurementJob,
    decode_measured,
)
from segarena_people.comparison.answers import (
    COMPARABLE_KINDS,
    group_by_scope,
    open_collection,
    question_key,
    select_answers,
)
from segarena_people.comparison.results import (
    AnswerScope,
    ScopeResult,
    SeparationResult,
    UserResult,
)
from segarena_people.comparison.simulated_user_checks import (
    check_users,
    named_plugin,
    picture_notes,
)
from segarena_people.comparison.two_sample_tests import (
    FEWEST_ANSWERS,
    AnswerSample,
    TestUnit,
    require_scikit_learn,
    run_tests,
)
from segarena_people.comparison.work_cache import collection_hash, plugin_identity, run_cached
from segarena_people.measures.goal_mask_geometry import GoalShape
from segarena_people.measures.user_shift import BEHAVIOUR_MEASURES

FeatureTable = NDArray[np.float64]

PEOPLE = "people"


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class UserComparison:
    """Result of a comparison of simulated users with people.

    Attributes:
        name, terms: name and terms of use of the collection.
        path: path of the collection.
        users: names of the users.
        scopes: results by scope; a scope of all labels comes before the scopes of its single labels.
        notes: caveats for the reader.
        answers: people's answers that were compared.
        measured: measured answers, by `PEOPLE` or user name, in the order of `answers`.
    """

    name: str
    terms: str
    path: str
    users: tuple[str, ...]
    scopes: tuple[ScopeResult, ...]
    notes: tuple[str, ...]
    answers: tuple[CollectedPrompt, ...]
    measured: Mapping[str, Sequence[MeasuredAnswer]]

    def indices(self, scope: AnswerScope) -> list[int]:
        """Return the indices of the answers in a scope."""
        rows = [answer.row for answer in self.answers]
        return group_by_scope(rows, fewest=1)[scope]

    def values(self, who: str, scope: AnswerScope) -> FeatureTable:
        """Return the features of all measurable answers by people or one user within a scope, (n, features)."""
        values: list[FeatureTable] = []
        for index in self.indices(scope):
            own = self.measured[who][index].values
            if own is not None:
                values.append(own)
        if not values:
            return np.empty((0, len(FEATURE_DEFINITIONS[scope.kind])))
        return np.stack(values)


def compare_users(
    users: Sequence[Plugin],
    people: str | Path,
    *,
    dataset: str | None = None,
    kinds: Sequence[str] = COMPARABLE_KINDS,
    seed: int = 0,
    workers: Workers = 0,
    kept: Path | None = None,
    on_progress: OnProgress = ignore_progress,
) -> UserComparison:
    """Compare simulated users with people.

    Each user is asked exactly the questions that people answered, once for each answer by a person,
    so that every answer has a counterpart. All questions of one person have the same `turn.repeat`,
    so that a simulated crowd answers them as the same simulated person.

    Args:
        users: users as for `segarena run -u`.
        people: the folder of a collection, or its table; see `segarena_people.collection`.
        dataset: dataset that was shown to people, as for `segarena run -d`; without it users see
            black pictures.
        kinds: prompt kinds: "scribble", "box", "click".
        seed: seed of all random choices.
        workers: number of processes, or an executor.
        kept: cache folder that lets an interrupted comparison resume; None disables the cache.
        on_progress: called after each answer and each test.

    Raises:
        InvalidInput: the table is unusable or has too few answers, or a user is human or gives none
            of the prompt kinds in it.
        MissingExtra: scikit-learn is not installed.
    """
    require_scikit_learn()
    collection = open_collection(people, dataset)
    selected = select_answers(collection, kinds)
    _check_unique_ids(selected.all)
    rows = [collected.row for collected in selected.all]
    scopes = group_by_scope(rows, fewest=FEWEST_ANSWERS)
    if not scopes:
        raise InvalidInput(_too_few_text(selected.all, selected.left_out))
    specs = dict(named_plugin(user) for user in users)
    check_users(specs, [row.kind for row in rows])
    run = _ComparisonRun(
        str(people),
        dataset,
        seed,
        workers,
        kept,
        on_progress,
        collection,
        selected.all,
    )
    measured = {PEOPLE: run.measure(PEOPLE, None)}
    for name, spec in specs.items():
        measured[name] = run.measure(name, spec)
    notes = [f"{count} {reason} were left out." for reason, count in selected.left_out.items()]
    too_small = sum(answer.values is None for answer in measured[PEOPLE])
    if too_small:
        notes.append(
            f"{too_small} answers were left out because their goals or strokes are too small to measure."
        )
    if dataset is None:
        # The report must state that users that depend on pictures received black ones.
        notes += picture_notes(specs, selected.all[0], seed)
    return UserComparison(
        name=collection.name,
        terms=collection.terms,
        path=str(people),
        users=tuple(specs),
        scopes=tuple(run.test(scopes, measured, tuple(specs))),
        notes=tuple(notes),
        answers=selected.all,
        measured=measured,
    )


def _check_unique_ids(answers: Sequence[CollectedPrompt]) -> None:
    """Raise an error for duplicate ids: results are stored by id, so one would overwrite the other."""
    counts = Counter(collected.row.id for collected in answers)
    for name, times in counts.most_common(1):
        if times > 1:
            raise InvalidInput(
                f"expected a unique id for each answer, got {name!r} {times} times; rename the duplicates"
            )


def _too_few_text(answers: Sequence[CollectedPrompt], left_out: Mapping[str, int]) -> str:
    reasons = ""
    for reason, count in left_out.items():
        reasons += f"; {count} {reason} are left out"
    return f"expected at least {FEWEST_ANSWERS} answers by people, got {len(answers)}{reasons}"


@dataclass(frozen=True, slots=True, eq=False)
class _ComparisonRun:
    """Runs the expensive steps of a comparison, cached in files if a cache folder was given."""

    people: str
    dataset: str | None
    seed: int
    workers: Workers
    kept: Path | None
    on_progress: OnProgress
    collection: Collection
    answers: tuple[CollectedPrompt, ...]

    def measure(self, name: str, user: PluginSpec | None) -> list[MeasuredAnswer]:
        """Return the measured answers of people, or of a user to the same questions, in the same order."""
        index_of = {collected.row.id: index for index, collected in enumerate(self.collection)}
        number_of = {person: number for number, person in enumerate(self.collection.people)}
        units: dict[str, tuple[int, int]] = {}
        for collected in self.answers:
            row = collected.row
            units[row.id] = (index_of[row.id], number_of.get(row.person, 0))
        job = MeasurementJob(
            people=self.people,
            dataset=self.dataset,
            user=user,
            name=name,
            seed=self.seed,
        )
        identity = {
            "table": collection_hash(self.collection),
            "dataset": self.dataset,
            "name": name,
            "who": None if user is None else plugin_identity("user", user),
        }
        results = self._run(job, units, identity, name)
        return [decode_measured(results[collected.row.id]) for collected in self.answers]

    def test(
        self,
        scopes: Mapping[AnswerScope, Sequence[int]],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        users: Sequence[str],
    ) -> list[ScopeResult]:
        """Return the test results for each scope."""
        units: dict[str, TestUnit] = {}
        for scope, indices in scopes.items():
            for user in (None, *users):
                unit = self._test_unit(scope, indices, measured, user)
                if unit is not None:
                    units[_unit_name(scope, user, unit)] = unit
        # This number is part of the cache key: increase it whenever the tests change.
        done = self._run(FunctionJob(run_tests), units, {"tests": 2}, "tests")
        results: dict[str, Any] = {}
        for name, result in done.items():
            results[name.rpartition("\t")[0]] = result
        scope_results: list[ScopeResult] = []
        for scope, indices in scopes.items():
            scope_results.append(self._scope_result(scope, indices, measured, users, results))
        return scope_results

    def _run(
        self,
        job: Job[Any, Any],
        units: Mapping[str, Any],
        identity: Mapping[str, Any],
        stage: str,
    ) -> dict[str, Any]:
        return run_cached(
            job,
            units,
            identity,
            seed=self.seed,
            kept=self.kept,
            workers=self.workers,
            stage=stage,
            on_progress=self.on_progress,
        )

    def _test_unit(
        self,
        scope: AnswerScope,
        indices: Sequence[int],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        user: str | None,
    ) -> TestUnit | None:
        """Build a test unit from the questions that people and the user both answered; None if there are too few."""
        sides = [PEOPLE] if user is None else [PEOPLE, user]
        shared: list[int] = []
        for index in indices:
            # Restrict both sides to the same questions.
            if all(measured[side][index].values is not None for side in sides):
                shared.append(index)
        if len(shared) < FEWEST_ANSWERS:
            return None
        features = tuple(FEATURE_DEFINITIONS[scope.kind])
        coarse = COARSE_FEATURES.get(scope.kind, ())
        return TestUnit(
            people=self._answer_sample(shared, measured[PEOPLE]),
            user=None if user is None else self._answer_sample(shared, measured[user]),
            user_name=user or "",
            features=features,
            coarse=tuple(features.index(name) for name in coarse),
            seed=self.seed,
        )

    def _answer_sample(
        self, indices: Sequence[int], measured: Sequence[MeasuredAnswer]
    ) -> AnswerSample:
        no_behaviour = np.full(len(BEHAVIOUR_MEASURES), np.nan)
        values: list[FeatureTable] = []
        behaviour: list[FeatureTable] = []
        curves: list[FeatureTable] = []
        for index in indices:
            answer = measured[index]
            if answer.values is not None:
                values.append(answer.values)
            # NaN rows keep `behaviour` aligned with `values`.
            behaviour.append(no_behaviour if answer.behaviour is None else answer.behaviour)
            curve = _longest_curve(self.answers[index], answer)
            if curve is not None:
                curves.append(curve)
        rows = [self.answers[index].row for index in indices]
        return AnswerSample(
            values=np.stack(values),
            behaviour=np.stack(behaviour),
            persons=np.array([row.person for row in rows], np.str_),
            questions=np.array([question_key(row) for row in rows], np.str_),
            groups=np.array([self.answers[index].group for index in indices], np.str_),
            # The curve test pairs answers by index, so it needs a curve for every answer.
            curves=tuple(curves) if len(curves) == len(indices) else (),
        )

    def _scope_result(
        self,
        scope: AnswerScope,
        indices: Sequence[int],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        users: Sequence[str],
        results: Mapping[str, Any],
    ) -> ScopeResult:
        indices = [index for index in indices if measured[PEOPLE][index].values is not None]
        answers = [self.answers[index] for index in indices]
        people_result = results.get(_test_key(scope, None), {})
        ceiling = msgspec.convert(people_result, dict[str, tuple[SeparationResult, ...]])
        user_results: list[UserResult] = []
        for user in users:
            own = [measured[user][index] for index in indices]
            user_results.append(_user_result(user, own, results.get(_test_key(scope, user))))
        people: list[str] = []
        for answer in answers:
            if answer.row.person:
                people.append(answer.row.person)
        return ScopeResult(
            scope=scope,
            people=tuple(dict.fromkeys(people)),
            questions=len({question_key(answer.row) for answer in answers}),
            groups=len({answer.group for answer in answers}),
            answers=len(answers),
            users=tuple(user_results),
            **ceiling,
        )


def _user_result(
    user: str,
    measured: Sequence[MeasuredAnswer],
    result: Mapping[str, Any] | None,
) -> UserResult:
    refusals = [answer.refusal for answer in measured if answer.refusal]
    answered = sum(answer.values is not None for answer in measured)
    counts = {
        "user": user,
        "asked": len(measured),
        "answered": answered,
        "silent": len(measured) - answered - len(refusals),
        "refused": len(refusals),
        "why": refusals[0] if refusals else "",
    }
    return msgspec.convert({**counts, **(result or {})}, UserResult)


def _test_key(scope: AnswerScope, user: str | None) -> str:
    return f"{scope.title} | {PEOPLE if user is None else user}"


def _unit_name(
    scope: AnswerScope,
    user: str | None,
    unit: TestUnit,
) -> str:
    """Return the cache key of a test: its scope and user, and a hash of its inputs."""
    contents = b"".join(_sample_bytes(unit.people))
    if unit.user is not None:
        contents += b"".join(_sample_bytes(unit.user))
    return f"{_test_key(scope, user)}\t{fingerprint(contents)}"


def _sample_bytes(sample: AnswerSample) -> Iterator[bytes]:
    """Yield everything in a sample that affects a test result, as bytes."""
    yield sample.values.tobytes()
    yield sample.behaviour.tobytes()
    for curve in sample.curves:
        yield curve.tobytes()
    for ids in (sample.persons, sample.questions, sample.groups):
        yield "\n".join(ids).encode()


def _longest_curve(collected: CollectedPrompt, measured: MeasuredAnswer) -> FeatureTable | None:
    """Return an answer's longest line relative to the goal's centroid and size; None if it has no line."""
    lines: list[NDArray[np.float64]] = []
    for prompt in measured.prompts:
        if isinstance(prompt, Scribble):
            lines.append(np.asarray(prompt.points)[:, -2:])
    if not lines or measured.values is None:
        return None
    goal = GoalShape(collected.goal)
    return (max(lines, key=_curve_length) - goal.centroid) / goal.side


def _curve_length(line: FeatureTable) -> float:
    steps = np.diff(line, axis=0)
    return float(np.linalg.norm(steps, axis=1).sum())
