"""The page for adding and removing organisers of a challenge."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server.auth.challenge_organisers import (
    add_organiser,
    organisers_of,
    remove_organiser,
)
from segarena_server.auth.permissions import require_organiser_of, site_of, visitor_of
from segarena_server.challenges.challenge_repository import cached_info, find_challenge
from segarena_server.http.request_body import Form
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)


@router.get("/organise/challenges/{slug}/organisers")
@require_organiser_of("slug")
def show_organisers(request: Request, slug: str) -> Response:
    """Show the organisers of a challenge, with a form to add one."""
    return _organisers(request, slug)


@router.post("/organise/challenges/{slug}/organisers")
@require_organiser_of("slug")
def change_organisers(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Add an organiser by name, or remove one."""
    site = site_of(request)
    visitor = visitor_of(request)
    change = remove_organiser if form.get("do") == "remove" else add_organiser
    by = {"person_id": visitor.person_id, "address": visitor.address}
    name = form.get("name", "")
    try:
        with site.database.writing() as session:
            challenge = find_challenge(session, slug)
            person = change(session, challenge, name, site.now(), by)
    except InvalidInput as error:
        return _organisers(request, slug, name=name, fault=str(error))
    is_own_removal = change is remove_organiser and person.id == visitor.person_id
    if is_own_removal and not visitor.may("admin"):
        return RedirectResponse("/organise#challenges", 303)
    return RedirectResponse(f"/organise/challenges/{slug}/organisers", 303)


def _organisers(
    request: Request,
    slug: str,
    *,
    name: str = "",
    fault: str = "",
) -> Response:
    with site_of(request).database.reading() as session:
        challenge = find_challenge(session, slug)
        organisers = organisers_of(session, challenge)
    return render_page(
        request,
        "challenge_organisers.html",
        title="Organisers",
        status=422 if fault else 200,
        challenge=challenge,
        shown=cached_info(challenge.description),
        organisers=organisers,
        name=name,
        fault=fault,
    )
