"""The published endpoints, each below `/davis/CHALLENGE/PHASE/`, which clients set as their host.

Source: the server of the DAVIS Interactive Challenge, as its clients see it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response

from segarena.protocol.turns import TurnHeader, pack_coco_turn, pack_turn
from segarena.samples import Shape
from segarena.systems.videos.scribbles.files import no_scribbles
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.permissions import ANYONE, require_role, site_of, visitor_of
from segarena_server.auth.teams import team_of
from segarena_server.challenges.interfaces import Interface
from segarena_server.challenges.turn_time_accounting import arrival
from segarena_server.clock import Moment
from segarena_server.davis.challenge_compatibility import (
    DavisPhase,
    check_davis_challenge,
    find_davis_phase,
)
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
from segarena_server.davis.error_responses import published_error
from segarena_server.davis.leaderboard import finished_runs, leaderboard
from segarena_server.davis.scores import (
    empty_summary,
    may_see_scores,
    published_report,
    published_summary,
)
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import AuditEvent, Run, TurnKey
from segarena_server.http.request_body import read_body
from segarena_server.runs.run_repository import next_run_unranked, request_end
from segarena_server.runs.turn_service import take_turn, wait_for_reply

router = APIRouter(prefix="/davis/{slug}/{phase}", include_in_schema=False)
INTERFACE = Interface(
    title="the published package davisinteractive",
    router=router,
    token_header="user-key",  # noqa: S106 - the name of a header
    refusal=published_error,
    check=check_davis_challenge,
)

MAGIC = 23
"""Constant by which clients recognise a server."""

PATIENCE_S = 900.0
"""Seconds that a request may wait for its reply; long, because these clients cannot poll."""

_WARNED = "warned of a repeat"
_WARNING_LIFETIME_S = 86400.0

# Room for thousands of frame numbers; the field is parsed separately from the limited masks.
_MOST_CANDIDATES_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _PendingReply:
    """The turn whose reply contains the next scribbles, and the number of interactions up to it."""

    key: TurnKey
    interactions: int


class _Interaction(msgspec.Struct):
    sequence: Annotated[str, msgspec.Meta(max_length=1000)]
    scribble_idx: int
    pred_masks: msgspec.Raw
    timing: Annotated[float, msgspec.Meta(ge=0, le=1e9)]
    interaction: int
    next_scribble_frame_candidates: msgspec.Raw = msgspec.Raw(b"null")


@router.get("/api/healthcheck")
@require_role(ANYONE)
def tell_davis_health(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Identify the server and return the limits; a challenge that is not public looks like one that does not exist."""
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
def list_samples(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Start or find the run of the session; return its samples and the limits."""
    site = site_of(request)
    _warn_before_repeat(request, slug, phase)
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
    request: Request,
    slug: str,
    phase: str,
    sequence: str,
    number: str,
) -> Response:
    """Return the first scribbles of a sample, or the latest if it was started before.

    The sample's clock starts once the scribbles have been sent.
    """
    # More digits than any index has; int() is slow for long texts.
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise http_errors.invalid("expected the index of the scribbles, a whole number")
    locate = partial(_locate, request, slug, phase, sequence, int(number))
    davis_phase, sample, shape = await run_in_threadpool(locate)
    pending = await run_in_threadpool(_open_dialogue, request, sample)
    return await _scribbles_response(request, davis_phase, sample, shape, pending)


@router.post("/api/evaluation/interaction")
@require_role("participant")
async def take_masks(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Receive the masks of an interaction and return the simulated user's next scribbles."""
    await run_in_threadpool(_check_run, request, slug, phase)
    body = await read_body(request, int(site_of(request).settings.limits.body_mb * 2**20))
    # Before decoding, which must not count as the participant's time. These clients send no digest.
    arrived = arrival(request.state.arrived, Moment.now(), is_committed=False)
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
    turn = TurnHeader(id=_turn_id(sample, sent.interaction), client_s=sent.timing, silent=True)
    frame = pack_coco_turn(
        turn, sample.number, bytes(sent.pred_masks), shape, _candidates(sent, shape)
    )
    pending = await run_in_threadpool(_answer, request, sample, sent.interaction, frame, arrived)
    return await _scribbles_response(request, davis_phase, sample, shape, pending)


@router.get("/api/evaluation/report")
@require_role("participant")
def give_report(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Return a row for each interaction and object, or {} while the participant may not see scores."""
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        run = find_session_run(session, request, davis_phase)
    if not may_see_scores(davis_phase, run, site.now()):
        return JSONResponse({})
    return JSONResponse(
        published_report(
            site.folder.run_folders.fetch(run.id),
            davis_phase,
            request.headers["session-key"],
            is_closed=davis_phase.phase.is_closed(utc_datetime(site.now())),
        )
    )


@router.post("/api/evaluation/finish")
@require_role("participant")
async def finish_session(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """End the run of the session and return the summary, without scores that the phase hides."""
    run_id = await run_in_threadpool(_end, request, slug, phase)
    site_of(request).hurry()
    summary = await run_in_threadpool(_summary, request, slug, phase)
    # Clients expect the summary in this response, so the request waits for the job that ends the
    # run.
    until = time.monotonic() + PATIENCE_S
    with site_of(request).news.listen(run_id) as listener:
        while summary is None:
            if time.monotonic() > until or site_of(request).is_draining():
                raise http_errors.busy("the run is not evaluated yet; try again", 1.0)
            await listener.wait(0.5)
            summary = await run_in_threadpool(_summary, request, slug, phase)
    return JSONResponse(summary)


@router.get("/leaderboard/")
@require_role(ANYONE)
def show_leaderboard(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Return the best sessions to clients, which send a JSON content type; redirect browsers to the board."""
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


def _warn_before_repeat(
    request: Request,
    slug: str,
    phase: str,
) -> None:
    """Refuse the first session that would not be ranked, and state the reason; let the next one begin.

    The published client shows nothing but errors, so there is no other way to inform its user.

    Raises:
        Refusal: the session would not be ranked, and the person was not warned within the last day.
    """
    site = site_of(request)
    person_id = visitor_of(request).person_id or 0
    about = f"{slug}/{phase}"
    now = site.now()
    with site.database.writing() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        if session.get(Run, run_id_of(request)) is not None:
            return
        reason = next_run_unranked(
            session, davis_phase.challenge, davis_phase.phase, team_of(session, person_id), now
        )
        warnings = select(AuditEvent.id).where(
            AuditEvent.person_id == person_id,
            AuditEvent.action == _WARNED,
            AuditEvent.about == about,
            AuditEvent.at > now - _WARNING_LIFETIME_S,
        )
        if not reason or session.scalar(warnings.limit(1)) is not None:
            return
        record_event(session, now, _WARNED, about, **_who(request))
    raise http_errors.conflict(
        f"this session would not be ranked: it would be {reason}. Nothing has begun; "
        "to take part anyway, start it again within a day"
    )


def _limits(davis_phase: DavisPhase) -> dict[str, Any]:
    return {
        "max_time": davis_phase.most_seconds,
        "max_interactions": davis_phase.rules.rounds,
        "metric_to_optimize": davis_phase.metric,
    }


def _locate(
    request: Request,
    slug: str,
    phase: str,
    sequence: str,
    number: int,
) -> tuple[DavisPhase, DavisSample, Shape]:
    site = site_of(request)
    with site.database.reading() as session:
        davis_phase = find_davis_phase(session, slug, phase)
        sample = find_davis_sample(
            session, find_session_run(session, request, davis_phase), sequence, number
        )
    return davis_phase, sample, stored_sample_shape(site.folder.samples, sample.place.sha256)


def _check_run(
    request: Request,
    slug: str,
    phase: str,
) -> None:
    with site_of(request).database.reading() as session:
        find_session_run(session, request, find_davis_phase(session, slug, phase))


def _open_dialogue(request: Request, sample: DavisSample) -> _PendingReply | None:
    """Submit the turn that requests the first scribbles, if not done before; return None if the dialogue is over."""
    with site_of(request).database.reading() as session:
        sent = turns_about(session, sample)
    if sent.is_over:
        return None
    if sent.turns:
        return _PendingReply(key=_key(sent.turns[-1]), interactions=len(sent.turns) - 1)
    frame = pack_turn(TurnHeader(id=_turn_id(sample, 0), open=[sample.number], silent=True))
    place = sample.place
    key = take_turn(request, place.run_id, place.key, sent.next, frame, Moment.now())
    site_of(request).hurry()
    return _PendingReply(key=key, interactions=0)


def _answer(
    request: Request,
    sample: DavisSample,
    interaction: int,
    frame: bytes,
    arrived: Moment,
) -> _PendingReply | None:
    """Submit the answer of an interaction; return None if the dialogue is over and nothing more is evaluated."""
    with site_of(request).database.reading() as session:
        sent = turns_about(session, sample)
    if not sent.turns:
        raise http_errors.conflict("request the scribbles of this sample first")
    # A repeated request for an earlier interaction gets the stored reply of that turn.
    if interaction < len(sent.turns):
        number = sent.turns[interaction].number
    elif sent.is_over:
        return None
    elif interaction > len(sent.turns):
        raise http_errors.conflict(f"interaction: expected {len(sent.turns)}, got {interaction}")
    else:
        number = sent.next
    place = sample.place
    key = take_turn(request, place.run_id, place.key, number, frame, arrived)
    site_of(request).hurry()
    return _PendingReply(key=key, interactions=interaction)


async def _scribbles_response(
    request: Request,
    davis_phase: DavisPhase,
    sample: DavisSample,
    shape: Shape,
    pending: _PendingReply | None,
) -> Response:
    if pending is None:
        return JSONResponse(no_scribbles(sample.place.sample, shape[0]))
    packed_reply = await wait_for_reply(request, pending.key, PATIENCE_S)
    if packed_reply is None:
        raise http_errors.busy("this interaction is not evaluated yet; try again", 1.0)
    reply = reply_about(sample, packed_reply, shape)
    scribbles = next_scribbles(davis_phase, sample, reply, shape, pending.interactions)
    return JSONResponse(scribbles)


def _end(
    request: Request,
    slug: str,
    phase: str,
) -> str:
    site = site_of(request)
    with site.database.writing() as session:
        known = find_session_run(session, request, find_davis_phase(session, slug, phase))
        run = session.get_one(Run, known.id, with_for_update=True)
        if request_end(session, run, site.now()):
            record_event(session, site.now(), "run ended early", run.id, **_who(request))
    return run.id


def _summary(
    request: Request,
    slug: str,
    phase: str,
) -> dict[str, Any] | None:
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
        summary = published_summary(
            site.folder.run_folders.fetch(run.id),
            davis_phase,
            samples,
            is_closed=davis_phase.phase.is_closed(utc_datetime(site.now())),
        )
    else:
        summary = empty_summary(davis_phase)
    return {**summary, "session_key": request.headers["session-key"]}


def _candidates(sent: _Interaction, shape: Shape) -> list[int] | None:
    """Return the candidate frames for the next scribbles, ignoring unknown frames; None means all frames."""
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
