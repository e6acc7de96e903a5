"""Queue positions of turns and jobs, with an estimate of the waiting time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from segarena_server.challenges.turn_time_accounting import reply_delay_s
from segarena_server.db.orm_models import Job, Run, Turn
from segarena_server.extensions.job_kinds import job_kinds
from segarena_server.jobs.job_queue import END_RUN, find_job
from segarena_server.runs.turn_repository import count_waiting_before
from segarena_server.workers.job_runner import is_due

_RECENT_ROWS = 50
"""Number of recent finished rows whose median duration is the estimate for the next one."""


def turn_queue_position(session: Session, turn: Turn) -> dict[str, Any]:
    """Return the queue position of a turn, in the form that replies use.

    Returns:
        phase: "waiting", "evaluating", "refused" or "dead".
        place: number of turns ahead.
        estimate_s: estimated seconds until the reply.
        tries: number of attempts so far.
    """
    ahead = count_waiting_before(session, turn) if turn.state == "waiting" else 0
    recent = select(Turn.evaluated_s).where(Turn.state == "done").order_by(Turn.received_at.desc())
    usual_s = _median_of_recent(session, recent)
    # Report whole ticks only: the exact duration of an evaluation would reveal some of the ground
    # truth.
    usual_s += reply_delay_s(usual_s)
    evaluating = select(func.count()).select_from(Turn).where(Turn.state == "leased")
    # All workers may be idle at this moment; one of them will take the next turn.
    busy_workers = session.scalar(evaluating) or 1
    rounds_of_workers = ahead // busy_workers + 1
    return {
        # A turn whose reply is withheld must look as if its evaluation were still in progress.
        "phase": "evaluating" if turn.state in ("leased", "done") else turn.state,
        "place": ahead,
        "estimate_s": round(rounds_of_workers * usual_s, 2),
        "tries": turn.tries,
    }


def job_queue_position(session: Session, job: Job) -> dict[str, Any]:
    """Return the queue position of a job, with the keys of `turn_queue_position`.

    While a job runs, its phase is the name of its kind. `Job.doing` is omitted because it may name
    a hidden sample.
    """
    kinds = job_kinds()
    # Long jobs have workers of their own, so that jobs of the other group do not delay this one.
    same_threads = [kind for kind in kinds.values() if kind.is_long == kinds[job.kind].is_long]
    ahead = 0
    if job.state == "waiting":
        waiting = (
            select(func.count())
            .select_from(Job)
            .where(Job.state == "waiting", is_due(same_threads))
        )
        ahead = session.scalar(waiting.where(Job.made_at < job.made_at)) or 0
    recent = select(Job.done_at - Job.begun_at).where(Job.state == "done", Job.kind == job.kind)
    usual_s = _median_of_recent(session, recent.order_by(Job.made_at.desc()))
    return {
        "phase": job.kind if job.state == "leased" else job.state,
        "place": ahead,
        "estimate_s": round((ahead + 1) * usual_s, 2),
        "tries": job.tries,
    }


def run_queue_position(session: Session, run: Run) -> dict[str, Any] | None:
    """Return the queue position of a run's oldest unfinished turn, or of the job that ends the run, or None."""
    unfinished = select(Turn).where(Turn.run_id == run.id, Turn.state.in_(("waiting", "leased")))
    turn = session.scalar(unfinished.order_by(Turn.received_at).limit(1))
    if turn is not None:
        return turn_queue_position(session, turn)
    if run.state != "closing":
        return None
    job = find_job(session, END_RUN, run.id)
    return None if job is None else job_queue_position(session, job)


def _median_of_recent(session: Session, durations: Select[Any]) -> float:
    """Return the median duration of recent rows in seconds, or 0 if there are none.

    One jump of the clock cannot distort a median.
    """
    found: Sequence[float] = session.scalars(durations.limit(_RECENT_ROWS)).all()
    return max(0.0, median(found)) if found else 0.0
