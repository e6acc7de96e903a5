"""Jobs that are asked for: by a request or by another job, in the transaction that makes them necessary."""

from __future__ import annotations

from sqlalchemy import Select, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job

_OPEN = ("waiting", "leased")


def enqueue_job(session: Session, kind: str, about: str, now: float, told: str = "") -> Job:
    """Have something done; return its row. What was done before, or given up, is done once more."""
    held = _job(kind, about).with_for_update().execution_options(populate_existing=True)
    job = session.scalar(held)
    if job is None:
        try:
            with session.begin_nested():
                job = Job(kind=kind, about=about, state="waiting", told=told, made_at=now)
                session.add(job)
        except IntegrityError:  # others asked for it at the same moment
            job = session.scalars(held).one()
    if job.state in _OPEN:
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


def find_job(session: Session, kind: str, about: str) -> Job | None:
    """Return the job of a kind about something; None when nobody asked for it yet."""
    return session.scalar(_job(kind, about))


def _job(kind: str, about: str) -> Select[Job]:
    return select(Job).where(Job.kind == kind, Job.about == about)
