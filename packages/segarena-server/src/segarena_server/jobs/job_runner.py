"""Hands that do jobs of all other kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, SegarenaError, WorkStopped
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import note
from segarena_server.db.orm_models import Job
from segarena_server.jobs import row_queue
from segarena_server.jobs.claimed_row import LeasedRow
from segarena_server.jobs.job_kind import JobKind, is_due
from segarena_server.jobs.kinds import job_kinds
from segarena_server.jobs.runner import RowRunner, WorkerProcess
from segarena_server.site import Site

_LONGEST_DOING = 200
_NEEDLESS = object()


class JobRunner(RowRunner[Job]):
    """Does jobs of some kinds, the oldest first.

    Args:
        site: whose.
        kinds: which.
        process: what does them.
        is_over: tells that what is under way is to be left to others.
    """

    def __init__(
        self,
        site: Site,
        kinds: Sequence[JobKind],
        process: WorkerProcess,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(site, process)
        self._kinds = kinds
        self._is_over = is_over

    def key(self, row: Job) -> tuple[int]:
        """Return the number."""
        return (row.id,)

    def about(self, row: Job) -> str:
        """Return what the job is about."""
        return row.about

    def lease(self, session: Session, lease: str) -> Job | None:
        """Return the oldest job that can be begun."""
        waiting = (
            select(Job)
            .where(Job.state == "waiting", is_due(self._kinds))
            .order_by(Job.made_at, Job.id)
            .limit(1)
        )
        job = session.scalar(waiting.with_for_update(of=Job, skip_locked=True))
        if job is not None:
            row_queue.lease_row(job, lease)
            job.begun_at = self.site.now()
        return job

    def outcome(self, row: Job, hold: LeasedRow) -> Outcome[Any, Any]:
        """Do it."""
        with self.site.database.reading() as session:
            unit = job_kinds()[row.kind].unit(session, self.site, row)
        if unit is None:
            return UnitResult(unit=None, result=_NEEDLESS, seconds=0.0)
        return self.process.do(unit, partial(self._beat, hold), self.site.settings.limits.job_s)

    def write(self, row: Job, hold: LeasedRow, result: Any, session: Session) -> None:
        """Write what came of it where its kind keeps that."""
        if (
            hold.finish(session, state="done", done_at=self.site.now(), failure="")
            and result is not _NEEDLESS
        ):
            job_kinds()[row.kind].write(session, self.site, session.get_one(Job, row.id), result)

    def refuse(self, row: Job, hold: LeasedRow, error: InvalidInput, session: Session) -> None:
        """Write that it cannot be; there is no other try."""
        if hold.finish(session, state="dead", done_at=self.site.now(), failure=str(error)):
            job_kinds()[row.kind].fail(session, self.site, session.get_one(Job, row.id), error)

    @staticmethod
    def fail(site: Site, row: Job, hold: LeasedRow, error: SegarenaError, session: Session) -> None:
        """Let it wait again; after the last try its kind says what becomes of it."""
        if hold.give_up(session, str(error)) == "dead":
            job = session.get_one(Job, row.id)
            job.done_at = site.now()
            job_kinds()[row.kind].fail(session, site, job, error)
            note(session, site.now(), "job failed", f"{row.kind} {row.about}: {error}")

    def _beat(self, hold: LeasedRow) -> None:
        if self._is_over():
            self.process.end()
            raise WorkStopped("the server ends; another one begins this job again")
        hold.beat(doing=self.process.doing[:_LONGEST_DOING])
