"""Simulated users held against people: who is asked what, what is measured, and what came of it."""

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
from segarena.prompts import Scribble
from segarena.specs import Plugin, PluginSpec
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
from segarena_people.comparison.participants import check_users, named_plugin, picture_notes
from segarena_people.comparison.results import (
    AnswerScope,
    ScopeResult,
    SeparationResult,
    UserResult,
)
from segarena_people.comparison.two_sample_tests import (
    FEWEST_ANSWERS,
    AnswerSample,
    TestUnit,
    require_scikit_learn,
    run_tests,
)
from segarena_people.comparison.work_cache import collection_hash, plugin_identity, run_cached
from segarena_people.measures.goal_shape import GoalShape

FeatureTable = NDArray[np.float64]

PEOPLE = "people"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserComparison:
    """What came of holding users against people.

    Attributes:
        name, terms: of the collection.
        path: where it is.
        users: as they were written.
        scopes: what was found, a scope after the other; all labels together come before each.
        notes: what must be known to read it.
        answers: what people gave, as far as it was compared.
        measured: by who gave it (`PEOPLE` or a user), what was given to each of them.
    """

    name: str
    terms: str
    path: str
    users: tuple[str, ...]
    scopes: tuple[ScopeResult, ...]
    notes: tuple[str, ...]
    answers: tuple[CollectedPrompt, ...]
    measured: Mapping[str, Sequence[MeasuredAnswer]]

    def places(self, scope: AnswerScope) -> list[int]:
        """Return which answers are of a scope."""
        return group_by_scope([given.row for given in self.answers], fewest=1)[scope]

    def values(self, who: str, scope: AnswerScope) -> FeatureTable:
        """Return the features of everything that somebody gave in a scope and that can be measured, (n, features)."""
        found = [self.measured[who][place].values for place in self.places(scope)]
        given = [one for one in found if one is not None]
        return np.stack(given) if given else np.empty((0, len(FEATURE_DEFINITIONS[scope.kind])))


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
    """Return how far simulated users are from people.

    Each user is asked exactly what people were asked, once for each answer that people gave, so that there are as many
    of both; answers of one person all get the same `turn.repeat`, so that a crowd's person stays the same too.

    Args:
        users: as for `segarena run -u`.
        people: a folder of what people gave, or its table; see `segarena_people.collection`.
        dataset: what was shown, as for `segarena run -d`; without it users see black pictures.
        kinds: of prompts: "scribble", "box", "click".
        seed: of all random choices.
        workers: processes, or an executor.
        kept: folder in which what is done is remembered, so that the next call goes on; None forgets.
        on_progress: told of each answer and each test.

    Raises:
        InvalidInput: the table cannot be used, has too few answers, or no user gives what people gave.
        MissingExtra: scikit-learn is not installed.
    """
    require_scikit_learn()
    collection = open_collection(people, dataset)
    found = select_answers(collection, kinds)
    _check_ids(found.all)
    scopes = group_by_scope([given.row for given in found.all], fewest=FEWEST_ANSWERS)
    if not scopes:
        raise InvalidInput(_too_few(found.all, found.left_out))
    specs = dict(map(named_plugin, users))
    check_users(specs, [given.row.kind for given in found.all])
    work = _Work(str(people), dataset, seed, workers, kept, on_progress, collection, found.all)
    measured = {
        PEOPLE: work.measure(PEOPLE, None),
        **{name: work.measure(name, spec) for name, spec in specs.items()},
    }
    notes = [f"{count} {what} were left out." for what, count in found.left_out.items()]
    small = sum(one.values is None for one in measured[PEOPLE])
    notes += (
        [f"{small} answers are about fewer pixels than can be measured, and were left out."]
        if small
        else []
    )
    notes += [] if dataset is not None else picture_notes(specs, found.all[0], seed)
    return UserComparison(
        name=collection.name,
        terms=collection.terms,
        path=str(people),
        users=tuple(specs),
        scopes=tuple(work.test(scopes, measured, tuple(specs))),
        notes=tuple(notes),
        answers=found.all,
        measured=measured,
    )


def _check_ids(answers: Sequence[CollectedPrompt]) -> None:
    """Refuse answers that cannot be told apart, of which only the last one would be measured."""
    name, times = (
        Counter(given.row.id for given in answers).most_common(1)[0] if answers else ("", 0)
    )
    if times > 1:
        raise InvalidInput(
            f"expected an id of its own for each answer, got {name!r} {times} times; rename them"
        )


def _too_few(answers: Sequence[CollectedPrompt], left_out: Mapping[str, int]) -> str:
    why = "".join(f"; {count} {what} are left out" for what, count in left_out.items())
    return (
        f"expected {FEWEST_ANSWERS} answers of people of one kind or more, got {len(answers)}{why}"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The long work of a comparison, remembered in files where there is a folder for them."""

    people: str
    dataset: str | None
    seed: int
    workers: Workers
    kept: Path | None
    on_progress: OnProgress
    collection: Collection
    answers: tuple[CollectedPrompt, ...]

    def measure(self, name: str, user: PluginSpec | None) -> list[MeasuredAnswer]:
        """Return what people gave, or what a user gives in their place, to every answer in order."""
        place_of = {given.row.id: place for place, given in enumerate(self.collection)}
        persons = {name: number for number, name in enumerate(self.collection.people)}
        units = {
            given.row.id: (place_of[given.row.id], persons.get(given.row.person, 0))
            for given in self.answers
        }
        job = MeasurementJob(
            people=self.people, dataset=self.dataset, user=user, name=name, seed=self.seed
        )
        who = None if user is None else plugin_identity("user", user)
        identity = {
            "table": collection_hash(self.collection),
            "dataset": self.dataset,
            "name": name,
            "who": who,
        }
        done = self._through(job, units, identity, name)
        return [decode_measured(done[given.row.id]) for given in self.answers]

    def test(
        self,
        scopes: Mapping[AnswerScope, Sequence[int]],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        users: Sequence[str],
    ) -> list[ScopeResult]:
        """Return what the tests find in each scope."""
        units: dict[str, TestUnit] = {}
        for scope, places in scopes.items():
            for user in (None, *users):
                unit = self._unit(scope, places, measured, user)
                if unit is not None:
                    units[_unit_name(scope, user, unit)] = unit
        done = self._through(FunctionJob(run_tests), units, {"tests": 2}, "tests")
        results = {name.rpartition("\t")[0]: result for name, result in done.items()}
        return [
            self._found(scope, places, measured, users, results) for scope, places in scopes.items()
        ]

    def _through(
        self, job: Job[Any, Any], units: Mapping[str, Any], identity: Mapping[str, Any], stage: str
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

    def _unit(
        self,
        scope: AnswerScope,
        places: Sequence[int],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        user: str | None,
    ) -> TestUnit | None:
        """Return what is tested: the answers that both sides have; None where these are too few."""
        whose = [PEOPLE, *([] if user is None else [user])]
        both = [
            place
            for place in places
            if all(measured[who][place].values is not None for who in whose)
        ]
        if len(both) < FEWEST_ANSWERS:
            return None
        features = tuple(FEATURE_DEFINITIONS[scope.kind])
        people, own = (self._side(both, measured[who]) for who in (PEOPLE, whose[-1]))
        return TestUnit(
            people=people,
            user=None if user is None else own,
            user_name=user or "",
            features=features,
            coarse=tuple(features.index(name) for name in COARSE_FEATURES.get(scope.kind, ())),
            seed=self.seed,
        )

    def _side(self, places: Sequence[int], measured: Sequence[MeasuredAnswer]) -> AnswerSample:
        rows = [self.answers[place].row for place in places]
        nothing = np.full(3, np.nan)
        behaviour = [
            nothing if (one := measured[place].behaviour) is None else one for place in places
        ]
        curves = [_curve(self.answers[place], measured[place]) for place in places]
        known = [curve for curve in curves if curve is not None]
        return AnswerSample(
            values=np.stack(
                [values for place in places if (values := measured[place].values) is not None]
            ),
            behaviour=np.stack(behaviour),
            persons=np.array([row.person for row in rows], np.str_),
            questions=np.array([question_key(row) for row in rows], np.str_),
            groups=np.array([self.answers[place].group for place in places], np.str_),
            curves=tuple(known) if len(known) == len(curves) else (),
        )

    def _found(
        self,
        scope: AnswerScope,
        places: Sequence[int],
        measured: Mapping[str, Sequence[MeasuredAnswer]],
        users: Sequence[str],
        results: Mapping[str, Any],
    ) -> ScopeResult:
        places = [place for place in places if measured[PEOPLE][place].values is not None]
        own = [self.answers[place] for place in places]
        ceiling = msgspec.convert(
            results.get(_key(scope, None), {}), dict[str, tuple[SeparationResult, ...]]
        )
        return ScopeResult(
            scope=scope,
            people=tuple(dict.fromkeys(given.row.person for given in own if given.row.person)),
            questions=len({question_key(given.row) for given in own}),
            groups=len({given.group for given in own}),
            answers=len(own),
            users=tuple(
                _user_found(
                    user,
                    [measured[user][place] for place in places],
                    results.get(_key(scope, user)),
                )
                for user in users
            ),
            **ceiling,
        )


def _user_found(
    user: str, measured: Sequence[MeasuredAnswer], result: Mapping[str, Any] | None
) -> UserResult:
    refusals = [one.refusal for one in measured if one.refusal]
    answered = sum(one.values is not None for one in measured)
    counts = {
        "user": user,
        "asked": len(measured),
        "answered": answered,
        "silent": len(measured) - answered - len(refusals),
        "refused": len(refusals),
        "why": refusals[0] if refusals else "",
    }
    return msgspec.convert({**counts, **(result or {})}, UserResult)


def _key(scope: AnswerScope, user: str | None) -> str:
    return f"{scope.title} | {PEOPLE if user is None else user}"


def _unit_name(scope: AnswerScope, user: str | None, unit: TestUnit) -> str:
    """Return what a test is remembered by: what it is of, and a hash of what goes into it."""
    sides = [side for side in (unit.people, unit.user) if side is not None]
    held = b"".join(part for side in sides for part in _parts(side))
    return f"{_key(scope, user)}\t{fingerprint(held)}"


def _parts(side: AnswerSample) -> Iterator[bytes]:
    """Yield everything that a test makes of a side."""
    yield from (
        side.values.tobytes(),
        side.behaviour.tobytes(),
        *(curve.tobytes() for curve in side.curves),
    )
    yield from ("\n".join(ids).encode() for ids in (side.persons, side.questions, side.groups))


def _curve(given: CollectedPrompt, measured: MeasuredAnswer) -> FeatureTable | None:
    """Return the longest line of an answer, in units of the goal from its centroid; None where no line is known."""
    lines = [
        np.asarray(one.points)[:, -2:] for one in measured.prompts if isinstance(one, Scribble)
    ]
    if not lines or measured.values is None:
        return None
    goal = GoalShape(given.goal)
    longest = max(
        lines, key=lambda line: float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())
    )
    return (longest - goal.centroid) / goal.side
