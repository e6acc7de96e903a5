"""The published endpoints, each below `/davis/CHALLENGE/PHASE/`, which programs give as their host.

Source: DAVIS Interactive Challenge, its server as seen by its clients.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response

from segarena.protocol.turns import TurnMessage, pack_coco_turn, pack_turn, read_turn_header
from segarena.samples import Shape
from segarena_server.audit_log import record_event
from segarena_server.auth.permissions import ANYONE, require_role, site_of, visitor_of
from segarena_server.challenges.time_charge import Moment
from segarena_server.davis.davis_sessions import (
    DavisSample,
    begin_session_run,
    davis_samples,
    find_davis_sample,
    find_session_run,
    next_scribbles,
    reply_about,
    run_id_of,
    stored_sample_shape,
    turns_about,
)
from segarena_server.davis.leaderboard import finished_runs, leaderboard
from segarena_server.davis.refusals import published_error
from segarena_server.davis.rules import DavisPhase, check_davis_challenge, find_davis_phase
from segarena_server.davis.scores import (
    empty_summary,
    may_see_scores,
    published_report,
    published_summary,
)
from segarena_server.db.orm_models import Run
from segarena_server.extensions.interfaces import Interface
from segarena_server.http import http_errors
from segarena_server.http.request_body import read_body
from segarena_server.runs.run_repository import request_end
from segarena_server.turns.turn_repository import IncomingTurn, TurnKey
from segarena_server.turns.turn_service import take_turn, wait_for_reply

router = APIRouter(prefix="/davis/{slug}/{phase}", include_in_schema=False)
INTERFACE = Interface(
    title="the published package davisinteractive",
    router=router,
    token_header="user-key",  # noqa: S106 - the name of a header
    refusal=published_error,
    check=check_davis_challenge,
)

MAGIC = 23
"""Number by which clients recognise a server."""

PATIENCE_S = 900.0
"""Seconds that a request waits; long, since these programs cannot poll."""

_MOST_CANDIDATES_BYTES = 64 * 1024


class _Interaction(msgspec.Struct):
    sequence: Annotated[str, msgspec.Meta(max_length=1000)]
    scribble_idx: int
    pred_masks: msgspec.Raw
    timing: Annotated[float, msgspec.Meta(ge=0, le=1e9)]
    interaction: int
    next_scribble_frame_candidates: msgspec.Raw = msgspec.Raw(b"null")


@router.get("/api/healthcheck")
@require_role(ANYONE)
def tell_davis_health(request: Request, slug: str, phase: str) -> Response:
    """Identify the server and return the limits; a challenge that is not public looks like an unknown one."""
    limits: dict[str, Any] = {"subset": "test-dev", "max_time": None, "max_interactions": None}
    limits |= {"metric_to_optimize": "J_AND_F"}
    with site_of(request).database.reading() as session, suppress(http_errors.Refusal):
        davis_phase = find_davis_phase(session, slug, phase)
        if davis_phase.is_public:
            limits |= _limits(davis_phase)
    return JSONResponse(
        {"health": "OK", "name": "segarena", "magic": MAGIC, "evaluation_parameters": limits}
    )


@router.get("/api/dataset/samples")
@require_role("participant")
def list_samples(request: Request, slug: str, phase: str) -> Response:
    """Begin or find the run of the session; return its samples and the limits."""
    site = site_of(request)
    with site.database.writing() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        is_new = session.get(Run, run_id_of(request)) is None
        run = begin_session_run(session, request, davis_phase)
        samples = [
            [sample.place.sample, sample.scribble_idx] for sample in davis_samples(session, run)
        ]
        if is_new:
            record_event(
                session, site.now(), "run begun", f"{slug}/{phase} {run.id}", **_who(request)
            )
    return JSONResponse([samples, davis_phase.most_seconds, davis_phase.rules.rounds])


@router.get("/api/dataset/scribbles/{sequence}/{number}")
@require_role("participant")
async def give_scribbles(
    request: Request, slug: str, phase: str, sequence: str, number: str
) -> Response:
    """Return the first scribbles of a sample; its clock starts when they have left."""
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise http_errors.invalid("expected the number of the scribbles")
    locate = partial(_locate, request, slug, phase, sequence, int(number))
    davis_phase, sample, shape = await run_in_threadpool(locate)
    key = await run_in_threadpool(_open_dialogue, request, sample)
    return await _scribbles_response(request, davis_phase, sample, shape, key)


@router.post("/api/evaluation/interaction")
@require_role("participant")
async def take_masks(request: Request, slug: str, phase: str) -> Response:
    """Take the masks of an interaction; return the next scribbles of the robot."""
    await run_in_threadpool(_check_run, request, slug, phase)
    body = await read_body(request, int(site_of(request).settings.limits.body_mb * 2**20))
    last = Moment.now()
    try:
        sent = msgspec.json.decode(body, type=_Interaction)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise http_errors.invalid(f"an interaction: {str(error)[:200]}") from error
    locate = partial(_locate, request, slug, phase, sent.sequence, sent.scribble_idx)
    davis_phase, sample, shape = await run_in_threadpool(locate)
    if not 1 <= sent.interaction <= davis_phase.rules.rounds:
        raise http_errors.invalid(
            f"interaction: expected 1 to {davis_phase.rules.rounds}, got {sent.interaction}"
        )
    turn = TurnMessage(id=_turn_id(sample, sent.interaction), client_s=sent.timing, silent=True)
    frame = pack_coco_turn(
        turn, sample.number, bytes(sent.pred_masks), shape, _candidates(sent, shape)
    )
    incoming = await run_in_threadpool(
        IncomingTurn.of,
        frame,
        read_turn_header(frame),
        first=request.state.arrived,
        last=last,
        is_committed=False,
    )
    key = await run_in_threadpool(_answer, request, sample, sent.interaction, incoming)
    return await _scribbles_response(request, davis_phase, sample, shape, key)


@router.get("/api/evaluation/report")
@require_role("participant")
def give_report(request: Request, slug: str, phase: str) -> Response:
    """Return a row for each interaction and object, when the run is over and the phase shows scores."""
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        run = find_session_run(session, request, davis_phase)
    if not may_see_scores(davis_phase, run, site.now()):
        return JSONResponse({})
    return JSONResponse(
        published_report(
            site.folder.run_folders.fetch(run.id), davis_phase, request.headers["session-key"]
        )
    )


@router.post("/api/evaluation/finish")
@require_role("participant")
async def finish_session(request: Request, slug: str, phase: str) -> Response:
    """End the run of the session; return the summary as far as the phase shows it."""
    run_id = await run_in_threadpool(_end, request, slug, phase)
    site_of(request).hurry()
    summary = await run_in_threadpool(_summary, request, slug, phase)
    until = time.monotonic() + PATIENCE_S
    with site_of(request).news.listen(run_id) as listener:
        while summary is None:
            if time.monotonic() > until or site_of(request).is_draining():
                raise http_errors.busy("the run is not judged yet; ask again", 1.0)
            await listener.wait(0.5)
            summary = await run_in_threadpool(_summary, request, slug, phase)
    return JSONResponse(summary)


@router.get("/leaderboard/")
@require_role(ANYONE)
def show_leaderboard(request: Request, slug: str, phase: str) -> Response:
    """Return the best sessions to programs, which send the content type of JSON; redirect browsers to the board."""
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        may_look = davis_phase.is_public or visitor_of(request).may("viewer")
        finished = finished_runs(session, davis_phase, site.now()) if may_look else None
    if finished is None:
        raise http_errors.unknown()
    if "application/json" not in request.headers.get("content-type", ""):
        return RedirectResponse(
            f"/challenges/{davis_phase.challenge.slug}/{davis_phase.phase.name}/board", 303
        )
    return JSONResponse(leaderboard(site, davis_phase, finished))


def _limits(davis_phase: DavisPhase) -> dict[str, Any]:
    return {
        "max_time": davis_phase.most_seconds,
        "max_interactions": davis_phase.rules.rounds,
        "metric_to_optimize": davis_phase.metric,
    }


def _locate(
    request: Request, slug: str, phase: str, sequence: str, number: int
) -> tuple[DavisPhase, DavisSample, Shape]:
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        sample = find_davis_sample(
            session, find_session_run(session, request, davis_phase), sequence, number
        )
    return davis_phase, sample, stored_sample_shape(site.folder.samples, sample.place.sha256)


def _check_run(request: Request, slug: str, phase: str) -> None:
    with site_of(request).database.reading() as session:
        find_session_run(session, request, find_davis_phase(session, slug, phase))


def _open_dialogue(request: Request, sample: DavisSample) -> TurnKey | None:
    """Send the turn that asks for the first scribbles, unless it was sent; return None when the dialogue is over."""
    with site_of(request).database.reading() as session:
        sent = turns_about(session, sample)
    if sent.turns:
        return None if sent.is_over else _key(sent.turns[-1])
    frame = pack_turn(TurnMessage(id=_turn_id(sample, 0), open=[sample.number], silent=True))
    now = Moment.now()
    incoming = IncomingTurn.of(
        frame, read_turn_header(frame), first=now, last=now, is_committed=True
    )
    key = take_turn(request, sample.place.run_id, sample.place.key, sent.next, incoming)
    site_of(request).hurry()
    return key


def _answer(
    request: Request, sample: DavisSample, interaction: int, incoming: IncomingTurn
) -> TurnKey | None:
    """Send the answer of an interaction; return None when the dialogue is over and nothing is judged any more."""
    with site_of(request).database.reading() as session:
        sent = turns_about(session, sample)
    if not sent.turns:
        raise http_errors.conflict("get the scribbles of this sample first")
    if interaction < len(sent.turns):
        number = sent.turns[interaction].number
    elif sent.is_over:
        return None
    elif interaction > len(sent.turns):
        raise http_errors.conflict(f"interaction: expected {len(sent.turns)}, got {interaction}")
    else:
        number = sent.next
    key = take_turn(request, sample.place.run_id, sample.place.key, number, incoming)
    site_of(request).hurry()
    return key


async def _scribbles_response(
    request: Request,
    davis_phase: DavisPhase,
    sample: DavisSample,
    shape: Shape,
    key: TurnKey | None,
) -> Response:
    asked = None
    if key is not None:
        reply = await wait_for_reply(request, key, PATIENCE_S)
        if reply is None:
            raise http_errors.busy("this interaction is not judged yet; ask again", 1.0)
        asked = reply_about(sample, reply, shape)
    return JSONResponse(dict(next_scribbles(davis_phase, sample, asked, shape)))


def _end(request: Request, slug: str, phase: str) -> str:
    site = site_of(request)
    with site.database.writing() as session:
        known = find_session_run(session, request, find_davis_phase(session, slug, phase))
        run = session.get_one(Run, known.id, with_for_update=True)
        if request_end(session, run, site.now()):
            record_event(session, site.now(), "run ended early", run.id, **_who(request))
    return run.id


def _summary(request: Request, slug: str, phase: str) -> dict[str, Any] | None:
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        run = find_session_run(session, request, davis_phase)
        samples = davis_samples(session, run)
    if run.state != "over":
        return None
    if run.fault:
        raise http_errors.closed(run.fault)
    is_shown = may_see_scores(davis_phase, run, site.now())
    if is_shown:
        summary = published_summary(site.folder.run_folders.fetch(run.id), davis_phase, samples)
    else:
        summary = empty_summary(davis_phase)
    return {**summary, "session_key": request.headers["session-key"]}


def _candidates(sent: _Interaction, shape: Shape) -> list[int] | None:
    """Return the frames from which the robot chooses the worst; unknown frames are ignored, None means all."""
    raw = bytes(sent.next_scribble_frame_candidates)
    try:
        if len(raw) > _MOST_CANDIDATES_BYTES:
            raise http_errors.too_large(_MOST_CANDIDATES_BYTES)
        frames = msgspec.json.decode(raw, type=list[int] | None)
    except msgspec.MsgspecError as error:
        raise http_errors.invalid(f"next_scribble_frame_candidates: {str(error)[:200]}") from error
    known = {frame for frame in frames or () if 0 <= frame < shape[0]}
    return sorted(known) or None


def _turn_id(sample: DavisSample, interaction: int) -> str:
    return f"published-{sample.place.number}-{sample.number}-{interaction}"


def _key(turn: Any) -> TurnKey:
    return turn.run_id, turn.place, turn.number


def _who(request: Request) -> dict[str, Any]:
    visitor = visitor_of(request)
    return {"person_id": visitor.person_id, "address": visitor.address}
