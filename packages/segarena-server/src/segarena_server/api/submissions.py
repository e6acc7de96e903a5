"""API routes for submissions that the server evaluates: masks, run folders, programs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from segarena.files.hashes import sha256
from segarena.protocol.challenge_info import ParticipationMode
from segarena_server import http_errors
from segarena_server.api.submission_status import submission_status
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import find_challenge, find_phase
from segarena_server.challenges.description import Phase
from segarena_server.db.orm_models import Challenge
from segarena_server.http.request_body import check_digest, read_body
from segarena_server.runs.run_repository import RunRequest
from segarena_server.runs.submissions import (
    SUBMISSION_KINDS,
    IncomingSubmission,
    check_may_send,
    own_submission,
    store_submission,
)
from segarena_server.site import Site

router = APIRouter(prefix="/api/v1")


class _SubmissionHeader(msgspec.Struct, forbid_unknown_fields=True):
    kind: ParticipationMode
    name: Annotated[str, msgspec.Meta(min_length=1)]
    segmenter: str = ""
    note: str = ""
    run: str = ""


@router.post("/challenges/{slug}/phases/{phase}/sent/{submission_id}", status_code=202)
@require_role("participant")
async def send(
    request: Request,
    slug: str,
    phase: str,
    submission_id: str,
) -> Response:
    """Receive a submission; repeating the request changes nothing. Limits are checked before the body is read."""
    about = _about(request)
    came = IncomingSubmission(
        asked=_asked(submission_id, about),
        run_id=about.run,
        sha256="",
        size=0,
    )
    # The hash and size are unknown before the body arrives; this check covers dates and quotas.
    await run_in_threadpool(_check, request, slug, phase, came)
    body = await read_body(request, max_upload_bytes(site_of(request)))
    check_digest(request, body)
    return await run_in_threadpool(store_upload, request, (slug, phase), came, body)


@router.get("/sent/{submission_id}")
@require_role("participant")
def get_submission(request: Request, submission_id: str) -> Response:
    """Return the status of a submission: errors in it, or the progress of its evaluation."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        return JSONResponse(
            submission_status(session, own_submission(session, submission_id, visitor.person_id))
        )


def max_upload_bytes(site: Site) -> int:
    """Return the maximum size of an uploaded file in bytes."""
    return int(site.settings.sent.file_mb * 2**20)


def store_upload(
    request: Request,
    where: tuple[str, str],
    came: IncomingSubmission,
    body: bytes,
) -> Response:
    """Check and store an uploaded file; it is on disk when the function returns."""
    site = site_of(request)
    visitor = visitor_of(request)
    if not body:
        raise http_errors.invalid("expected a file in the body, got an empty body")
    came = IncomingSubmission(
        asked=came.asked,
        run_id=came.run_id,
        sha256=sha256(body),
        size=len(body),
    )
    with site.database.reading() as session:
        known = check_may_send(
            session, site, *_found(session, *where), visitor.person_id or 0, came
        )
        if known is not None:
            return JSONResponse(submission_status(session, known), 202)
    # Outside a transaction, because writing hundreds of megabytes would block all other writers. If
    # the second check fails, the file remains without a row, which does no harm.
    site.folder.sent.keep(body)
    with site.database.writing() as session:
        sent = store_submission(
            session, site, *_found(session, *where), visitor.person_id or 0, came
        )
        answer = submission_status(session, sent)
    site.hurry()
    return JSONResponse(answer, 202)


def _check(
    request: Request,
    slug: str,
    phase: str,
    came: IncomingSubmission,
) -> None:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        check_may_send(session, site, *_found(session, slug, phase), visitor.person_id or 0, came)


def _found(
    session: Session,
    slug: str,
    phase: str,
) -> tuple[Challenge, Phase]:
    challenge = find_challenge(session, slug)
    return challenge, find_phase(challenge, phase)


def _about(request: Request) -> _SubmissionHeader:
    try:
        about = msgspec.convert(dict(request.query_params), _SubmissionHeader)
    except msgspec.ValidationError as error:
        raise http_errors.invalid(f"expected ?kind=...&name=...: {error}") from error
    if about.kind not in SUBMISSION_KINDS:
        raise http_errors.invalid(
            f"kind: expected one of {', '.join(SUBMISSION_KINDS)}, got {about.kind}"
        )
    if (about.kind == "masks") != bool(about.run):
        raise http_errors.invalid(
            "run: expected the id of a run for kind=masks, and no run for other kinds"
        )
    return about


def _asked(submission_id: str, about: _SubmissionHeader) -> RunRequest:
    return RunRequest(
        id=submission_id,
        name=about.name,
        segmenter=about.segmenter,
        note=about.note,
        kind=about.kind,
    )
