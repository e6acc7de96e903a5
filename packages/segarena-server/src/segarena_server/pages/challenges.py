"""Pages of challenges: the list, and the rules and the board of each."""

from __future__ import annotations

import datetime
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session
from starlette.responses import Response

from segarena_server.auth.keys import tokens_of
from segarena_server.auth.permissions import ANYONE, Visitor, require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    description_of,
)
from segarena_server.challenges.time_charge import TIME_RULE
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Challenge, Person, Run
from segarena_server.extensions.interfaces import interface_addresses
from segarena_server.http import http_errors
from segarena_server.pages.rendering import render_page
from segarena_server.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/")
@require_role(ANYONE)
def show_home(request: Request) -> Response:
    """Show what there is; to an organiser who begins, what to do next."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = [one for one in all_challenges(session) if _may_see(one, visitor)]
        counted = {
            "runs": _count(session, select(Run.id)),
            "people": _count(session, select(Person.id)),
            "waiting": _count(session, select(Person.id).where(Person.state == "waiting"))
            if visitor.may("organiser")
            else 0,
        }
        own = _own(session, site, visitor) if visitor.role == "participant" else None
    shown = [(challenge, cached_info(challenge.description)) for challenge in found]
    told: dict[str, Any] = {"challenges": shown, "own": own, "data": site.folder.path, **counted}
    return render_page(request, "home.html", title="Challenges", now=_now(site), **told)


@router.get("/challenges/{slug}")
@require_role(ANYONE)
def show_challenge(request: Request, slug: str) -> Response:
    """Show the rules of a challenge and how to take part."""
    site = site_of(request)
    challenge = visible_challenge(request, slug)
    shown = cached_info(challenge.description)
    phases = description_of(challenge).phases if challenge.state == "open" else ()
    begun = [phase for phase in phases if phase.is_open(_now(site))]
    asking = [phase.name for phase in begun if "dialogue" in phase.takes]
    place = (
        f"{slug}/{asking[-1]}" if asking and len(begun) > 1 else slug
    )  # the only open phase is the default
    told: dict[str, Any] = {
        "challenge": challenge,
        "shown": shown,
        "is_open": bool(asking),
        "command": f"segarena run -s my_model.py:MyModel \\\n  --challenge {site.settings.address}/challenges/{place}",
        "login": f"segarena login {site.settings.address}",
        "hosts": interface_addresses(description_of(challenge), site.settings.address),
        "time_rule": TIME_RULE,
    }
    return render_page(request, "challenge.html", title=shown.title, now=_now(site), **told)


def visible_challenge(request: Request, slug: str) -> Challenge:
    """Return a challenge that the visitor may see; a hidden one is reported as unknown."""
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


def _own(session: Session, site: Site, visitor: Visitor) -> dict[str, int]:
    """Return the numbers of tokens and runs of a participant."""
    return {
        "tokens": len(tokens_of(session, visitor.person_id, site.now())),
        "runs": _count(session, select(Run.id).where(Run.person_id == visitor.person_id)),
    }


def _now(site: Site) -> datetime.datetime:
    return utc_datetime(site.now())
