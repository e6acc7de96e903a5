"""Where a turn or a job stands while it waits: what happens to it, how many come before it, how long that may take."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from segarena_server.challenges.time_charge import reply_delay_s
from segarena_server.db.orm_models import Job, Run, Turn
from segarena_server.jobs.job_kind import is_due
from segarena_server.jobs.job_queue import find_job
from segarena_server.jobs.kinds import job_kinds
from segarena_server.runs.run_repository import END
from segarena_server.turns.turn_repository import count_waiting_before


def turn_queue_position(session: Session, turn: Turn) -> dict[str, Any]:
    """Return where a turn stands: what happens to it, how many come before it, and how long that may take."""
    before = count_waiting_before(session, turn) if turn.state == "waiting" else 0
    recent = select(Turn.evaluated_s).where(Turn.state == "done").order_by(Turn.received_at.desc())
    took_s = _usual(session, recent)
    took_s += reply_delay_s(took_s)  # by ticks: what evaluating took tells of the truth
    hands = (
        session.scalar(select(func.count()).select_from(Turn).where(Turn.state == "leased")) or 1
    )
    estimate_s = (before // hands + 1) * took_s
    phase = {"leased": "evaluating", "done": "evaluating"}.get(turn.state, turn.state)
    return {
        "phase": phase,
        "place": before,
        "estimate_s": round(estimate_s, 2),
        "tries": turn.tries,
    }


def job_queue_position(session: Session, job: Job) -> dict[str, Any]:
    """Return where a job stands, in the words of `queue_of`.

    What its process is doing, which may name a hidden sample, is `Job.doing`, and not among them.
    """
    alike = [kind for kind in job_kinds().values() if kind.is_long == job_kinds()[job.kind].is_long]
    waiting = select(func.count()).select_from(Job).where(Job.state == "waiting", is_due(alike))
    if job.state == "waiting":
        before = session.scalar(waiting.where(Job.made_at < job.made_at)) or 0
    else:
        before = 0
    recent = select(Job.done_at - Job.begun_at).where(Job.state == "done", Job.kind == job.kind)
    took_s = _usual(session, recent.order_by(Job.made_at.desc()))
    phase = job.kind if job.state == "leased" else job.state
    return {
        "phase": phase,
        "place": before,
        "estimate_s": round((before + 1) * took_s, 2),
        "tries": job.tries,
    }


def run_queue_position(session: Session, run: Run) -> dict[str, Any] | None:
    """Return where the run's oldest turn stands that waits, or the job that ends the run; None when neither does."""
    turns = select(Turn).where(Turn.run_id == run.id, Turn.state.in_(("waiting", "leased")))
    turn = session.scalar(turns.order_by(Turn.received_at).limit(1))
    if turn is not None:
        return turn_queue_position(session, turn)
    job = find_job(session, END, run.id) if run.state == "closing" else None
    return None if job is None else job_queue_position(session, job)


def _usual(session: Session, seconds: Select[Any]) -> float:
    """Return the median of the last fifty: one that the clock was set in tells nothing of the next."""
    found: Sequence[float] = session.scalars(seconds.limit(50)).all()
    return max(0.0, median(found)) if found else 0.0
