"""Turns in the database: stored once, leased to workers, and answered once, even if a process dies midway."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session, defer

from segarena.files.hashes import sha256
from segarena.protocol.turns import read_turn_header
from segarena_server import http_errors
from segarena_server.challenges.turn_time_accounting import TimeCharge
from segarena_server.db.orm_models import Run, RunSample, Turn
from segarena_server.jobs.row_leases import lease_row
from segarena_server.storage.compression import compress_body

WITHOUT_BODIES = (defer(Turn.request), defer(Turn.response), defer(Turn.given))
"""Query options for turns that skip the columns that may hold megabytes."""
WITHOUT_BODIES_AND_STATUSES = (*WITHOUT_BODIES, defer(Turn.judged))
"""Query options for turns that also skip the statuses of their dialogues, which take time to parse."""

HEAD_START_S = 2.0
"""Advantage, in seconds of arrival time, of turns about samples in a worker's memory over first turns.

Turns are evaluated in order of arrival, with this head start. The order of two waiting turns never
changes, and no turn is overtaken by one that arrived more than twice the head start later. Without
a limit, samples in memory always came first: fifty sessions kept one worker busy with later turns,
and the 90th percentile of the waiting times of first turns was 30 times that of later ones.

The head start helps when only a few turns wait: dialogues that have started continue at once, and
their samples stay with the worker that has them in memory. It cannot save work under overload,
where a worker's memory must hold the samples of all sessions in any case. At the load of
`tests/test_fair_queue.py`, the ratio of the 90th percentiles is 1.0 without a head start, 1.4 with
2 s, 1.9 with 4 s and 3.3 with 8 s. Two seconds therefore leave a margin below the bound of 3 for
slow machines.
"""

_STICKY_S = 0.5
"""Seconds for which a turn is reserved for the worker that has its dialogues in memory."""
_MAX_SKEW_S = 60.0
"""A turn that arrived this far in the future was stored before the clock was set back, so it is the oldest.

A smaller difference may come from the clock of another server; such a turn must not overtake all
others.
"""


def make_turn(body: bytes) -> Turn:
    """Make the row of a turn from the body of a request; it belongs to no run until `store_turn` stores it.

    Compressing and hashing a large body takes seconds, so call this in a thread and outside a transaction.

    Raises:
        InvalidInput: the body is not a turn.
    """
    head = read_turn_header(body)
    return Turn(
        sha256=sha256(body),
        request=compress_body(body),
        client_s=head.client_s,
        round_trip_s=head.round_trip_s,
    )


def turns_by_number(session: Session, sample: RunSample) -> dict[int, Turn]:
    """Return the turns about a sample of a run by number, without their bodies and statuses."""
    query = (
        select(Turn)
        .where(Turn.run_id == sample.run_id, Turn.place == sample.number)
        .options(*WITHOUT_BODIES_AND_STATUSES)
    )
    return {turn.number: turn for turn in session.scalars(query)}


def store_turn(
    session: Session,
    run: Run,
    sample: RunSample,
    turns: Mapping[int, Turn],
    received: Turn,
    charge: TimeCharge,
    *,
    number: int,
    now: float,
) -> Turn:
    """Store a turn as waiting and return its row; return the existing row if the same turn was stored before.

    Args:
        session: a session for writing.
        run: run of the turn.
        sample: sample that the turn is about.
        turns: all turns about the sample, by number.
        received: the turn, from `make_turn`.
        charge: time charged for it.
        number: number of the turn.
        now: seconds since 1970.

    Raises:
        Refusal: the turn contradicts an earlier one or arrives out of order; the run accepts no such
            turns; or all dialogues about the sample are over.
    """
    # In a run of masks, only the first turn is a dialogue; it requests the first prompts.
    takes_turn = run.kind == "dialogue" or (run.kind == "masks" and number == 0)
    if not takes_turn:
        raise http_errors.conflict("this run accepts submissions, not turns: use segarena submit")
    known = turns.get(number)
    if known is not None and known.state != "refused":
        if known.sha256 != received.sha256:
            raise http_errors.conflict(
                f"turn {number} was sent before with other content, and the first version counts"
            )
        return known
    _check_order(turns, number)
    if sample.state == "over":
        raise http_errors.conflict(
            "all dialogues about this sample are over; continue with another sample"
        )
    received.run_id = run.id
    received.place = sample.number
    received.number = number
    received.state = "waiting"
    received.failure = ""
    received.tries = 0
    received.received_at = now
    received.charged_s = charge.seconds
    received.is_sure = charge.is_sure
    # The seconds of a refused turn are replaced by those of its substitute.
    refused_s = known.charged_s if known else 0.0
    received.spent_s = charged_seconds(session, run.id) - refused_s
    if known is not None:
        return session.merge(received)
    session.add(received)
    return received


def charged_seconds(session: Session, run_id: str) -> float:
    """Return the seconds charged for all turns of a run."""
    total = select(func.coalesce(func.sum(Turn.charged_s), 0.0)).where(Turn.run_id == run_id)
    return session.scalar(total) or 0.0


def lease_next_turn(
    session: Session,
    worker: str,
    lease: str,
    now: float,
) -> Turn | None:
    """Lease the next waiting turn to a worker and return it, or None if none is waiting.

    Turns are leased in order of arrival, with a head start for samples in the worker's memory.
    """
    # A process without the dialogues in memory must first replay all earlier turns.
    handicap_s = case(
        (RunSample.worker == worker, 0.0),
        (RunSample.worker == "", HEAD_START_S),
        else_=2 * HEAD_START_S,
    )
    # A turn from the future was stored before the clock was set back.
    is_unreserved = or_(Turn.received_at < now - _STICKY_S, Turn.received_at > now)
    may_take = or_(RunSample.worker.in_((worker, "")), is_unreserved)
    turn = session.scalar(
        select(Turn)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(Turn.state == "waiting", may_take)
        .order_by(
            case((Turn.received_at > now + _MAX_SKEW_S, 0), else_=1),
            Turn.received_at + handicap_s,
            Turn.received_at,
        )
        .limit(1)
        # skip_locked, so that workers do not wait for each other's rows; SQLite ignores it and has
        # one writer.
        .with_for_update(of=Turn, skip_locked=True)
    )
    if turn is not None:
        lease_row(turn, lease)
    return turn


def count_waiting_before(session: Session, turn: Turn) -> int:
    """Return the number of waiting turns ahead of this one; a first turn counts as `HEAD_START_S` later.

    Every other turn is assumed to go to the worker that has its sample in memory. Turns that arrive
    later may still overtake a first turn within `HEAD_START_S`.
    """
    handicap_s = case((RunSample.worker == "", HEAD_START_S), else_=0.0)
    sample = session.get_one(RunSample, (turn.run_id, turn.place))
    is_first = sample.worker == ""
    due_at = turn.received_at + (HEAD_START_S if is_first else 0.0)
    earlier = (
        select(func.count())
        .select_from(Turn)
        .join(RunSample, (RunSample.run_id == Turn.run_id) & (RunSample.number == Turn.place))
        .where(Turn.state == "waiting", Turn.received_at + handicap_s < due_at)
    )
    return session.scalar(earlier) or 0


def _check_order(turns: Mapping[int, Turn], number: int) -> None:
    """Raise `Refusal` unless a turn is the next one or repeats the last, and the one before it was evaluated."""
    known = turns.get(number)
    previous = turns.get(number - 1)
    next_number = len(turns) if known is None else len(turns) - 1
    is_previous_done = previous is None or previous.state == "done"
    if number == next_number and is_previous_done:
        return
    done = [turn.number for turn in turns.values() if turn.state == "done"]
    expected = max(done, default=-1) + 1
    raise http_errors.conflict(f"expected turn {expected} next, got turn {number}")
