"""Pages of the integrity audit: information leaked by prompts, and near-duplicate runs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server.audit_log import record_event
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import description_of, find_challenge
from segarena_server.challenges.integrity_audit import BLIND_IOU_NOTE, audit_challenge
from segarena_server.db.orm_models import Run
from segarena_server.http import http_errors
from segarena_server.http.request_body import Form
from segarena_server.jobs.job_queue import AUDIT_RUN, enqueue_job
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/audit")
@require_role("organiser")
def show_audit(request: Request, slug: str) -> Response:
    """Show what was found about the runs of a challenge."""
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        found = audit_challenge(session, challenge)
    told: dict[str, Any] = {"challenge": challenge, "found": found, "blind": BLIND_IOU_NOTE}
    return render_page(
        request, "audit.html", title=f"Audit of {description_of(challenge).title}", **told
    )


@router.post("/organise/runs/{run_id}/audit")
@require_role("organiser")
def find_again(request: Request, run_id: str, form: Form) -> Response:
    """Have what is to be known about a run found once more."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise http_errors.unknown()
        if run.state != "over":
            raise http_errors.conflict("the run is not over yet: all is found out when it ends")
        enqueue_job(session, AUDIT_RUN, run.id, site.now())
        record_event(
            session,
            site.now(),
            "run looked at again",
            run.id,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    site.hurry()
    return RedirectResponse(f"/runs/{run_id}", 303)
