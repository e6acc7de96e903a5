"""API routes for turns: receive answers, return the next prompts."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from segarena.protocol.message_frames import CONTENT_TYPE
from segarena_server import http_errors
from segarena_server.api.queue_position import turn_queue_position
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.challenges.turn_time_accounting import arrival
from segarena_server.clock import Moment
from segarena_server.db.orm_models import Turn, TurnKey
from segarena_server.http.request_body import check_digest, read_body
from segarena_server.runs.run_repository import find_run_sample, own_run
from segarena_server.runs.turn_repository import WITHOUT_BODIES
from segarena_server.runs.turn_service import check_run_sample, take_turn, wait_for_reply
from segarena_server.site import Site

router = APIRouter(prefix="/api/v1")

_RETRY_S = 1.0


@router.post("/runs/{run_id}/samples/{key}/turns/{number:int}")
@require_role("participant")
async def send_turn(
    request: Request,
    run_id: str,
    key: str,
    number: int,
) -> Response:
    """Receive answers and return the next prompts; a repeated request gets the same response."""
    site = site_of(request)
    if site.is_draining():
        raise http_errors.busy("the server is shutting down; send the turn again", _RETRY_S)
    # Before the body is read, so that nobody can upload to other people's runs.
    await run_in_threadpool(check_run_sample, request, run_id, key)
    body = await read_body(request, int(site.settings.limits.body_mb * 2**20))
    # Before the digest is checked, because this must not count as the participant's time.
    last = request.state.read = Moment.now()
    is_committed = check_digest(request, body)
    arrived = arrival(request.state.arrived, last, is_committed=is_committed)
    turn = await run_in_threadpool(take_turn, request, run_id, key, number, body, arrived)
    request.state.turn = "/".join(map(str, turn))
    # After the transaction of `take_turn`: a worker that wakes earlier would not see the turn yet.
    site.hurry()
    return await _response(request, turn)


@router.get("/runs/{run_id}/samples/{key}/turns/{number:int}")
@require_role("participant")
async def fetch_turn(
    request: Request,
    run_id: str,
    key: str,
    number: int,
) -> Response:
    """Return the response to an earlier turn."""
    turn = await run_in_threadpool(_find, request, run_id, key, number)
    return await _response(request, turn)


def _find(
    request: Request,
    run_id: str,
    key: str,
    number: int,
) -> TurnKey:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        place = find_run_sample(session, own_run(session, run_id, visitor.person_id).id, key)
        if session.get(Turn, (run_id, place.number, number), options=WITHOUT_BODIES) is None:
            raise http_errors.unknown()
    return run_id, place.number, number


async def _response(request: Request, key: TurnKey) -> Response:
    reply = await wait_for_reply(request, key)
    if reply is None:
        return await run_in_threadpool(_not_yet, site_of(request), key)
    return Response(reply, media_type=CONTENT_TYPE)


def _not_yet(site: Site, key: TurnKey) -> Response:
    with site.database.reading() as session:
        queue = turn_queue_position(session, session.get_one(Turn, key, options=WITHOUT_BODIES))
    told = {"state": "waiting", "queue": queue, "retry_after_s": _RETRY_S}
    return JSONResponse(told, 202, {"retry-after": "1"})
