"""The team page: members, founding, inviting, joining and leaving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server.audit_log import record_event
from segarena_server.auth import teams
from segarena_server.auth.accounts import clean_name
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.db.orm_models import Person, Team
from segarena_server.http.request_body import Form
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)


@router.get("/team")
@require_role("participant")
def show_team(request: Request, invitation: str = "") -> Response:
    """Show the visitor's team; with an invitation, also the consequences of joining."""
    return _team_page(request, invitation=invitation)


@router.post("/team")
@require_role("participant")
def make_team(request: Request, form: Form) -> Response:
    """Create a team with the visitor as its first member."""
    name = clean_name(form.get("name", ""))
    return _changed(
        request,
        "team made",
        lambda session, person, now: teams.make_team(session, person, name, now),
    )


@router.post("/team/invitations")
@require_role("participant")
def invite_to_team(request: Request, form: Form) -> Response:
    """Create an invitation to the visitor's team and show its link once."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        person = session.get_one(Person, visitor.person_id)
        text = teams.invite_to(session, person, site.now())
        _note(session, request, "team invitation made", person.team_id)
    return _team_page(request, link=f"{site.settings.address}/team?invitation={text}")


@router.post("/team/join")
@require_role("participant")
def join_team(request: Request, form: Form) -> Response:
    """Join the team of an invitation."""
    text = form.get("invitation", "")
    return _changed(
        request, "team joined", lambda session, person, now: teams.join(session, person, text, now)
    )


@router.post("/team/leave")
@require_role("participant")
def leave_team(request: Request, form: Form) -> Response:
    """Leave the team; it keeps its runs."""
    return _changed(request, "team left", teams.leave)


def _changed(
    request: Request,
    action: str,
    change: Callable[[Session, Person, float], Team],
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        person = session.get_one(Person, visitor.person_id, with_for_update=True)
        before = person.team_id
        after = change(session, person, site.now())
        _note(session, request, action, before if action == "team left" else after.id)
    return RedirectResponse("/team", 303)


def _note(
    session: Session,
    request: Request,
    action: str,
    team_id: int,
) -> None:
    """Log a change with the team's id instead of its name, because some teams are named after people."""
    visitor = visitor_of(request)
    now = site_of(request).now()
    record_event(
        session,
        now,
        action,
        f"team {team_id}",
        person_id=visitor.person_id,
        address=visitor.address,
    )


def _team_page(
    request: Request,
    *,
    invitation: str = "",
    link: str = "",
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        person = session.get_one(Person, visitor.person_id)
        team = session.get_one(Team, person.team_id)
        context: dict[str, Any] = {
            "team": team,
            "is_of_one": teams.is_personal_team(person, team),
            "members": [member.name for member in teams.members_of(session, team.id)],
            "invited": teams.invited_to(session, invitation, site.now()) if invitation else None,
        }
    title = "Team" if context["is_of_one"] else team.name
    return render_page(
        request,
        "team.html",
        title=title,
        link=link,
        invitation=invitation,
        **context,
    )
