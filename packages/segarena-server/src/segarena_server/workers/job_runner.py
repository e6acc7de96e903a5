"""Jobs: the interface of a kind of job, and the runner. Turns have their own runner, see `turn_evaluation`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from sqlalchemy import ColumnElement, and_, or_, select, true
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, SegarenaError, WorkError, WorkStopped
from segarena.work.jobs import Outcome, UnitResult
from segarena_server.audit_log import record_event
from segarena_server.db.orm_models import Job
from segarena_server.jobs.row_leases import lease_row
from segarena_server.site import Site
from segarena_server.workers.leased_row_runner import LeasedRow, RowRunner, WorkerProcess
from segarena_server.workers.worker import WorkerTask

_MAX_PROGRESS_TEXT = 200
"""Length of the column `Job.doing`."""
_UNNECESSARY = object()


class JobKind(ABC):
    """One kind of job: the task for a worker process, and the storage of its result.

    Attributes:
        name: value of the column `Job.kind`.
        is_long: whether a job may take minutes. Long jobs have their own threads, so that short ones do not wait.
    """

    name: ClassVar[str]
    is_long: ClassVar[bool] = False

    def is_due(self) -> ColumnElement[bool]:
        """Return the condition under which a waiting row of `Job` may be started."""
        return true()

    @abstractmethod
    def task(
        self,
        session: Session,
        site: Site,
        job: Job,
    ) -> WorkerTask | None:
        """Return the task with all data that it needs, because a worker process has no database.

        Returns:
            The task, or None if the job has become unnecessary.

        Raises:
            SegarenaError: the task cannot be built, which counts as a failed attempt.
        """

    @abstractmethod
    def write(
        self,
        session: Session,
        site: Site,
        job: Job,
        result: Any,
    ) -> None:
        """Store the result, in the transaction that marks the job as done."""

    def fail(  # noqa: B027 - most kinds need nothing
        self,
        session: Session,
        site: Site,
        job: Job,
        error: SegarenaError,
    ) -> None:
        """Store the failure, in the transaction that marks the job as dead.

        A job dies after its last attempt, or at once after `InvalidInput`, because another attempt
        with the same input would fail too.
        """


def is_due(kinds: Iterable[JobKind]) -> ColumnElement[bool]:
    """Return the condition under which a waiting job of one of these kinds may be started."""
    return or_(*(and_(Job.kind == kind.name, kind.is_due()) for kind in kinds))


class JobRunner(RowRunner[Job]):
    """Executes jobs of some kinds, oldest first.

    Args:
        site: site of the jobs.
        kinds: kinds of jobs to execute.
        process: worker process of a `segarena_server.workers.worker.TaskExecutor`.
        must_stop: returns whether to leave the current job to another process.
    """

    def __init__(
        self,
        site: Site,
        kinds: Sequence[JobKind],
        process: WorkerProcess,
        must_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(site, process)
        self._kinds = {kind.name: kind for kind in kinds}
        self._must_stop = must_stop

    def key(self, row: Job) -> tuple[int]:
        """Return the id of the job."""
        return (row.id,)

    def topic(self, row: Job) -> str:
        """Return the job's `about`, which is its notifier topic."""
        return row.about

    def lease(self, session: Session, lease: str) -> Job | None:
        """Lease the oldest job that is due and return it, or None if none is due."""
        oldest = (
            select(Job)
            .where(Job.state == "waiting", is_due(self._kinds.values()))
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
        kind = self._kinds[row.kind]
        with self.site.database.reading() as session:
            task = kind.task(session, self.site, row)
        if task is None:
            return UnitResult(unit=None, result=_UNNECESSARY, seconds=0.0)
        limit_s = self.site.settings.limits.job_s
        return self.process.do(task, partial(self._renew, leased), limit_s)

    def write(
        self,
        row: Job,
        leased: LeasedRow,
        result: Any,
        session: Session,
    ) -> None:
        """Mark a job as done, and let its kind store the result."""
        now = self.site.now()
        is_written = leased.finish(session, state="done", done_at=now, failure="")
        if not is_written or result is _UNNECESSARY:
            return
        job = session.get_one(Job, row.id)
        self._kinds[row.kind].write(session, self.site, job, result)

    def refuse(
        self,
        row: Job,
        leased: LeasedRow,
        error: InvalidInput,
        session: Session,
    ) -> None:
        """Mark a job with invalid input as dead, without another attempt."""
        now = self.site.now()
        is_written = leased.finish(session, state="dead", done_at=now, failure=str(error))
        if not is_written:
            return
        job = session.get_one(Job, row.id)
        self._kinds[row.kind].fail(session, self.site, job, error)

    def fail(
        self,
        row: Job,
        leased: LeasedRow,
        error: SegarenaError,
        session: Session,
    ) -> None:
        """Return a job to the queue; after the last attempt, let its kind store the failure."""
        fail_job(self.site, self._kinds[row.kind], row, leased, error, session)

    def _renew(self, leased: LeasedRow) -> None:
        if self._must_stop():
            # A long job would delay the shutdown by minutes, and can be repeated.
            self.process.end()
            raise WorkStopped("the server is shutting down; the job will be started again")
        if not leased.renew(doing=self.process.doing[:_MAX_PROGRESS_TEXT]):
            self.process.end()
            raise WorkError("the job was cancelled, or another process works on it")


def fail_job(
    site: Site,
    kind: JobKind,
    row: Job,
    leased: LeasedRow,
    error: SegarenaError,
    session: Session,
) -> None:
    """Return a job to the queue; after the last attempt, let its kind store the failure."""
    if leased.fail_attempt(session, str(error)) != "dead":
        return
    now = site.now()
    job = session.get_one(Job, row.id)
    job.done_at = now
    kind.fail(session, site, job, error)
    record_event(session, now, "job failed", f"{row.kind} {row.about}: {error}")
