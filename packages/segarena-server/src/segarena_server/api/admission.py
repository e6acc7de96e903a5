"""API routes for admission to a challenge: its terms, and requests for approval."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import find_challenge
from segarena_server.db.orm_models import Challenge, Person
from segarena_server.http.request_body import read_json
from segarena_server.runs.admission import accept_terms, admission_of, request_to_join

router = APIRouter(prefix="/api/v1")


class _AcceptanceBody(msgspec.Struct, forbid_unknown_fields=True):
    version: int


class _RequestBody(msgspec.Struct, forbid_unknown_fields=True):
    message: str = ""


@router.get("/challenges/{slug}/admission")
@require_role("participant")
def show_admission(request: Request, slug: str) -> Response:
    """Return a challenge's terms, whether the participant has accepted them, and whether their team is approved."""
    with site_of(request).database.reading() as session:
        return _admission(session, request, find_challenge(session, slug))


@router.post("/challenges/{slug}/terms")
@require_role("participant")
async def post_acceptance(request: Request, slug: str) -> Response:
    """Accept the version of the terms that the request body names."""
    body = await read_json(request, _AcceptanceBody)
    return await run_in_threadpool(_accept, request, slug, body.version)


@router.post("/challenges/{slug}/join")
@require_role("participant")
async def post_join_request(request: Request, slug: str) -> Response:
    """Ask the organisers to approve the participant's team; repeat this only after a decline."""
    body = await read_json(request, _RequestBody)
    return await run_in_threadpool(_ask_to_join, request, slug, body.message)


def _accept(
    request: Request,
    slug: str,
    number: int,
) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        person_id = visitor_of(request).person_id or 0
        accept_terms(session, challenge, person_id, number, site.now())
        return _admission(session, request, challenge)


def _ask_to_join(
    request: Request,
    slug: str,
    message: str,
) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        person = session.get_one(Person, visitor_of(request).person_id)
        request_to_join(session, challenge, person, message, site.now())
        return _admission(session, request, challenge)


def _admission(
    session: Session,
    request: Request,
    challenge: Challenge,
) -> Response:
    admission = admission_of(session, challenge, visitor_of(request).person_id or 0)
    terms: dict[str, Any] | None = None
    if admission.terms is not None:
        terms = {
            "version": admission.terms.number,
            "text": admission.terms.text,
            "is_accepted": admission.accepted_at is not None,
        }
    request_row = admission.request
    return JSONResponse(
        {
            "terms": terms,
            "needs_approval": admission.needs_approval,
            "request": "" if request_row is None else request_row.state,
            "reason": "" if request_row is None else request_row.reason,
        }
    )
