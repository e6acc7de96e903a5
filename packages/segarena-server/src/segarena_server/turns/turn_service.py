"""An exchange with a participant: a turn is taken, judged elsewhere, and its reply leaves when it may.

What is acknowledged is on disk before. A reply that is held back occupies neither a worker nor a thread.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

from fastapi import Request
from sqlalchemy import select, update
from sqlalchemy.orm import defer
from starlette.concurrency import run_in_threadpool

from segarena.files.hashes import sha256
from segarena.protocol.turns import TurnHead
from segarena_server.auth.permissions import site_of, visitor_of
from segarena_server.challenges.time_charge import Moment, TimeCharge, charge, clock_start
from segarena_server.db.database import DatabaseAway
from segarena_server.db.orm_models import Challenge, Run, Turn
from segarena_server.http import http_errors
from segarena_server.http.middleware import LOG
from segarena_server.runs.run_repository import check_accepts_turns, find_run_sample, own_run
from segarena_server.site import Site
from segarena_server.storage.compression import pack, unpack
from segarena_server.turns.delayed_replies import remaining_delay_s, reply_time_s
from segarena_server.turns.turn_repository import Received, TurnKey, store_turn, turns_by_number

WAIT_S = 25.0
"""So long a request is kept waiting for an evaluation; then it is told to ask again."""

_LOOK_S = 0.5
"""A turn that another process evaluates is looked at so often,"""
_FIRST_LOOK_S = 0.05
"""and at first more often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingTurn:
    """A turn as it came.

    Attributes:
        body: a frame.
        head: what it says of itself.
        first, last: when its first and its last byte had come.
        is_committed: whether its content was settled before it came.
    """

    body: bytes
    head: TurnHead
    first: Moment
    last: Moment
    is_committed: bool

    def charged(self, sent: Moment | None) -> TimeCharge:
        """Return what is charged since the prompts were sent; nothing before there were any."""
        if sent is None:
            return TimeCharge(seconds=0.0)
        return charge(sent, self.first, self.last, committed=self.is_committed)


def check_run_sample(request: Request, run_id: str, key: str) -> None:
    """Raise `Refusal` unless there is such a place, and it is the visitor's; looked at before a body is read."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        find_run_sample(session, own_run(session, run_id, visitor.person_id).id, key)


def take_turn(request: Request, where: tuple[str, str, int], came: IncomingTurn) -> TurnKey:
    """Keep a turn, of a run, about the place of a key, with a number; when this returns it is on disk.

    Raises:
        Refusal: it contradicts what came before, or nothing more can be sent.
    """
    site, visitor, (run_id, key, number) = site_of(request), visitor_of(request), where
    packed, hashed = (
        pack(came.body),
        sha256(came.body),
    )  # which may take seconds, while others want to write
    with site.database.writing() as session:
        run = own_run(session, run_id, visitor.person_id)
        session.refresh(run, with_for_update=True)
        place = find_run_sample(session, run_id, key)
        turns = turns_by_number(session, place)
        known = turns.get(number)
        before = turns.get(number - 1)
        if (
            known is None or known.state == "refused"
        ):  # another one may come in its place, as long as the run goes on
            check_accepts_turns(session, run, site.now())
        received = Received(
            request=packed,
            sha256=hashed,
            charged=came.charged(_sent(site, before) if before else None),
            client_s=came.head.client_s,
            round_trip_s=came.head.round_trip_s,
        )
        turn = store_turn(session, run, place, turns, received, number=number, now=site.now())
        return turn.run_id, turn.place, turn.number


async def wait_for_reply(
    request: Request, key: TurnKey, patience_s: float = WAIT_S
) -> bytes | None:
    """Wait for what comes of a turn, and return its reply; None when it is not there yet.

    The clock of the next turn runs from when the response to this request has left.

    Raises:
        Refusal: the turn was none, or could not be evaluated.
    """
    site = site_of(request)
    until = time.monotonic() + patience_s
    look_s = _LOOK_S if site.settings.workers else _FIRST_LOOK_S
    found_at: float | None = None
    with site.news.about(key) as listener:
        while True:
            found = await run_in_threadpool(_look, site, key)
            left_s = until - time.monotonic()
            if found is not None and found_at is None:
                found_at = time.monotonic()
            if found is not None and found_at is not None and found.held_s <= 0:
                request.state.held_s = time.monotonic() - found_at
                if not found.was_sent:
                    request.state.on_sent = _Sent(site, key, len(found.reply))
                return found.reply
            if left_s <= 0:
                return None
            await listener.wait(min(left_s, look_s if found is None else found.held_s))
            look_s = min(1.5 * look_s, _LOOK_S)


@dataclass(frozen=True, slots=True)
class _Found:
    reply: bytes
    held_s: float
    was_sent: bool


def _look(site: Site, key: TurnKey) -> _Found | None:
    found = select(Turn, Run, Challenge).join(Run, Run.id == Turn.run_id)
    found = found.join(Challenge, Challenge.id == Run.challenge_id).options(
        defer(Turn.request), defer(Turn.given)
    )
    this = Turn.run_id == key[0], Turn.place == key[1], Turn.number == key[2]
    with site.database.reading() as session:  # many look, so that all of it is asked for at once
        turn, run, _ = session.execute(found.where(*this)).one()
        left_s = remaining_delay_s(session, turn, site.now())
    if turn.state == "refused":
        raise http_errors.invalid(turn.failure)
    if turn.state == "dead":
        raise http_errors.closed(
            run.fault or "this turn could not be evaluated; the run is over and free of charge"
        )
    if turn.state != "done" or turn.response is None:
        return None
    return _Found(unpack(turn.response), left_s, bool(turn.sent))


class _Sent:
    """Keeps when a response had left: here at once, in the table a moment later."""

    def __init__(self, site: Site, key: TurnKey, size: int) -> None:
        self._site = site
        self._key = key
        self._size = size

    def __call__(self, begun: Moment, ended: Moment) -> None:
        self._site.sent.setdefault(self._key, clock_start(begun, ended, self._size))
        asyncio.get_running_loop().run_in_executor(None, self._write)

    def _write(self) -> None:
        try:
            told = json.dumps(self._site.sent[self._key].plain())
            run_id, place, number = self._key
            this = Turn.run_id == run_id, Turn.place == place, Turn.number == number
            with self._site.database.writing() as session:
                session.connection().execute(
                    update(Turn).where(*this, Turn.sent == "").values(sent=told)
                )
        except DatabaseAway as error:  # it is known here as long as this process lives
            LOG.warning("when a reply left could not be kept: %s", error)
        else:
            self._site.sent.pop(self._key, None)


def _sent(site: Site, turn: Turn) -> Moment:
    """Return when the response to a turn had left; if the server died before that was noted, when it could leave."""
    known = site.sent.get((turn.run_id, turn.place, turn.number))
    if known is not None:
        return known
    if turn.sent:
        return Moment.of(json.loads(turn.sent))
    return Moment(boot="", boot_s=0.0, utc_s=turn.received_at + reply_time_s(turn))
