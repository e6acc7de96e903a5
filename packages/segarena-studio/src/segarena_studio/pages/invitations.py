"""Invitations to a project: the form for its leads, and the page on which people accept."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena.reports.wording import count_text
from segarena_server import http_errors
from segarena_server.auth.permissions import ANYONE, require_role, site_of, visitor_of
from segarena_server.db.orm_models import Person
from segarena_server.http.request_body import Form, LargeForm
from segarena_server.public_address import find_address
from segarena_server.site import Site
from segarena_studio.annotation.access import find_project
from segarena_studio.annotation.invitations import (
    InvitationResult,
    ProjectInvitation,
    accept_invitation,
    find_invitation,
    find_pending_invitation,
    invite_people,
    split_entries,
)
from segarena_studio.orm_models import Project
from segarena_studio.pages.form_errors import rejected_in_form
from segarena_studio.pages.projects import log_action, rejected_settings, settings_page
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)
_JOIN = "/studio/join"


@router.post("/studio/projects/{project_id:int}/invite")
@require_role("participant")
@rejected_in_form("invite", rejected_settings)
def invite_list(
    request: Request,
    project_id: int,
    form: LargeForm,
) -> Response:
    """Add accounts by name, and create invitation links for e-mail addresses; show the links once."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        result = invite_people(
            session,
            site,
            project,
            split_entries(form.get("people", "")),
            form.get("role", "annotator"),
            site.now(),
            may_create_accounts=visitor.may("organiser"),
        )
        if not (result.added or result.known or result.keys):
            entry, reason = result.refused[0]
            raise InvalidInput(reason if entry in reason else f"{entry}: {reason}")
        invited = f"{len(result.added)} added, {count_text(len(result.keys), 'link')}"
        log_action(session, request, "project members", project, invited)
    return settings_page(
        request, project_id, invited=result, letters=_letters(site, project, result)
    )


@router.get(_JOIN)
@require_role(ANYONE)
def show_invitation(request: Request, invitation: str = "") -> Response:
    """Show an invitation to a project: the one in the link, or the one that created the visitor's account."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = _find(session, site, visitor.person_id, invitation)
    if found is None:
        raise http_errors.unknown()
    return studio_page(
        request,
        "join.html",
        title=f"Join {found.project.name}",
        project=found.project,
        role=found.role,
        invitation=invitation,
    )


@router.post(_JOIN)
@require_role("participant")
def join(request: Request, form: Form) -> Response:
    """Accept an invitation and open the project."""
    site = site_of(request)
    person_id = visitor_of(request).person_id
    with site.database.writing() as session:
        found = _find(session, site, person_id, form.get("invitation", ""))
        if found is None or person_id is None:
            raise http_errors.unknown()
        person = session.get_one(Person, person_id)
        accept_invitation(session, found, person, site.now())
        log_action(session, request, "project members", found.project, "invitation accepted")
    return RedirectResponse(f"/studio/projects/{found.project.id}", 303)


def _find(
    session: Session,
    site: Site,
    person_id: int | None,
    text: str,
) -> ProjectInvitation | None:
    if text:
        return find_invitation(session, site, text)
    return None if person_id is None else find_pending_invitation(session, site, person_id)


def _letters(
    site: Site,
    project: Project,
    result: InvitationResult,
) -> list[tuple[str, str, str]]:
    """Return address, link and `mailto:` link of each invitation."""
    server = find_address(site)
    letters: list[tuple[str, str, str]] = []
    for address, key in result.keys:
        link = f"{server}{_JOIN}?{urlencode({'invitation': key})}"
        subject = quote(f"Annotate in {project.name}")
        body = quote(
            f"You are invited to the project {project.name}. Open this link to join:\n\n{link}\n"
        )
        letters.append((address, link, f"mailto:{quote(address)}?subject={subject}&body={body}"))
    return letters
