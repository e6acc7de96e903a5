"""The executor that works in this process, one unit after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from segarena.work.jobs import Job, Outcome, Result, Unit, run_unit


class InlineExecutor:
    """Works in this process. Nobody watches from outside, so a time limit is the job's own to keep."""

    workers = 0
    is_here = True
    is_near = True

    def map(
        self, job: Job[Unit, Result], units: Iterable[Unit], *, limit_s: float | None = None
    ) -> Generator[Outcome[Unit, Result]]:
        """Yield what came of each unit, in order; see `segarena.work.jobs.Executor`."""
        do = job.open()
        for unit in units:
            yield run_unit(do, unit)
