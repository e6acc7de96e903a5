"""Turns in the database: received once, handed out, and answered once, whatever dies in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session, defer

from segarena_server.challenges.time_charge import TimeCharge
from segarena_server.db.orm_models import Run, RunSample, Turn
from segarena_server.http import http_errors
from segarena_server.jobs.row_queue import lease_row

TurnKey: TypeAlias = tuple[str, int, int]
"""A turn: run, place, number."""

WITHOUT_BODIES = (defer(Turn.request), defer(Turn.response), defer(Turn.given))
"""An option of queries for turns: what may have megabytes stays in the database."""

_FOR_ANOTHER_S = 0.5
"""So long a turn is left to the worker that has its dialogues in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A turn as it came.

    Attributes:
        request: its bytes, packed.
        sha256: of its bytes.
        charged: for it.
        client_s: by the participant's clock.
        round_trip_s: as the participant measured it.
    """

    request: bytes
    sha256: str
    charged: TimeCharge
    client_s: float
    round_trip_s: float = 0.0


def turns_by_number(session: Session, place: RunSample) -> dict[int, Turn]:
    """Return the turns of a place by number, without their bodies."""
    found = select(Turn).where(Turn.run_id == place.run_id, Turn.place == place.number)
    return {turn.number: turn for turn in session.scalars(found.options(*WITHOUT_BODIES))}


def store_turn(
    session: Session,
    run: Run,
    place: RunSample,
    turns: Mapping[int, Turn],
    came: Received,
    *,
    number: int,
    now: float,
) -> Turn:
    """Return the turn, kept and waiting; or as it stands, if it came before. `turns` are those of the place.

    Raises:
        Refusal: it contradicts what came before, or comes too early.
    """
    if run.kind != "dialogue" and not (run.kind == "masks" and number == 0):
        raise http_errors.conflict("this run is answered by what is sent: segarena submit")
    known = turns.get(number)
    if known is not None and known.state != "refused":
        if known.sha256 != came.sha256:
            raise http_errors.conflict(
                f"turn {number} came before with other content, and what came first counts"
            )
        return known
    before = turns.get(number - 1)
    if number != len(turns) - (known is not None) or (
        before is not None and before.state != "done"
    ):
        expected = max((turn for turn in turns if turns[turn].state == "done"), default=-1) + 1
        raise http_errors.conflict(f"turn {number} cannot come now; the next one is {expected}")
    if place.state == "over":
        raise http_errors.conflict("all dialogues about this sample are over")
    turn = known or Turn(run_id=run.id, place=place.number, number=number)
    turn.sha256 = came.sha256
    turn.request = came.request
    turn.state = "waiting"
    turn.failure = ""
    turn.tries = 0
    turn.received_at = now
    turn.charged_s = came.charged.seconds
    turn.is_sure = came.charged.is_sure
    turn.client_s = came.client_s
    turn.round_trip_s = came.round_trip_s
    turn.spent_s = charged_seconds(session, run.id) - (known.charged_s if known else 0.0)
    session.add(turn)
    return turn


def charged_seconds(session: Session, run_id: str) -> float:
    """Return what all turns of a run were charged."""
    return (
        session.scalar(
            select(func.coalesce(func.sum(Turn.charged_s), 0.0)).where(Turn.run_id == run_id)
        )
        or 0.0
    )


def lease_next_turn(session: Session, worker: str, lease: str, now: float) -> Turn | None:
    """Return a turn that waits, leased to a worker: first what it has in memory, then what nobody has."""
    mine = case((RunSample.worker == worker, 0), (RunSample.worker == "", 1), else_=2)
    # One that was received later than now was left over when the clock was set back.
    is_old = or_(Turn.received_at < now - _FOR_ANOTHER_S, Turn.received_at > now)
    is_for_me = or_(RunSample.worker.in_((worker, "")), is_old)
    found = session.scalar(
        select(Turn)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(Turn.state == "waiting", is_for_me)
        .order_by(mine, Turn.received_at)
        .limit(1)
        .with_for_update(of=Turn, skip_locked=True)
    )
    if found is not None:
        lease_row(found, lease)
    return found


def count_waiting_before(session: Session, turn: Turn) -> int:
    """Return how many turns wait that came before this one."""
    before = (
        select(func.count())
        .select_from(Turn)
        .where(Turn.state == "waiting", Turn.received_at < turn.received_at)
    )
    return session.scalar(before) or 0
