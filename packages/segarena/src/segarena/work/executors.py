"""Executors on this machine, and selection of one by the number of workers."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from segarena.errors import InvalidInput
from segarena.work.jobs import Executor, Job, Outcome, Result, Unit, Workers, pack_job, run_unit
from segarena.work.process_pool import ProcessPool


class InlineExecutor:
    """Executor that runs units one by one in this process. The job must enforce time limits itself."""

    workers = 0
    is_here = True
    is_near = True

    def map(
        self,
        job: Job[Unit, Result],
        units: Iterable[Unit],
        *,
        limit_s: float | None = None,
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield the outcome of each unit, in order; see `segarena.work.jobs.Executor`."""
        do = job.open()
        for unit in units:
            yield run_unit(do, unit)


class ProcessExecutor:
    """Executor that runs units in single-threaded processes on this machine.

    Args:
        workers: number of processes, at most one per unit.
    """

    is_here = False
    is_near = True

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def map(
        self,
        job: Job[Unit, Result],
        units: Iterable[Unit],
        *,
        limit_s: float | None = None,
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield the outcome of each unit as soon as it finishes; see `segarena.work.jobs.Executor`."""
        packed_job = pack_job(job)
        # A job that the caller's script defines can only be unpickled where that script is
        # imported.
        imports_main = b"__main__" in packed_job
        pool = ProcessPool(packed_job, self.workers, limit_s, imports_main=imports_main)
        try:
            yield from pool.do(units)
        finally:
            pool.end()


def make_executor(workers: Workers) -> Executor:
    """Return an executor: the given one, this process for 0, or a pool with that many processes.

    Raises:
        InvalidInput: `workers` is negative.
    """
    if not isinstance(workers, int):
        return workers
    if workers < 0:
        raise InvalidInput(f"workers must be 0 or more, got {workers}")
    return ProcessExecutor(workers) if workers else InlineExecutor()
