"""What an organiser looks at before anybody wins: what prompts gave away, and runs that look like one."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.server import refusals
from segarena.server.audit import note
from segarena.server.auditing import BLIND, audit_of
from segarena.server.bodies import Form
from segarena.server.challenges import description_of, find_challenge
from segarena.server.jobs.posting import post
from segarena.server.pages.rendering import page
from segarena.server.runs import FIND
from segarena.server.tables import Run
from segarena.server.visitors import needs, site_of, visitor_of

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/audit")
@needs("organiser")
def show_audit(request: Request, slug: str) -> Response:
    """Show what was found about the runs of a challenge."""
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        found = audit_of(session, challenge)
    told: dict[str, Any] = {"challenge": challenge, "found": found, "blind": BLIND}
    return page(request, "audit.html", title=f"Audit of {description_of(challenge).title}", **told)


@router.post("/organise/runs/{run_id}/audit")
@needs("organiser")
def find_again(request: Request, run_id: str, form: Form) -> Response:
    """Have what is to be known about a run found once more."""
    site, visitor = site_of(request), visitor_of(request)
    with site.database.writing() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise refusals.unknown()
        if run.state != "over":
            raise refusals.conflict("the run is not over yet: all is found out when it ends")
        post(session, FIND, run.id, site.now())
        note(session, site.now(), "run looked at again", run.id, person_id=visitor.person_id, address=visitor.address)
    site.hurry()
    return RedirectResponse(f"/runs/{run_id}", 303)
