"""Pages of the integrity audit: information leaked by prompts, and near-duplicate runs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.permissions import (
    record_visitor_event,
    require_organiser_of,
    site_of,
)
from segarena_server.challenges.challenge_repository import description_of, find_challenge
from segarena_server.challenges.integrity_audit import (
    BLIND_IOU_NOTE,
    KNOWLEDGE_NOTE,
    audit_challenge,
)
from segarena_server.db.orm_models import Run
from segarena_server.http.request_body import Form
from segarena_server.jobs.job_queue import AUDIT_RUN, enqueue_job
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/audit")
@require_organiser_of("slug")
def show_audit(request: Request, slug: str) -> Response:
    """Show the audit of a challenge's runs."""
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        found = audit_challenge(session, challenge)
    context: dict[str, Any] = {
        "challenge": challenge,
        "found": found,
        "blind": BLIND_IOU_NOTE,
        "knowledge": KNOWLEDGE_NOTE,
    }
    return render_page(
        request, "audit.html", title=f"Audit of {description_of(challenge).title}", **context
    )


@router.post("/organise/runs/{run_id}/audit")
@require_organiser_of("run_id")
def audit_again(
    request: Request,
    run_id: str,
    form: Form,
) -> Response:
    """Enqueue another audit of a run."""
    site = site_of(request)
    with site.database.writing() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise http_errors.unknown()
        if run.state != "over":
            raise http_errors.conflict("the run is not over yet; its audit starts when it ends")
        enqueue_job(session, AUDIT_RUN, run.id, site.now())
        record_visitor_event(request, session, "run audited again", run.id)
    site.hurry()
    return RedirectResponse(f"/runs/{run_id}", 303)
