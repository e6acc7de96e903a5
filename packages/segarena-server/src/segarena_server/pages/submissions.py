"""Pages for submitting files for evaluation on the server, and for their status."""

from __future__ import annotations

import uuid
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.api.submission_status import submission_status
from segarena_server.api.submissions import max_upload_bytes, store_upload
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.auth.teams import team_of
from segarena_server.challenges.challenge_repository import find_challenge, find_phase
from segarena_server.db.orm_models import Challenge, Person
from segarena_server.http.request_body import read_upload
from segarena_server.pages.rendering import render_page
from segarena_server.runs.run_repository import RunRequest, next_run_unranked
from segarena_server.runs.submissions import (
    SUBMISSION_KINDS,
    IncomingSubmission,
    own_submission,
    own_submissions,
    runs_without_masks,
)

router = APIRouter(include_in_schema=False)


@router.get("/challenges/{slug}/{phase}/send")
@require_role("participant")
def show_sending(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Show the upload form of a phase that accepts submissions."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        challenge = find_challenge(session, slug)
        found = find_phase(challenge, phase)
        open_runs = runs_without_masks(session, challenge, found, visitor.person_id)
        team_id = team_of(session, visitor.person_id or 0)
        unranked = next_run_unranked(session, challenge, found, team_id, site.now())
    ways = [way for way in found.takes if way in SUBMISSION_KINDS]
    if not ways:
        raise http_errors.unknown()
    shown: dict[str, Any] = {
        "challenge": challenge,
        "phase": found,
        "ways": ways,
        "runs": open_runs,
        "unranked": unranked if ways != ["masks"] else "",
        # The id is fixed when the form is shown, so that sending it twice makes one submission.
        "id": str(uuid.uuid4()),
    }
    address = f"{site.settings.address}/challenges/{slug}/{phase}"
    most_mb = max_upload_bytes(site) / 2**20
    return render_page(
        request,
        "submission_form.html",
        title=f"Submit to {found.name}",
        address=address,
        most_mb=most_mb,
        **shown,
    )


@router.post("/challenges/{slug}/{phase}/send")
@require_role("participant")
async def send(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Receive a submission from the upload form."""
    fields, content = await read_upload(request, max_upload_bytes(site_of(request)))
    kind = fields.get("kind", "")
    if kind not in SUBMISSION_KINDS:
        raise http_errors.invalid("kind: choose the kind of submission")
    asked = RunRequest(
        id=fields.get("id", ""),
        name=fields.get("name", "").strip() or kind,
        segmenter=fields.get("segmenter", ""),
        note=fields.get("note", ""),
        kind=kind,
    )
    incoming = IncomingSubmission(
        asked=asked,
        run_id=fields.get("run", "") if kind == "masks" else "",
        sha256="",
        size=0,
    )
    await run_in_threadpool(store_upload, request, (slug, phase), incoming, content)
    return RedirectResponse(f"/sent/{asked.id}", 303)


@router.get("/sent")
@require_role("participant")
def list_sent(request: Request) -> Response:
    """List the visitor's submissions."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = [
            (sent, session.get_one(Challenge, sent.challenge_id), submission_status(session, sent))
            for sent in own_submissions(session, visitor.person_id)
        ]
    return render_page(request, "submissions.html", title="My submissions", sent=found)


@router.get("/sent/{submission_id}")
@require_role("participant")
def show_sent(request: Request, submission_id: str) -> Response:
    """Show the status of a submission."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        sent = own_submission(
            session, submission_id, visitor.person_id, organises=visitor.organises
        )
        challenge = session.get_one(Challenge, sent.challenge_id)
        person = session.get_one(Person, sent.person_id)
        state = submission_status(session, sent)
    own: dict[str, Any] = {
        "is_own": sent.person_id == visitor.person_id,
        "is_organiser": visitor.organises(sent.challenge_id),
    }
    return render_page(
        request,
        "submission.html",
        title=sent.name,
        sent=sent,
        status_of_submission=state,
        challenge=challenge,
        person=person,
        **own,
    )
