"""Replies of a test that are there and not told yet: they leave by ticks, so that their time tells nothing.

Whatever else participants may look at is as if such a reply were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.challenges.challenge_repository import find_phase
from segarena_server.challenges.time_charge import reply_delay_s
from segarena_server.db.orm_models import Challenge, Run, Turn
from segarena_server.turns.turn_repository import WITHOUT_BODIES

_MOST_HELD_S = 64.0
"""The time of day may have been set ahead while a turn was judged."""
_LONGEST_S = 3600.0
"""No reply is held back after that."""


def remaining_delay_s(session: Session, turn: Turn, now: float) -> float:
    """Return how long what came of a turn is still kept from its participant, so that its time tells nothing."""
    run = session.get_one(Run, turn.run_id)
    if (
        turn.done_at is None
        or find_phase(session.get_one(Challenge, run.challenge_id), run.phase).kind != "test"
    ):
        return 0.0
    if (
        now < turn.received_at
    ):  # the time of day was set back, and it may be an hour until it is that late again
        return 0.0
    return min(max(0.0, turn.received_at + reply_time_s(turn) - now), _MOST_HELD_S)


def reply_time_s(turn: Turn) -> float:
    """Return how long after it came a turn is answered."""
    took_s = max(0.0, (turn.done_at or turn.received_at) - turn.received_at)
    return took_s + reply_delay_s(took_s)


def delayed_turns(
    session: Session, run_ids: Iterable[str], now: float
) -> dict[tuple[str, int], Turn]:
    """Return by run and place the turns whose reply is there and still kept from the participant."""
    recent = select(Turn).where(
        Turn.run_id.in_(list(run_ids)), Turn.state == "done", Turn.done_at > now - _LONGEST_S
    )
    found = session.scalars(recent.options(*WITHOUT_BODIES))
    return {
        (turn.run_id, turn.place): turn
        for turn in found
        if remaining_delay_s(session, turn, now) > 0
    }


def runs_with_delayed_reply(session: Session, run_ids: Iterable[str], now: float) -> set[str]:
    """Return those of these runs that are over and go on for all that participants know."""
    return {run_id for run_id, _ in delayed_turns(session, run_ids, now)}


def as_participant_sees(session: Session, run: Run, untold: Collection[tuple[str, int]]) -> Run:
    """Return a run as participants know it: one whose last reply is kept from them goes on."""
    if run.state != "open" and not run.fault and any(run_id == run.id for run_id, _ in untold):
        session.expunge(run)
        run.state = "open"
        run.ended_at = None
        run.extract = ""
    return run
