"""Forms for admission to a challenge, and the page on which its organisers decide about teams."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.auth.permissions import (
    require_organiser_of,
    require_role,
    site_of,
    visitor_of,
)
from segarena_server.challenges.challenge_repository import (
    cached_info,
    description_of,
    find_challenge,
)
from segarena_server.db.orm_models import Person
from segarena_server.http.request_body import Form, number_in
from segarena_server.pages.rendering import render_page
from segarena_server.runs.admission import (
    MOST_MESSAGE_LENGTH,
    accept_terms,
    decide_request,
    join_requests,
    request_to_join,
)

router = APIRouter(include_in_schema=False)


@router.post("/challenges/{slug}/terms")
@require_role("participant")
def accept(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Accept the version of the terms that the form showed."""
    site = site_of(request)
    number = number_in(form.get("version", ""))
    if number is None:
        raise http_errors.invalid("version: expected the version of the terms on the page")
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        person_id = visitor_of(request).person_id or 0
        accept_terms(session, challenge, person_id, number, site.now())
    return RedirectResponse(f"/challenges/{slug}#take-part", 303)


@router.post("/challenges/{slug}/join")
@require_role("participant")
def ask_to_join(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Request the organisers' approval of the visitor's team."""
    site = site_of(request)
    with site.database.writing() as session:
        challenge = find_challenge(session, slug)
        person = session.get_one(Person, visitor_of(request).person_id)
        request_to_join(session, challenge, person, form.get("message", ""), site.now())
    return RedirectResponse(f"/challenges/{slug}#take-part", 303)


@router.get("/organise/challenges/{slug}/teams")
@require_organiser_of("slug")
def show_teams(request: Request, slug: str) -> Response:
    """Show the teams that requested to take part."""
    return _teams(request, slug)


@router.post("/organise/challenges/{slug}/teams")
@require_organiser_of("slug")
def decide(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Approve a team, or decline it with a reason."""
    site = site_of(request)
    visitor = visitor_of(request)
    team_id = number_in(form.get("team", ""))
    decision = form.get("do", "")
    if team_id is None or decision not in ("approve", "decline"):
        raise http_errors.invalid("expected a team and whether to approve or decline it")
    try:
        with site.database.writing() as session:
            decide_request(
                session,
                find_challenge(session, slug),
                team_id,
                is_approved=decision == "approve",
                reason=form.get("reason", ""),
                now=site.now(),
                by={"person_id": visitor.person_id, "address": visitor.address},
            )
    except InvalidInput as error:
        return _teams(request, slug, fault=str(error))
    return RedirectResponse(f"/organise/challenges/{slug}/teams", 303)


def _teams(
    request: Request,
    slug: str,
    *,
    fault: str = "",
) -> Response:
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        requests = join_requests(session, challenge)
    return render_page(
        request,
        "challenge_teams.html",
        title="Teams",
        status=422 if fault else 200,
        challenge=challenge,
        shown=cached_info(challenge.description),
        approves_teams=description_of(challenge).approves_teams,
        requests=requests,
        most_reason=MOST_MESSAGE_LENGTH,
        fault=fault,
    )
