"""The queue of jobs: a request or another job enqueues a job in the transaction that makes it necessary."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job

# Names of kinds as stored in the column `Job.kind`, which rows of earlier versions contain too.
END_RUN = "end run"
REMOVE_NAME = "forget name of run"
AUDIT_RUN = "find out about run"
INSPECT_SUBMISSION = "look at what was sent"
JUDGE_SAMPLE = "judge a sample"

_UNFINISHED = ("waiting", "leased")


def enqueue_job(
    session: Session,
    kind: str,
    about: str,
    now: float,
    told: str = "",
) -> Job:
    """Add a job unless the same one is unfinished, and return its row; restart a finished or dead job.

    Args:
        session: a session for writing.
        kind: name of its kind.
        about: what the job works on, such as a run id; a kind has at most one job for each.
        now: seconds since 1970.
        told: input of the job, in the kind's own format.
    """
    # Locked and read again, so that a worker that finishes the same job now cannot overwrite the
    # restart.
    locked = _select_job(kind, about).with_for_update().execution_options(populate_existing=True)
    job = session.scalar(locked)
    if job is None:
        try:
            with session.begin_nested():
                job = Job(
                    kind=kind,
                    about=about,
                    state="waiting",
                    told=told,
                    made_at=now,
                )
                session.add(job)
        except IntegrityError:  # another process added it at the same moment
            job = session.scalars(locked).one()
    if job.state in _UNFINISHED:
        return job
    job.state = "waiting"
    job.told = told
    job.failure = ""
    job.tries = 0
    job.made_at = now
    job.doing = ""
    job.begun_at = None
    job.done_at = None
    session.flush()
    return job


def find_job(
    session: Session,
    kind: str,
    about: str,
) -> Job | None:
    """Return the job of a kind for an object, or None if it was never enqueued."""
    return session.scalar(_select_job(kind, about))


def cancel_job(
    session: Session,
    kind: str,
    about: str,
    now: float,
) -> bool:
    """End an unfinished job without a result; return whether there was one.

    Its worker process is ended when the lease is renewed next, within seconds.
    """
    locked = _select_job(kind, about).with_for_update().execution_options(populate_existing=True)
    job = session.scalar(locked)
    if job is None or job.state not in _UNFINISHED:
        return False
    job.state = "done"
    # Without its lease, the process that works on the job cannot write a result.
    job.lease = ""
    job.said = ""
    job.doing = ""
    job.done_at = now
    session.flush()
    return True


def _select_job(kind: str, about: str) -> Select[Job]:
    return select(Job).where(Job.kind == kind, Job.about == about)
