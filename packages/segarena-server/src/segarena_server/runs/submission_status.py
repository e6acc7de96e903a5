"""Where something stands that a participant sent: what is wrong with it, or how far it is judged."""

from __future__ import annotations

import json
import math
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Job, Run, RunSample, Submission
from segarena_server.jobs.job_queue import INSPECT_SUBMISSION, JUDGE_SAMPLE, find_job
from segarena_server.turns.queue_position import job_queue_position

_PHASES = {"waiting": "waits in the queue", "leased": "is being done"}


def submission_status(session: Session, sent: Submission) -> dict[str, Any]:
    """Return what a participant is told of something that they sent."""
    run = session.get(Run, sent.run_id) if sent.run_id and sent.state == "taken" else None
    job = find_job(session, INSPECT_SUBMISSION, sent.id) if sent.state == "waiting" else None
    if run is not None and run.state == "open":
        job = _next_job(session, run.id)
    return {
        "id": sent.id,
        "kind": sent.kind,
        "state": sent.state,
        "faults": json.loads(sent.told),
        "run": run.id if run is not None else None,
        "run_state": run.state if run is not None else None,
        "queue": None if job is None else _queue(session, job),
    }


def _queue(session: Session, job: Job) -> dict[str, Any]:
    """Return where a job stands, without what kind of job it is."""
    told = job_queue_position(session, job)
    return {
        "phase": _PHASES.get(job.state, job.state),
        "place": told["place"],
        "estimate_s": _roughly(told["estimate_s"]),
    }


def _roughly(seconds: float) -> float:
    """Return a time to the next ten seconds: how long one sample takes tells of it."""
    return 10.0 * math.ceil(seconds / 10.0)


def _next_job(session: Session, run_id: str) -> Job | None:
    """Return the job about the first sample of a run that is not judged."""
    number = session.scalar(
        select(func.min(RunSample.number)).where(
            RunSample.run_id == run_id, RunSample.state == "open"
        )
    )
    return None if number is None else find_job(session, JUDGE_SAMPLE, f"{run_id} {number}")
