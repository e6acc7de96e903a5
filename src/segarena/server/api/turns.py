"""Turns: answers come in, the next prompts go out. What is acknowledged is on disk before."""

from __future__ import annotations

import asyncio
import json
import time

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from segarena.challenges.clock import Charged, Moment, charge, counted_from
from segarena.challenges.wire.frames import CONTENT_TYPE
from segarena.challenges.wire.turns import read_turn_head
from segarena.files.hashes import sha256
from segarena.server import refusals
from segarena.server.bodies import is_committed, read_body
from segarena.server.database import DatabaseAway
from segarena.server.packing import unpack
from segarena.server.queues import queue_of
from segarena.server.runs import check_goes_on, find_place, own_run
from segarena.server.site import Site
from segarena.server.tables import Run, Turn
from segarena.server.turns import Key, Received, receive
from segarena.server.visitors import needs, site_of, visitor_of
from segarena.server.watching import LOG

router = APIRouter(prefix="/api/v1")

_WAIT_S = 25.0
"""So long a request is kept waiting for an evaluation; then it is told to ask again."""
_LOOK_S = 0.5
"""A turn that another process evaluates is looked at so often,"""
_FIRST_LOOK_S = 0.05
"""and at first more often."""
_AGAIN_S = 1.0


@router.post("/runs/{run_id}/samples/{key}/turns/{number:int}")
@needs("participant")
async def send_turn(request: Request, run_id: str, key: str, number: int) -> Response:
    """Take answers; return the next prompts. The same turn again gets the same response."""
    site = site_of(request)
    if site.is_draining():
        raise refusals.busy("the server is about to end; send it again", _AGAIN_S)
    await run_in_threadpool(_check, request, run_id, key)
    body = await read_body(request, int(site.settings.limits.body_mb * 2**20))
    last = request.state.read = Moment.now()
    client_s = read_turn_head(body).client_s
    arrived = _Arrived(request.state.arrived, last, is_committed=is_committed(request, body))
    turn = await run_in_threadpool(_receive, request, (run_id, key, number), body, client_s, arrived)
    request.state.turn = "/".join(map(str, turn))
    site.hurry()
    return await _response(request, turn)


@router.get("/runs/{run_id}/samples/{key}/turns/{number:int}")
@needs("participant")
async def fetch_turn(request: Request, run_id: str, key: str, number: int) -> Response:
    """Return the response to a turn that was sent before."""
    turn = await run_in_threadpool(_find, request, run_id, key, number)
    return await _response(request, turn)


class _Arrived:
    """When an answer came: the first byte, the last one, and whether it was settled before."""

    def __init__(self, first: Moment, last: Moment, *, is_committed: bool) -> None:
        self._first, self._last, self._is_committed = first, last, is_committed

    def charged(self, sent: Moment | None) -> Charged:
        """Return what is charged since the prompts were sent; nothing before there were any."""
        if sent is None:
            return Charged(seconds=0.0)
        return charge(sent, self._first, self._last, committed=self._is_committed)


def _check(request: Request, run_id: str, key: str) -> None:
    site, visitor = site_of(request), visitor_of(request)
    with site.database.reading() as session:
        find_place(session, own_run(session, run_id, visitor.person_id).id, key)


def _receive(request: Request, where: tuple[str, str, int], body: bytes, client_s: float, arrived: _Arrived) -> Key:
    """Keep a turn; when this returns it is on disk."""
    site, visitor, (run_id, key, number) = site_of(request), visitor_of(request), where
    with site.database.writing() as session:
        run = session.get(Run, own_run(session, run_id, visitor.person_id).id, with_for_update=True)
        place = find_place(session, run_id, key)
        known = session.get(Turn, (run_id, place.number, number))
        if run is None or known is None:
            check_goes_on(session, own_run(session, run_id, visitor.person_id), site.now())
        before = session.get(Turn, (run_id, place.number, number - 1)) if number else None
        charged = arrived.charged(_sent(site, before) if before else None)
        came = Received(body=body, sha256=sha256(body), charged=charged, client_s=client_s)
        turn = receive(session, own_run(session, run_id, visitor.person_id), place, number, came, site.now())
        return turn.run_id, turn.place, turn.number


def _find(request: Request, run_id: str, key: str, number: int) -> Key:
    site, visitor = site_of(request), visitor_of(request)
    with site.database.reading() as session:
        place = find_place(session, own_run(session, run_id, visitor.person_id).id, key)
        if session.get(Turn, (run_id, place.number, number)) is None:
            raise refusals.unknown()
    return run_id, place.number, number


async def _response(request: Request, key: Key) -> Response:
    """Wait a while for the evaluation of a turn, and return what came of it."""
    site, until = site_of(request), time.monotonic() + _WAIT_S
    look_s = _LOOK_S if site.settings.workers else _FIRST_LOOK_S
    with site.news.about(key) as listener:
        while True:
            response = await run_in_threadpool(_made, request, key)
            left_s = until - time.monotonic()
            if response is not None or left_s <= 0:
                return response or await run_in_threadpool(_not_yet, site, key)
            await listener.wait(min(left_s, look_s))
            look_s = min(1.5 * look_s, _LOOK_S)


def _made(request: Request, key: Key) -> Response | None:
    site = site_of(request)
    with site.database.reading() as session:
        turn = session.get_one(Turn, key)
        run = session.get_one(Run, key[0])
    if turn.state == "refused":
        raise refusals.invalid(turn.failure)
    if turn.state == "dead":
        raise refusals.closed(run.fault or "this turn could not be evaluated; the run is over and free of charge")
    if turn.state != "done" or turn.response is None:
        return None
    if not turn.sent:
        request.state.on_sent = _Sent(site, key, len(turn.response))
    return Response(unpack(turn.response), media_type=CONTENT_TYPE)


def _not_yet(site: Site, key: Key) -> Response:
    with site.database.reading() as session:
        queue = queue_of(session, session.get_one(Turn, key))
    told = {"state": "waiting", "queue": queue, "retry_after_s": _AGAIN_S}
    return JSONResponse(told, 202, {"retry-after": "1"})


class _Sent:
    """Keeps when a response had left: here at once, in the table a moment later."""

    def __init__(self, site: Site, key: Key, size: int) -> None:
        self._site, self._key, self._size = site, key, size

    def __call__(self, begun: Moment, ended: Moment) -> None:
        self._site.sent.setdefault(self._key, counted_from(begun, ended, self._size))
        asyncio.get_running_loop().run_in_executor(None, self._write)

    def _write(self) -> None:
        try:
            with self._site.database.writing() as session:
                turn = session.get(Turn, self._key)
                if turn is not None and not turn.sent:
                    turn.sent = json.dumps(self._site.sent[self._key].plain())
        except DatabaseAway as error:  # it is known here as long as this process lives
            LOG.warning("when a reply left could not be kept: %s", error)
        else:
            self._site.sent.pop(self._key, None)


def _sent(site: Site, turn: Turn) -> Moment:
    """Return when the response to a turn had left; if the server died before that was noted, when it was made."""
    known = site.sent.get((turn.run_id, turn.place, turn.number))
    if known is not None:
        return known
    if turn.sent:
        return Moment.of(json.loads(turn.sent))
    return Moment(boot="", boot_s=0.0, utc_s=turn.done_at or turn.received_at)
