"""Code inside the worker processes of a server, the only place where participants' uploads are parsed.

A participant waits while an evaluation process is restarted after a hang, and the new process
imports everything that this module imports. This module therefore imports neither the database nor
a web framework.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from segarena.engine.time_limit import TimeLimit
from segarena.errors import UnitHung
from segarena.work.deadline import this_deadline
from segarena_server.challenges.evaluation_request import EvaluationRequest, EvaluationResult
from segarena_server.challenges.evaluator import MAX_SAMPLES_MB, Evaluator, EvaluatorCache
from segarena_server.storage.run_folders import RunFolders

_MAX_CHALLENGES = 4
"""Maximum number of evaluators that a process caches, each with its datasets and users."""


class WorkerContext:
    """State that a worker process keeps between tasks: its time limits, and a cache of evaluators.

    Args:
        soft_s: seconds after which a block under `time_limit` is interrupted.
        hard_s: seconds after which a call that hangs in native code is killed from outside.
        samples_mb: memory in MiB for the samples of each evaluator.
    """

    def __init__(
        self,
        soft_s: float,
        hard_s: float,
        samples_mb: float,
    ) -> None:
        self._limit = TimeLimit(
            soft_s, this_deadline(), grace_s=hard_s - soft_s, error=_SoftLimitReached.of
        )
        self._evaluators = EvaluatorCache(_MAX_CHALLENGES, samples_mb)

    def evaluator(self, description: str) -> Evaluator:
        """Return the evaluator of a challenge; the evaluator caches the latest dialogues.

        Raises:
            SegarenaError: the description is unreadable.
        """
        return self._evaluators.of(description)

    @contextmanager
    def time_limit(self, activity: str) -> Generator[None]:
        """Run the block under the soft limit.

        Raises:
            UnitHung: the block took longer; the message names the activity.
        """
        try:
            with self._limit.watch(activity):
                yield
        except _SoftLimitReached as error:
            raise UnitHung(str(error)) from None

    def sample_time_limit(self, done: int, of: int) -> AbstractContextManager[None]:
        """Return `time_limit` for one sample of a longer task.

        Args:
            done: number of samples before it.
            of: number of all samples of the task.
        """
        return self.time_limit(f"sample {done + 1} of {of}")


WorkerTask: TypeAlias = Callable[[WorkerContext], Any]
"""One piece of work: a callable that is pickled to a worker process, as is its result.

The message of an exception is stored as the reason for the failure of the task.
"""


@dataclass(frozen=True, slots=True)
class TaskExecutor:
    """A `segarena.work.jobs.Job` that runs tasks of any kind in a worker process."""

    soft_s: float
    hard_s: float
    samples_mb: float = MAX_SAMPLES_MB

    def open(self) -> Callable[[WorkerTask], Any]:
        """Return the function that executes one task."""
        context = WorkerContext(self.soft_s, self.hard_s, self.samples_mb)
        return lambda task: task(context)


@dataclass(frozen=True, slots=True)
class TurnExecutor:
    """A `segarena.work.jobs.Job` that evaluates turns in a worker process, and stores the rows of finished samples."""

    run_folders: RunFolders
    soft_s: float
    hard_s: float
    samples_mb: float = MAX_SAMPLES_MB

    def open(self) -> Callable[[EvaluationRequest], EvaluationResult]:
        """Return the function that evaluates the last turn of a request."""
        context = WorkerContext(self.soft_s, self.hard_s, self.samples_mb)
        return partial(_evaluate_turn, context, self.run_folders)


def _evaluate_turn(
    context: WorkerContext,
    run_folders: RunFolders,
    request: EvaluationRequest,
) -> EvaluationResult:
    evaluator = context.evaluator(request.challenge)
    with context.time_limit("evaluating a turn"):
        result = evaluator.evaluate(request)
    if result.rows is None:
        return result
    data = result.rows.pack()
    folder = evaluator.open_folder(run_folders.path(request.run.id), request.run)
    folder.writer.write(request.place, data)
    run_folders.keep_place(request.run.id, request.place, data)
    # The rows contain all masks of the sample, which the server does not need.
    return replace(result, rows=None)


class _SoftLimitReached(BaseException):
    """The soft limit is exceeded. Not an `Exception`, so that error handlers of users and metrics do not catch it."""

    @classmethod
    def of(cls, activity: str, seconds: float) -> _SoftLimitReached:
        return cls(f"{activity} took longer than {seconds:g} s")
