"""The runner of jobs, and the registry of their kinds. Turns have a runner of their own, see `turn_evaluation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, SegarenaError, WorkStopped
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import record_event
from segarena_server.db.orm_models import Job
from segarena_server.extensions.site_sections import site_sections
from segarena_server.jobs.challenge_preparation import (
    ChangeChallenge,
    MakeChallenge,
    PreviewChallenge,
)
from segarena_server.jobs.challenge_rehearsal import RehearseChallenge
from segarena_server.jobs.job_kind import JobKind, is_due
from segarena_server.jobs.lease import lease_row
from segarena_server.jobs.run_audit import AuditRun
from segarena_server.jobs.run_folder_jobs import EndRun, RemoveName
from segarena_server.jobs.runner import LeasedRow, RowRunner, WorkerProcess
from segarena_server.jobs.submission_inspection import InspectSubmission
from segarena_server.jobs.submission_judging import JudgeSubmission
from segarena_server.site import Site

_OWN_KINDS = (
    EndRun(),
    AuditRun(),
    RemoveName(),
    InspectSubmission(),
    JudgeSubmission(),
    PreviewChallenge(),
    MakeChallenge(),
    ChangeChallenge(),
    RehearseChallenge(),
)
"""A new kind is a module beside this one, with a task and a `JobKind`, and an entry here."""

_MAX_PROGRESS_TEXT = 200
"""Length of the column `Job.doing`."""
_UNNECESSARY = object()


@cache
def job_kinds() -> Mapping[str, JobKind]:
    """Return all kinds of jobs by name: those of the server, and those of its extensions."""
    kinds = {kind.name: kind for kind in _OWN_KINDS}
    for room in site_sections().values():
        kinds |= {kind.name: kind for kind in room.kinds}
    return kinds


class JobRunner(RowRunner[Job]):
    """Executes jobs of some kinds, the oldest first.

    Args:
        site: whose jobs.
        kinds: which kinds.
        process: executes their tasks.
        must_stop: tells whether the current job must be left to another process.
    """

    def __init__(
        self,
        site: Site,
        kinds: Sequence[JobKind],
        process: WorkerProcess,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(site, process)
        self._kinds = kinds
        self._must_stop = must_stop

    def key(self, row: Job) -> tuple[int]:
        """Return the number of the job."""
        return (row.id,)

    def topic(self, row: Job) -> str:
        """Return the object of the job, which is its topic of the notifier."""
        return row.about

    def lease(self, session: Session, lease: str) -> Job | None:
        """Lease the oldest job that is due."""
        oldest = (
            select(Job)
            .where(Job.state == "waiting", is_due(self._kinds))
            .order_by(Job.made_at, Job.id)
            .limit(1)
        )
        job = session.scalar(oldest.with_for_update(of=Job, skip_locked=True))
        if job is not None:
            lease_row(job, lease)
            job.begun_at = self.site.now()
        return job

    def execute(self, row: Job, leased: LeasedRow) -> Outcome[Any, Any]:
        """Execute a job, unless it has become unnecessary."""
        with self.site.database.reading() as session:
            task = job_kinds()[row.kind].task(session, self.site, row)
        if task is None:
            return UnitResult(unit=None, result=_UNNECESSARY, seconds=0.0)
        return self.process.do(task, partial(self._renew, leased), self.site.settings.limits.job_s)

    def write(self, row: Job, leased: LeasedRow, result: Any, session: Session) -> None:
        """Mark a job as done, and let its kind store the result."""
        is_written = leased.finish(session, state="done", done_at=self.site.now(), failure="")
        if is_written and result is not _UNNECESSARY:
            job = session.get_one(Job, row.id)
            job_kinds()[row.kind].write(session, self.site, job, result)

    def refuse(self, row: Job, leased: LeasedRow, error: InvalidInput, session: Session) -> None:
        """Mark a job with invalid input as dead; it is not tried again."""
        if leased.finish(session, state="dead", done_at=self.site.now(), failure=str(error)):
            job = session.get_one(Job, row.id)
            job_kinds()[row.kind].fail(session, self.site, job, error)

    @staticmethod
    def fail(
        site: Site, row: Job, leased: LeasedRow, error: SegarenaError, session: Session
    ) -> None:
        """Put a job back into the queue; after the last try let its kind store the failure."""
        if leased.fail_attempt(session, str(error)) == "dead":
            job = session.get_one(Job, row.id)
            job.done_at = site.now()
            job_kinds()[row.kind].fail(session, site, job, error)
            record_event(session, site.now(), "job failed", f"{row.kind} {row.about}: {error}")

    def _renew(self, leased: LeasedRow) -> None:
        if self._must_stop():
            self.process.end()
            raise WorkStopped("the server ends; another one begins this job again")
        leased.renew(doing=self.process.doing[:_MAX_PROGRESS_TEXT])
