"""Delayed replies in test phases: sent at fixed ticks, so that their timing does not reveal the ground truth.

Until a reply is sent, everything else that participants can see looks as if that reply did
not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.turn_time_accounting import reply_delay_s
from segarena_server.db.orm_models import Challenge, Run, Turn
from segarena_server.runs.turn_repository import WITHOUT_BODIES_AND_STATUSES

_MAX_DELAY_S = 64.0
"""Upper limit, in case the clock was set ahead while a turn was evaluated."""
_RECENT_S = 3600.0
"""No reply is delayed for longer than this after its evaluation."""


def remaining_delay_s(
    session: Session,
    turn: Turn,
    now: float,
) -> float:
    """Return how many more seconds the reply to a turn is withheld; 0 in a practice phase or before its evaluation."""
    if turn.done_at is None:
        return 0.0
    run = session.get_one(Run, turn.run_id)
    challenge = session.get_one(Challenge, run.challenge_id)
    if find_phase(challenge, run.phase).kind != "test":
        return 0.0
    if now < turn.received_at:
        # The clock was set back, and might take an hour to reach that time again.
        return 0.0
    left_s = turn.received_at + reply_time_s(turn) - now
    return min(max(0.0, left_s), _MAX_DELAY_S)


def reply_time_s(turn: Turn) -> float:
    """Return the seconds between the arrival of a turn and its reply."""
    evaluated_at = turn.done_at or turn.received_at
    taken_s = max(0.0, evaluated_at - turn.received_at)
    return taken_s + reply_delay_s(taken_s)


def delayed_turns(
    session: Session,
    run_ids: Iterable[str],
    now: float,
) -> dict[tuple[str, int], Turn]:
    """Return the turns with a reply that is still withheld, by run id and index of the sample."""
    recent = select(Turn).where(
        Turn.run_id.in_(list(run_ids)), Turn.state == "done", Turn.done_at > now - _RECENT_S
    )
    delayed: dict[tuple[str, int], Turn] = {}
    for turn in session.scalars(recent.options(*WITHOUT_BODIES_AND_STATUSES)):
        if remaining_delay_s(session, turn, now) > 0:
            delayed[turn.run_id, turn.place] = turn
    return delayed


def runs_with_delayed_reply(
    session: Session,
    run_ids: Iterable[str],
    now: float,
) -> set[str]:
    """Return the ids of runs that may be over without their participants knowing yet."""
    return {run_id for run_id, _ in delayed_turns(session, run_ids, now)}


def as_participant_sees(
    session: Session,
    run: Run,
    delayed: Collection[tuple[str, int]],
) -> Run:
    """Return a run as its participant knows it: open while its last reply is withheld.

    Such a run is detached from the session, so that its changed columns are not written.
    """
    has_delayed_reply = any(run_id == run.id for run_id, _ in delayed)
    if run.state != "open" and not run.fault and has_delayed_reply:
        session.expunge(run)
        run.state = "open"
        run.ended_at = None
        run.extract = ""
    return run
