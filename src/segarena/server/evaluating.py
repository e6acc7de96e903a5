"""What worker processes of a server do: evaluate a turn, end a run. What strangers sent is read here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from segarena.challenges.evaluating import Evaluator, EvaluatorsAtHand
from segarena.challenges.steps import RunFacts, StepDone, StepJob
from segarena.engine.evaluate import finish
from segarena.engine.guard import TimeLimit
from segarena.engine.rows import Rows
from segarena.reports.boards.extracts import extract_of, extract_text
from segarena.work.deadline import this_deadline

_MOST_CHALLENGES = 4
"""So many are kept at hand, each with its datasets and users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Evaluate the last turn of a place.

    Attributes:
        challenge: its description.
        job: what `segarena.challenges` needs of it.
        folder: of the run, where its rows go when the place is over.
    """

    challenge: str
    job: StepJob
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End a run.

    Attributes:
        challenge: its description.
        run: which it is.
        left: the places that were begun and are not over, each with its turns.
        why: they end, in a line.
        folder: of the run.
    """

    challenge: str
    run: RunFacts
    left: tuple[StepJob, ...]
    why: str
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What came of a turn.

    Attributes:
        reply: for the participant.
        given: see `StepDone.given`.
        judged: where its dialogues stand, as JSON.
        is_over: nothing more will be asked about this place.
        digest: see `StepDone.digest`.
    """

    reply: bytes
    given: bytes
    judged: str
    is_over: bool
    digest: str


Unit: TypeAlias = Step | Close


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The job of a worker process.

    Attributes:
        soft_s: a turn that takes longer is told to stop.
        hard_s: then the process is ended.
    """

    soft_s: float
    hard_s: float

    def open(self) -> Callable[[Unit], Evaluated | str]:
        """Return what does one unit; of a run that is ended it returns the extract, "" when nothing came of it."""
        limit = TimeLimit(self.soft_s, this_deadline(), grace_s=self.hard_s - self.soft_s)
        return _Worker(limit).do


class _Worker:
    """What a process keeps between units: evaluators, whose sessions are a cache."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._evaluators = EvaluatorsAtHand(_MOST_CHALLENGES)

    def do(self, unit: Unit) -> Evaluated | str:
        if isinstance(unit, Close):
            return self._close(unit)
        evaluator = self._evaluators.of(unit.challenge)
        with self._limit.watch("evaluating a turn"):
            done = evaluator.step(unit.job)
        if done.rows is not None:
            self._write(evaluator, unit.folder, unit.job, done.rows)
        return _told(done)

    def _close(self, unit: Close) -> str:
        evaluator = self._evaluators.of(unit.challenge)
        for job in unit.left:
            self._write(evaluator, unit.folder, job, evaluator.leave(job, unit.why))
        folder = evaluator.open_folder(unit.folder, unit.run)
        if len(folder.pending()) == len(folder.samples):
            return ""
        with folder.lock():
            finish(folder)
        return extract_text(extract_of(folder.path))

    def _write(self, evaluator: Evaluator, path: Path, job: StepJob, rows: Rows) -> None:
        evaluator.open_folder(path, job.run).write(job.place, rows)


def _told(done: StepDone) -> Evaluated:
    judged = json.dumps([asdict(one) for one in done.judged])
    return Evaluated(reply=done.reply, given=done.given, judged=judged, is_over=done.is_over, digest=done.digest)
