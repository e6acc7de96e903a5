"""Handling of turns: each is stored, evaluated by a worker, and answered as soon as its reply may be sent.

A turn is on disk before it is acknowledged. A delayed reply occupies neither a worker nor a thread.
"""

from __future__ import annotations

import asyncio
import json
import time

from fastapi import Request
from sqlalchemy import select, update
from sqlalchemy.orm import defer
from starlette.concurrency import run_in_threadpool

from segarena_server import http_errors
from segarena_server.auth.permissions import site_of, visitor_of
from segarena_server.challenges.turn_time_accounting import TimeCharge, charge, clock_start
from segarena_server.clock import Moment
from segarena_server.db.database import DatabaseAway
from segarena_server.db.orm_models import Challenge, Run, Turn, TurnKey
from segarena_server.runs.delayed_replies import remaining_delay_s, reply_time_s
from segarena_server.runs.run_repository import check_accepts_turns, find_run_sample, own_run
from segarena_server.runs.turn_repository import make_turn, store_turn, turns_by_number
from segarena_server.server_log import LOG
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body

WAIT_S = 25.0
"""Seconds that a request waits for an evaluation before the client must poll again."""

_MAX_POLL_S = 0.5
"""Polling interval for a turn that another process may evaluate."""
_FIRST_POLL_S = 0.05
"""First polling interval of a process without workers, which cannot be notified."""
_POLL_GROWTH = 1.5


def check_run_sample(
    request: Request,
    run_id: str,
    key: str,
) -> None:
    """Raise `Refusal` unless a run's sample exists and belongs to the visitor; called before a body is read."""
    visitor = visitor_of(request)
    with site_of(request).database.reading() as session:
        run = own_run(session, run_id, visitor.person_id)
        find_run_sample(session, run.id, key)


def take_turn(
    request: Request,
    run_id: str,
    key: str,
    number: int,
    body: bytes,
    arrived: Moment,
) -> TurnKey:
    """Store a turn; it is on disk when the function returns.

    Args:
        request: request of the participant.
        run_id: id of the run.
        key: key of the sample.
        number: number of the turn.
        body: the turn as sent.
        arrived: when it arrived, by `segarena_server.challenges.turn_time_accounting.arrival`.

    Raises:
        InvalidInput: the body is not a turn.
        Refusal: the turn contradicts an earlier one, or the run accepts nothing more.
    """
    site = site_of(request)
    visitor = visitor_of(request)
    received = make_turn(body)
    with site.database.writing() as session:
        run = own_run(session, run_id, visitor.person_id)
        # Two concurrent turns of a run must not count the same seconds, because `spent_s` is a
        # running total.
        session.refresh(run, with_for_update=True)
        sample = find_run_sample(session, run_id, key)
        turns = turns_by_number(session, sample)
        known = turns.get(number)
        # A repeated turn gets its reply at any time, a new one only while the run is open.
        if known is None or known.state == "refused":
            check_accepts_turns(session, run, site.now())
        time_charge = _charge(site, turns.get(number - 1), arrived)
        turn = store_turn(
            session, run, sample, turns, received, time_charge, number=number, now=site.now()
        )
        return turn.run_id, turn.place, turn.number


async def wait_for_reply(
    request: Request,
    key: TurnKey,
    patience_s: float = WAIT_S,
) -> bytes | None:
    """Wait for the evaluation of a turn and return its reply, or None if it takes too long.

    The clock of the next turn starts when the response to this request has been sent.

    Raises:
        Refusal: the turn is invalid, or could not be evaluated.
    """
    site = site_of(request)
    until = time.monotonic() + patience_s
    poll_s = _MAX_POLL_S if site.settings.workers else _FIRST_POLL_S
    evaluated_at: float | None = None
    with site.news.listen(key) as listener:
        while True:
            evaluated = await run_in_threadpool(_find_evaluated, site, key)
            left_s = until - time.monotonic()
            delay_s = poll_s
            if evaluated is not None:
                turn, delay_s = evaluated
                evaluated_at = evaluated_at or time.monotonic()
                if delay_s <= 0:
                    request.state.held_s = time.monotonic() - evaluated_at
                    reply = await run_in_threadpool(decompress_body, turn.response or b"")
                    # A repeated request does not restart the clock.
                    if not turn.sent:
                        request.state.on_sent = _SendingRecorder(site, key, len(reply))
                    return reply
            if left_s <= 0:
                return None
            await listener.wait(min(left_s, delay_s))
            poll_s = min(_POLL_GROWTH * poll_s, _MAX_POLL_S)


def _charge(
    site: Site,
    previous: Turn | None,
    arrived: Moment,
) -> TimeCharge:
    """Return the time charged for a turn; the first turn is free, because no prompts preceded it."""
    if previous is None:
        return TimeCharge(seconds=0.0)
    return charge(_sent_at(site, previous), arrived, site.outages)


def _find_evaluated(site: Site, key: TurnKey) -> tuple[Turn, float] | None:
    """Return an evaluated turn and the remaining delay of its reply in seconds, or None before its evaluation.

    Raises:
        Refusal: the turn is invalid, or could not be evaluated.
    """
    run_id, place, number = key
    # Many requests poll, so a single query reads all rows that the delay depends on.
    joined = select(Turn, Run, Challenge).join(Run, Run.id == Turn.run_id)
    joined = joined.join(Challenge, Challenge.id == Run.challenge_id)
    joined = joined.where(Turn.run_id == run_id, Turn.place == place, Turn.number == number)
    with site.database.reading() as session:
        query = joined.options(defer(Turn.request), defer(Turn.given))
        turn, run, _ = session.execute(query).one()
        delay_s = remaining_delay_s(session, turn, site.now())
    if turn.state == "refused":
        raise http_errors.invalid(turn.failure)
    if turn.state == "dead":
        raise http_errors.closed(
            run.fault
            or "this turn could not be evaluated; the run is over and does not count towards the quota"
        )
    if turn.state != "done" or turn.response is None:
        return None
    return turn, delay_s


class _SendingRecorder:
    """Records when a response was sent: in memory at once, in the database a moment later."""

    def __init__(
        self,
        site: Site,
        key: TurnKey,
        size: int,
    ) -> None:
        self._site = site
        self._key = key
        self._size = size

    def __call__(self, begun: Moment, ended: Moment) -> None:
        self._site.sent.setdefault(self._key, clock_start(begun, ended, self._size))
        # In another thread, because the event loop must not wait for the database.
        asyncio.get_running_loop().run_in_executor(None, self._write)

    def _write(self) -> None:
        run_id, place, number = self._key
        is_turn = (Turn.run_id == run_id, Turn.place == place, Turn.number == number)
        try:
            sent = json.dumps(self._site.sent[self._key].plain())
            statement = update(Turn).where(*is_turn, Turn.sent == "").values(sent=sent)
            with self._site.database.writing() as session:
                session.connection().execute(statement)
        except DatabaseAway as error:  # this process still knows it as long as it lives
            LOG.warning("the departure time of a reply could not be stored: %s", error)
        else:
            self._site.sent.pop(self._key, None)


def _sent_at(site: Site, turn: Turn) -> Moment:
    """Return when the response to a turn was sent; if the server died too early to store it, when it was due."""
    in_memory = site.sent.get((turn.run_id, turn.place, turn.number))
    if in_memory is not None:
        return in_memory
    if turn.sent:
        return Moment.of(json.loads(turn.sent))
    return Moment(boot="", boot_s=0.0, utc_s=turn.received_at + reply_time_s(turn))
