"""Where worker processes of a server do things. What strangers sent is read there and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from segarena.engine.time_limit import TimeLimit
from segarena.errors import UnitHung
from segarena.work.deadline import this_deadline
from segarena_server.challenges.evaluator import Evaluator, EvaluatorCache

_MOST_CHALLENGES = 4
"""So many are kept at hand, each with its datasets and users."""

Made = TypeVar("Made", covariant=True)


class WorkerContext:
    """What a process keeps between units: evaluators, whose sessions are a cache.

    Args:
        soft_s: what is done `within` it is told to stop after so long.
        hard_s: a call that hangs below Python is ended from outside after so long.
    """

    def __init__(self, soft_s: float, hard_s: float) -> None:
        self._limit = TimeLimit(soft_s, this_deadline(), grace_s=hard_s - soft_s, error=_Overdue.of)
        self._evaluators = EvaluatorCache(_MOST_CHALLENGES)

    def evaluator(self, description: str) -> Evaluator:
        """Return the evaluator of a challenge, which keeps its last dialogues at hand.

        Raises:
            SegarenaError: the description cannot be read.
        """
        return self._evaluators.of(description)

    @contextmanager
    def within(self, what: str) -> Generator[None]:
        """Run the block within the soft limit.

        Raises:
            UnitHung: it took longer.
        """
        try:
            with self._limit.watch(what):
                yield
        except _Overdue as error:
            raise UnitHung(str(error)) from None


class WorkerTask(Protocol[Made]):
    """One piece of work. It travels to the process by pickling, and so does what it returns."""

    def do(self, bench: WorkerContext, /) -> Made:
        """Do it; what is raised is told as the reason why nothing came of it."""
        ...


@dataclass(frozen=True, slots=True)
class TaskExecutor:
    """The job of a worker process: its units know themselves what is to be done."""

    soft_s: float
    hard_s: float

    def open(self) -> Callable[[WorkerTask[Any]], Any]:
        """Return what does one unit."""
        bench = WorkerContext(self.soft_s, self.hard_s)
        return lambda unit: unit.do(bench)


class _Overdue(BaseException):
    """The soft limit is over. No error of a user's or a metric's, so it is not taken for one on its way out."""

    @classmethod
    def of(cls, what: str, seconds: float) -> _Overdue:
        return cls(f"{what} took longer than {seconds:g} s")
