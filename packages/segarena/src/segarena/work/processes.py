"""The executor of local processes: each opens the job once, takes a unit, answers, takes the next."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterable
from typing import Any

from segarena.errors import WorkersInvalid
from segarena.work.jobs import Job, Outcome, Result, Unit
from segarena.work.process_pool import ProcessPool


class ProcessExecutor:
    """Works in processes of this machine, one thread each.

    Args:
        workers: how many, at most one per unit.
    """

    is_here = False
    is_near = True

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield what came of each unit, as they finish; see `segarena.work.jobs.Executor`."""
        packed_job = pack_job(job)
        crew = ProcessPool(
            packed_job, self.workers, limit_s, imports_main=b"__main__" in packed_job
        )
        try:
            yield from crew.do(units)
        finally:
            crew.end()


def pack_job(job: Job[Any, Any]) -> bytes:
    """Return a job as it travels to processes.

    Raises:
        WorkersInvalid: it holds something that cannot.
    """
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise WorkersInvalid(
            f"this cannot be sent to worker processes: {error}; do it with 0 workers"
        ) from error
