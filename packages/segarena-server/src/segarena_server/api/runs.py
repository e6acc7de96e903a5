"""API routes for runs: start, status, samples, end and scores."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, JSONResponse, Response

from segarena.protocol.message_frames import CONTENT_TYPE
from segarena_server.api.queue_position import run_queue_position, turn_queue_position
from segarena_server.audit_log import record_event
from segarena_server.auth.permissions import Visitor, require_role, site_of, visitor_of
from segarena_server.auth.teams import team_of
from segarena_server.challenges.challenge_repository import find_challenge, find_phase, pool_of
from segarena_server.db.orm_models import Challenge, Run, Team
from segarena_server.http.request_body import read_json
from segarena_server.runs.delayed_replies import as_participant_sees, delayed_turns
from segarena_server.runs.phase_leaderboard import board_cache, rank_of
from segarena_server.runs.run_repository import (
    INTERACTIVE_KINDS,
    RunRequest,
    create_run,
    find_run_sample,
    next_run_unranked,
    own_run,
    request_end,
    run_samples,
)
from segarena_server.runs.scores import visible_scores, withheld_reason
from segarena_server.runs.turn_repository import charged_seconds

router = APIRouter(prefix="/api/v1")


class _RunBody(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    name: str
    segmenter: str = ""
    note: str = ""
    kind: Literal["dialogue", "masks"] = "dialogue"


@router.post("/challenges/{slug}/phases/{phase}/runs", status_code=201)
@require_role("participant")
async def begin_run(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Start a run and return its samples, each with a key and its dialogues."""
    body = await read_json(request, _RunBody)
    asked = RunRequest(
        id=body.id,
        name=body.name,
        segmenter=body.segmenter,
        note=body.note,
        kind=body.kind,
    )
    return await run_in_threadpool(_begin, request, slug, phase, asked)


@router.get("/challenges/{slug}/phases/{phase}/next-run")
@require_role("participant")
def show_next_run(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Return whether the visitor's team may start a run, and the reason if that run would be unranked."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        challenge = find_challenge(session, slug)
        found = find_phase(challenge, phase)
        team_id = team_of(session, visitor.person_id or 0)
        unranked = next_run_unranked(session, challenge, found, team_id, site.now())
    return JSONResponse({"may_begin": unranked is not None, "unranked": unranked or ""})


@router.get("/runs/{run_id}")
@require_role("participant")
def get_run(request: Request, run_id: str) -> Response:
    """Return the description and the progress of a run."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        run = own_run(session, run_id, visitor.person_id)
        return JSONResponse(_description(session, run) | _progress(session, run, site.now()))


@router.get("/runs/{run_id}/samples/{key}")
@require_role("participant")
def give_sample(
    request: Request,
    run_id: str,
    key: str,
) -> Response:
    """Return a sample without its ground truth."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        place = find_run_sample(session, own_run(session, run_id, visitor.person_id).id, key)
    # The hash of the content identifies the sample, so clients may cache it without asking again.
    headers = {"etag": f'"{place.sha256}"', "cache-control": "private, max-age=31536000, immutable"}
    # The header may list several tags.
    if place.sha256 in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return FileResponse(
        site.folder.samples.fetch(place.sha256), media_type=CONTENT_TYPE, headers=headers
    )


@router.post("/runs/{run_id}/finish")
@require_role("participant")
def finish_run(request: Request, run_id: str) -> Response:
    """End a run early; dialogues that are still open fail."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        run = own_run(session, run_id, visitor.person_id)
        if request_end(session, run, site.now()):
            record_event(session, site.now(), "run ended early", run.id, **_log_fields(visitor))
    site.hurry()
    return JSONResponse({"id": run.id, "state": run.state})


@router.get("/runs/{run_id}/scores")
@require_role("participant")
def get_scores(request: Request, run_id: str) -> Response:
    """Return the scores of a run and the rank of its team; values that the phase hides are null."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        run = own_run(session, run_id, visitor.person_id)
        challenge = session.get_one(Challenge, run.challenge_id)
        phase = find_phase(challenge, run.phase)
        # Even an organiser sees only the public board here: clients of participants show this rank.
        shown = board_cache(site).of(session, challenge, phase, site.now(), sees_all=False)
        if shown is None:
            found = None
        else:
            found = rank_of(shown.board, session.get_one(Team, run.team_id).name)
        run = as_participant_sees(session, run, delayed_turns(session, [run.id], site.now()))
    place, count = found or (None, None)
    if found:
        page = f"{site.settings.address}/challenges/{challenge.slug}/{phase.name}/board"
    else:
        page = None
    scores = visible_scores(run, phase, site.now())
    why = withheld_reason(run, phase, site.now())
    told = {
        "id": run.id,
        "state": run.state,
        "scores": scores,
        "why": why,
        "unranked": run.unranked,
    }
    return JSONResponse(told | {"place": place, "of": count, "board": page})


def _begin(
    request: Request,
    slug: str,
    phase_name: str,
    asked: RunRequest,
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        phase = find_phase(challenge, phase_name)
        run = create_run(session, challenge, phase, visitor.person_id or 0, asked, site.now())
        record_event(
            session,
            site.now(),
            "run begun",
            f"{slug}/{phase.name} {run.id}",
            **_log_fields(visitor),
        )
        told = _description(session, run)
    return JSONResponse(told, 201)


def _description(session: Session, run: Run) -> dict[str, Any]:
    """Return the constant part of a run's description, for its participant."""
    challenge = session.get_one(Challenge, run.challenge_id)
    phase = find_phase(challenge, run.phase)
    samples = pool_of(session, challenge, run.pool)
    places = [
        {
            "key": place.key,
            "bytes": place.bytes,
            "sha256": place.sha256,
            "dialogues": json.loads(samples[place.sample].dialogues),
        }
        # Submissions are evaluated on the server, so their participants need no sample keys.
        for place in (run_samples(session, run.id) if run.kind in INTERACTIVE_KINDS else ())
    ]
    closes = phase.closes.isoformat() if phase.closes else None
    return {
        "id": run.id,
        "challenge": challenge.slug,
        "phase": run.phase,
        "kind": run.kind,
        "places": places,
        "shows": phase.shows,
        "unranked": run.unranked,
    } | {"closes": closes}


def _progress(
    session: Session,
    run: Run,
    now: float,
) -> dict[str, Any]:
    """Return the progress and the queue position of a run."""
    untold = delayed_turns(session, [run.id], now)
    places = run_samples(session, run.id) if run.kind in INTERACTIVE_KINDS else []
    over = [
        place.key
        for place in places
        # A sample whose last reply is still withheld must not look finished.
        if place.state == "over" and (run.id, place.number) not in untold
    ]
    if untold:
        queue = turn_queue_position(session, next(iter(untold.values())))
    else:
        queue = run_queue_position(session, run)
    told = {
        "state": as_participant_sees(session, run, untold).state,
        "fault": run.fault,
        "places_over": over,
        "queue": queue,
    }
    return told | {"spent_s": round(charged_seconds(session, run.id), 3)}


def _log_fields(visitor: Visitor) -> dict[str, Any]:
    return {"person_id": visitor.person_id, "address": visitor.address}
