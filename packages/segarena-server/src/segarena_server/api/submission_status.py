"""The status of a submission: errors in it, or the progress of its evaluation."""

from __future__ import annotations

import json
import math
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena_server.api.queue_position import job_queue_position
from segarena_server.db.orm_models import Job, Run, RunSample, Submission
from segarena_server.jobs.job_queue import INSPECT_SUBMISSION, JUDGE_SAMPLE, find_job

_PHASE_NAMES = {"waiting": "waits in the queue", "leased": "is being evaluated"}
_ESTIMATE_STEP_S = 10.0


def submission_status(session: Session, submission: Submission) -> dict[str, Any]:
    """Return the status of a submission as its participant may see it."""
    run: Run | None = None
    job: Job | None = None
    if submission.state == "waiting":
        job = find_job(session, INSPECT_SUBMISSION, submission.id)
    elif submission.state == "taken" and submission.run_id:
        run = session.get(Run, submission.run_id)
        if run is not None and run.state == "open":
            job = _next_judging_job(session, run.id)
    return {
        "id": submission.id,
        "kind": submission.kind,
        "state": submission.state,
        "faults": json.loads(submission.told),
        "run": None if run is None else run.id,
        "run_state": None if run is None else run.state,
        "queue": None if job is None else _queue_position(session, job),
    }


def _queue_position(session: Session, job: Job) -> dict[str, Any]:
    """Return the queue position of a job, with its waiting time rounded up."""
    position = job_queue_position(session, job)
    # A precise estimate would reveal how long single samples take.
    steps = math.ceil(position["estimate_s"] / _ESTIMATE_STEP_S)
    return {
        "phase": _PHASE_NAMES.get(job.state, job.state),
        "place": position["place"],
        "estimate_s": _ESTIMATE_STEP_S * steps,
    }


def _next_judging_job(session: Session, run_id: str) -> Job | None:
    """Return the job for the first unevaluated sample of a run; None if there is none."""
    first_open = select(func.min(RunSample.number)).where(
        RunSample.run_id == run_id, RunSample.state == "open"
    )
    number = session.scalar(first_open)
    return None if number is None else find_job(session, JUDGE_SAMPLE, f"{run_id} {number}")
