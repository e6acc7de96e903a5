"""Turns in the database: stored once, leased to workers, and answered once, even if a process dies in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session, defer

from segarena.files.hashes import sha256
from segarena.protocol.turns import TurnHeader
from segarena_server.challenges.time_charge import Moment, TimeCharge
from segarena_server.db.orm_models import Run, RunSample, Turn
from segarena_server.http import http_errors
from segarena_server.jobs.lease import lease_row
from segarena_server.storage.compression import compress_body

TurnKey: TypeAlias = tuple[str, int, int]
"""The primary key of a turn: id of the run, index of the sample, number of the turn."""

WITHOUT_BODIES = (defer(Turn.request), defer(Turn.response), defer(Turn.given))
"""Option of queries for turns: columns that may hold megabytes are not read."""

_STICKY_S = 0.5
"""How long a turn is reserved for the worker that has its dialogues in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTurn:
    """A turn on its way from the HTTP request to its row in the database.

    Attributes:
        packed: its body, compressed as it is stored.
        sha256: of its body.
        client_s: seconds since the previous reply, by the participant's clock.
        round_trip_s: duration of a round trip as the participant measured it.
        first, last: when its first and its last byte arrived.
        is_committed: whether its digest arrived before its body.
    """

    packed: bytes
    sha256: str
    client_s: float
    round_trip_s: float
    first: Moment
    last: Moment
    is_committed: bool

    @classmethod
    def of(
        cls, body: bytes, head: TurnHeader, *, first: Moment, last: Moment, is_committed: bool
    ) -> IncomingTurn:
        """Compress and hash a body. Of a large one this takes seconds, so call it in a thread."""
        return cls(
            packed=compress_body(body),
            sha256=sha256(body),
            client_s=head.client_s,
            round_trip_s=head.round_trip_s,
            first=first,
            last=last,
            is_committed=is_committed,
        )


def turns_by_number(session: Session, sample: RunSample) -> dict[int, Turn]:
    """Return the turns about a sample of a run by their number, without their bodies."""
    of_sample = select(Turn).where(Turn.run_id == sample.run_id, Turn.place == sample.number)
    turns = session.scalars(of_sample.options(*WITHOUT_BODIES))
    return {turn.number: turn for turn in turns}


def store_turn(
    session: Session,
    run: Run,
    sample: RunSample,
    turns: Mapping[int, Turn],
    incoming: IncomingTurn,
    charge: TimeCharge,
    *,
    number: int,
    now: float,
) -> Turn:
    """Store a turn as waiting and return its row; return the known row if the same turn was stored before.

    Args:
        session: writes.
        run: to which the turn belongs.
        sample: of the run that the turn is about.
        turns: all turns about the sample, by number.
        incoming: the turn.
        charge: its time.
        number: of the turn.
        now: seconds since 1970.

    Raises:
        Refusal: it contradicts an earlier turn, or comes out of order.
    """
    # Of a run of masks only the first turn is a dialogue, which asks for the first prompts.
    takes_turn = run.kind == "dialogue" or (run.kind == "masks" and number == 0)
    if not takes_turn:
        raise http_errors.conflict("this run is answered by what is sent: segarena submit")
    known = turns.get(number)
    if known is not None and known.state != "refused":
        if known.sha256 != incoming.sha256:
            raise http_errors.conflict(
                f"turn {number} came before with other content, and what came first counts"
            )
        return known
    _check_order(turns, number)
    if sample.state == "over":
        raise http_errors.conflict("all dialogues about this sample are over")
    turn = known or Turn(run_id=run.id, place=sample.number, number=number)
    turn.sha256 = incoming.sha256
    turn.request = incoming.packed
    turn.state = "waiting"
    turn.failure = ""
    turn.tries = 0
    turn.received_at = now
    turn.charged_s = charge.seconds
    turn.is_sure = charge.is_sure
    turn.client_s = incoming.client_s
    turn.round_trip_s = incoming.round_trip_s
    # The seconds of a refused turn are replaced by those of the one in its place.
    refused_s = known.charged_s if known else 0.0
    turn.spent_s = charged_seconds(session, run.id) - refused_s
    session.add(turn)
    return turn


def charged_seconds(session: Session, run_id: str) -> float:
    """Return the seconds charged for all turns of a run."""
    total = select(func.coalesce(func.sum(Turn.charged_s), 0.0)).where(Turn.run_id == run_id)
    return session.scalar(total) or 0.0


def lease_next_turn(session: Session, worker: str, lease: str, now: float) -> Turn | None:
    """Lease the next waiting turn to a worker: first turns about samples that it has in memory, then the oldest."""
    preference = case((RunSample.worker == worker, 0), (RunSample.worker == "", 1), else_=2)
    # A turn from the future was stored before the clock was set back.
    is_unreserved = or_(Turn.received_at < now - _STICKY_S, Turn.received_at > now)
    may_take = or_(RunSample.worker.in_((worker, "")), is_unreserved)
    turn = session.scalar(
        select(Turn)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(Turn.state == "waiting", may_take)
        .order_by(preference, Turn.received_at)
        .limit(1)
        .with_for_update(of=Turn, skip_locked=True)
    )
    if turn is not None:
        lease_row(turn, lease)
    return turn


def count_waiting_before(session: Session, turn: Turn) -> int:
    """Return how many waiting turns came before this one."""
    earlier = (
        select(func.count())
        .select_from(Turn)
        .where(Turn.state == "waiting", Turn.received_at < turn.received_at)
    )
    return session.scalar(earlier) or 0


def _check_order(turns: Mapping[int, Turn], number: int) -> None:
    """Raise `Refusal` unless a turn is the next one, and the previous one was evaluated."""
    known = turns.get(number)
    previous = turns.get(number - 1)
    next_number = len(turns) if known is None else len(turns) - 1
    is_previous_done = previous is None or previous.state == "done"
    if number == next_number and is_previous_done:
        return
    done = [turn.number for turn in turns.values() if turn.state == "done"]
    expected = max(done, default=-1) + 1
    raise http_errors.conflict(f"turn {number} cannot come now; the next one is {expected}")
