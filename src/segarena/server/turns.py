"""Turns in the database: received once, handed out, and answered once, whatever dies in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import case, func, or_, select, update
from sqlalchemy.orm import Session

from segarena.challenges.clock import Charged
from segarena.server import refusals
from segarena.server.packing import pack
from segarena.server.tables import Place, Run, Turn

Key: TypeAlias = tuple[str, int, int]
"""A turn: run, place, number."""

_FOR_ANOTHER_S = 0.5
"""So long a turn is left to the worker that has its dialogues in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A turn as it came.

    Attributes:
        body: its bytes.
        sha256: of them.
        charged: for it.
        client_s: by the participant's clock.
    """

    body: bytes
    sha256: str
    charged: Charged
    client_s: float


def receive(session: Session, run: Run, place: Place, number: int, came: Received, now: float) -> Turn:
    """Return the turn, kept and waiting; or as it stands, if it came before.

    Raises:
        Refusal: it contradicts what came before, or comes too early.
    """
    turns = {turn.number: turn for turn in _of_place(session, place)}
    known = turns.get(number)
    if known is not None and known.state != "refused":
        if known.sha256 != came.sha256:
            raise refusals.conflict(f"turn {number} came before with other content, and what came first counts")
        return known
    before = turns.get(number - 1)
    if number != len(turns) - (known is not None) or (before is not None and before.state != "done"):
        expected = max((turn for turn in turns if turns[turn].state == "done"), default=-1) + 1
        raise refusals.conflict(f"turn {number} cannot come now; the next one is {expected}")
    if place.state == "over":
        raise refusals.conflict("all dialogues about this sample are over")
    turn = known or Turn(run_id=run.id, place=place.number, number=number)
    turn.sha256, turn.request = came.sha256, pack(came.body)
    turn.state, turn.failure, turn.tries, turn.received_at = "waiting", "", 0, now
    turn.charged_s, turn.is_sure, turn.client_s = came.charged.seconds, came.charged.is_sure, came.client_s
    turn.spent_s = spent(session, run.id) - (known.charged_s if known else 0.0)
    session.add(turn)
    return turn


def spent(session: Session, run_id: str) -> float:
    """Return what all turns of a run were charged."""
    return session.scalar(select(func.coalesce(func.sum(Turn.charged_s), 0.0)).where(Turn.run_id == run_id)) or 0.0


def lease_next(session: Session, worker: str, lease: str, now: float) -> Turn | None:
    """Return a turn that waits, leased to a worker: first what it has in memory, then what nobody has."""
    mine = case((Place.worker == worker, 0), (Place.worker == "", 1), else_=2)
    # One that was received later than now was left over when the clock was set back.
    is_old = or_(Turn.received_at < now - _FOR_ANOTHER_S, Turn.received_at > now)
    is_for_me = or_(Place.worker.in_((worker, "")), is_old)
    found = session.scalar(
        select(Turn)
        .join(Place, (Place.run_id == Turn.run_id) & (Place.number == Turn.place))
        .where(Turn.state == "waiting", is_for_me)
        .order_by(mine, Turn.received_at)
        .limit(1)
        .with_for_update(of=Turn, skip_locked=True)
    )
    if found is not None:
        found.state, found.lease, found.beats, found.tries = "leased", lease, 0, found.tries + 1
    return found


def beat(session: Session, key: Key, lease: str) -> bool:
    """Say that a lease is alive; False when it is lost."""
    return _change(session, key, lease, beats=Turn.beats + 1)


def finish_turn(session: Session, key: Key, lease: str, **values: object) -> bool:
    """Write what came of a turn, and give the lease up; False, and nothing is written, when the lease was lost."""
    return _change(session, key, lease, **values, lease="")


def leased(session: Session) -> dict[Key, tuple[str, int]]:
    """Return the leases that are held, with their beats."""
    held = select(Turn.run_id, Turn.place, Turn.number, Turn.lease, Turn.beats).where(Turn.state == "leased")
    return {(run, place, number): (lease, beats) for run, place, number, lease, beats in session.execute(held)}


def release(session: Session, key: Key, lease: str, *, most_tries: int, why: str) -> str:
    """Take a lease from whoever has it; return the new state of the turn, "" when they have it no more."""
    turn = session.get(Turn, key, with_for_update=True)
    if turn is None or turn.lease != lease or turn.state != "leased":
        return ""
    turn.lease, turn.failure = "", why
    turn.state = "waiting" if turn.tries < most_tries else "dead"
    if turn.state == "dead":
        give_back(session, turn, why)
    return turn.state


def hand_on(session: Session, key: Key, lease: str) -> None:
    """Let a turn wait again whose server ended while it was evaluated: no fault of the turn, and no try of it."""
    held = Turn.tries - 1
    _change(session, key, lease, state="waiting", lease="", tries=held)


def give_back(session: Session, turn: Turn, why: str) -> None:
    """End the run of a turn that could not be evaluated; it takes nothing of the quota."""
    run = session.get(Run, turn.run_id)
    if run is not None and run.state == "open":
        run.state, run.is_free, run.fault = "closing", True, f"a sample could not be evaluated: {why}"


def waiting_before(session: Session, turn: Turn) -> int:
    """Return how many turns wait that came before this one."""
    before = select(func.count()).select_from(Turn).where(Turn.state == "waiting", Turn.received_at < turn.received_at)
    return session.scalar(before) or 0


def _of_place(session: Session, place: Place) -> Iterator[Turn]:
    return iter(session.scalars(select(Turn).where(Turn.run_id == place.run_id, Turn.place == place.number)))


def _change(session: Session, key: Key, held_by: str, **values: object) -> bool:
    run_id, place, number = key
    held = update(Turn).where(Turn.run_id == run_id, Turn.place == place, Turn.number == number, Turn.lease == held_by)
    return bool(session.connection().execute(held.values(**values)).rowcount)
