"""Pages of challenges: the list, and the rules and board of each challenge."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.access_keys import tokens_of
from segarena_server.auth.permissions import ANYONE, Visitor, require_role, site_of, visitor_of
from segarena_server.auth.teams import team_of
from segarena_server.challenges.announcements import announcements_of
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    description_of,
    find_phase,
)
from segarena_server.challenges.description import ChallengeDescription, Phase
from segarena_server.challenges.description_images import markdown_images
from segarena_server.challenges.interfaces import interface_addresses
from segarena_server.challenges.markdown import render_markdown, render_prose
from segarena_server.challenges.run_sizes import warnings_about_ranks
from segarena_server.challenges.turn_time_accounting import TIME_RULE
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, Run
from segarena_server.pages.rendering import render_page
from segarena_server.runs.admission import (
    MOST_MESSAGE_LENGTH,
    Admission,
    admission_of,
    count_waiting_requests,
)
from segarena_server.runs.run_repository import next_run_unranked
from segarena_server.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/")
@require_role(ANYONE)
def show_home(request: Request) -> Response:
    """Show the challenges; to a new organiser, also the next steps."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = [one for one in all_challenges(session) if _may_see(one, visitor)]
        managed = [one for one in found if visitor.organises(one.id)]
        waiting_teams = count_waiting_requests(session, managed)
        counted = {
            "runs": _count(session, select(Run.id)),
            "people": _count(session, select(Person.id)),
            "waiting": _count(session, select(Person.id).where(Person.state == "waiting"))
            if visitor.may("organiser")
            else 0,
        }
        own = _own(session, site, visitor) if visitor.role == "participant" else None
    shown = [(challenge, cached_info(challenge.description)) for challenge in found]
    context: dict[str, Any] = {
        "challenges": shown,
        "own": own,
        "data": site.folder.path,
        "waiting_teams": waiting_teams,
        **counted,
    }
    return render_page(request, "home.html", title="Challenges", now=_now(site), **context)


@router.get("/challenges/{slug}")
@require_role(ANYONE)
def show_challenge(request: Request, slug: str) -> Response:
    """Show the rules of a challenge and how to take part."""
    site = site_of(request)
    visitor = visitor_of(request)
    challenge = visible_challenge(request, slug)
    shown = cached_info(challenge.description)
    with site.database.reading() as session:
        images = markdown_images(session, challenge)
        announcements = announcements_of(session, challenge)
        if visitor.person_id is not None and visitor.may("participant"):
            admission = admission_of(session, challenge, visitor.person_id)
        else:
            admission = None
    described = description_of(challenge)
    phases = description_of(challenge).phases if challenge.state == "open" else ()
    begun = [phase for phase in phases if phase.is_open(_now(site))]
    places = dialogue_places(described, begun)
    context: dict[str, Any] = {
        "challenge": challenge,
        "shown": shown,
        "description": render_markdown(shown.text, images),
        "announcements": [(one, render_prose(one.text, images, below=3)) for one in announcements],
        "commands": [
            f"segarena run -s my_model.py:MyModel \\\n  --challenge {site.settings.address}/challenges/{place}"
            for place in places
        ],
        "login": f"segarena login {site.settings.address}",
        "hosts": interface_addresses(description_of(challenge), site.settings.address),
        "time_rule": TIME_RULE,
        "next_runs": _next_runs(request, challenge, begun, admission),
        "admission": admission,
        "approves_teams": described.approves_teams,
        "rank_warnings": warnings_about_ranks(described) if visitor.organises(challenge.id) else [],
        "description_terms": bool(described.terms),
        "most_message": MOST_MESSAGE_LENGTH,
        "terms": render_prose(described.terms, images, below=3) if described.terms else "",
    }
    return render_page(request, "challenge.html", title=shown.title, now=_now(site), **context)


@router.get("/challenges/{slug}/{phase}")
@require_role(ANYONE)
def show_phase(
    request: Request,
    slug: str,
    phase: str,
) -> Response:
    """Redirect the address of a phase, which commands name, to its section on the page of the challenge."""
    found = find_phase(visible_challenge(request, slug), phase)
    return RedirectResponse(f"/challenges/{slug}#phase-{found.name}", 303)


def dialogue_places(described: ChallengeDescription, begun: Sequence[Phase]) -> list[str]:
    """Return the open phases that accept dialogues, as NAME or NAME/PHASE, practice phases first.

    Args:
        described: description of the challenge.
        begun: the open phases.
    """
    names: list[str] = []
    for phase in sorted(begun, key=lambda phase: phase.kind != "practice"):
        if "dialogue" in phase.takes:
            names.append(phase.name)
    if len(begun) == 1:
        # The only open phase is the default.
        return [described.slug for _ in names]
    return [f"{described.slug}/{name}" for name in names]


def _next_runs(
    request: Request,
    challenge: Challenge,
    phases: Sequence[Phase],
    admission: Admission | None,
) -> dict[str, str]:
    """Return why the visitor's next run would be unranked, by phase; "" if it would be ranked.

    Phases in which the visitor cannot start a run are left out.
    """
    site = site_of(request)
    visitor = visitor_of(request)
    reasons: dict[str, str] = {}
    if visitor.person_id is None or admission is None:
        return reasons
    if admission.lacks_terms or admission.lacks_approval:
        return reasons
    with site.database.reading() as session:
        team_id = team_of(session, visitor.person_id)
        for phase in phases:
            reason = next_run_unranked(session, challenge, phase, team_id, site.now())
            if reason is not None:
                reasons[phase.name] = reason
    return reasons


def visible_challenge(request: Request, slug: str) -> Challenge:
    """Return a challenge that the visitor may see; report a hidden one as unknown."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = session.scalar(select(Challenge).where(Challenge.slug == slug))
    if found is not None and _may_see(found, visitor):
        return found
    raise http_errors.unknown() if visitor.role else http_errors.no_token()


def _may_see(challenge: Challenge, visitor: Visitor) -> bool:
    return description_of(challenge).is_public or bool(visitor.role)


def _count(session: Session, found: Select[Any]) -> int:
    return session.scalar(select(func.count()).select_from(found.subquery())) or 0


def _own(
    session: Session,
    site: Site,
    visitor: Visitor,
) -> dict[str, int]:
    """Return the numbers of a participant's tokens and runs."""
    return {
        "tokens": len(tokens_of(session, visitor.person_id, site.now())),
        "runs": _count(session, select(Run.id).where(Run.person_id == visitor.person_id)),
    }


def _now(site: Site) -> datetime.datetime:
    return utc_datetime(site.now())
