"""The choice of an executor: the one place that knows them all."""

from __future__ import annotations

from segarena.errors import InvalidInput
from segarena.work.inline import InlineExecutor
from segarena.work.jobs import Executor, Workers
from segarena.work.processes import ProcessExecutor


def make_executor(workers: Workers) -> Executor:
    """Return what does the work: an executor as it is, this process for 0, so many processes otherwise.

    Raises:
        InvalidInput: fewer than 0.
    """
    if not isinstance(workers, int):
        return workers
    if workers < 0:
        raise InvalidInput(f"workers must be 0 or more, got {workers}")
    return ProcessExecutor(workers) if workers else InlineExecutor()
