"""Pages of challenges: what there is, the rules of one, its board."""

from __future__ import annotations

import datetime
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import func, select
from starlette.responses import Response

from segarena.challenges.clock import TIME_RULE
from segarena.reports.boards.pages import board_parts
from segarena.reports.boards.sheets import board_csv
from segarena.server import refusals
from segarena.server.boards import board_for
from segarena.server.challenges import all_challenges, description_of, find_phase, shown_of
from segarena.server.pages.rendering import page
from segarena.server.site import Site
from segarena.server.tables import Challenge, Person, Run
from segarena.server.visitors import ANYONE, Visitor, needs, site_of, visitor_of

router = APIRouter(include_in_schema=False)


@router.get("/")
@needs(ANYONE)
def show_home(request: Request) -> Response:
    """Show what there is; to an organiser who begins, what to do next."""
    site, visitor = site_of(request), visitor_of(request)
    with site.database.reading() as session:
        found = [one for one in all_challenges(session) if _may_see(one, visitor)]
        runs = session.scalar(select(func.count()).select_from(Run)) or 0
        people = session.scalar(select(func.count()).select_from(Person)) or 0
    shown = [(challenge, shown_of(challenge.description)) for challenge in found]
    told: dict[str, Any] = {"challenges": shown, "runs": runs, "people": people, "data": site.folder.path}
    return page(request, "home.html", title="Challenges", now=_now(site), **told)


@router.get("/challenges/{slug}")
@needs(ANYONE)
def show_challenge(request: Request, slug: str) -> Response:
    """Show the rules of a challenge and how to take part."""
    site = site_of(request)
    challenge = _found(request, slug)
    shown = shown_of(challenge.description)
    command = f"segarena run --challenge {site.settings.address}/challenges/{slug} -s my_model.py:MyModel"
    login = f"segarena login {site.settings.address}"
    told: dict[str, Any] = {
        "challenge": challenge,
        "shown": shown,
        "command": command,
        "login": login,
        "time_rule": TIME_RULE,
    }
    return page(request, "challenge.html", title=shown.title, now=_now(site), **told)


@router.get("/challenges/{slug}/{phase}/board")
@needs(ANYONE)
def show_board(request: Request, slug: str, phase: str) -> Response:
    """Show the board of a phase."""
    site, visitor = site_of(request), visitor_of(request)
    challenge = _found(request, slug)
    found = find_phase(challenge, phase)
    with site.database.reading() as session:
        board = board_for(session, challenge, found, site.now(), sees_all=visitor.may("organiser"))
    title = f"{description_of(challenge).title}: {found.name}"
    parts = None if board is None else board_parts(board, choice="best", files=[("board.csv", "CSV")])
    return page(request, "board.html", title=title, challenge=challenge, phase=found, parts=parts)


@router.get("/challenges/{slug}/{phase}/board.csv")
@needs(ANYONE)
def give_board(request: Request, slug: str, phase: str) -> Response:
    """Give the board of a phase as a table."""
    site, visitor = site_of(request), visitor_of(request)
    challenge = _found(request, slug)
    with site.database.reading() as session:
        board = board_for(
            session, challenge, find_phase(challenge, phase), site.now(), sees_all=visitor.may("organiser")
        )
    if board is None:
        raise refusals.unknown()
    return Response(board_csv(board), media_type="text/csv")


def _found(request: Request, slug: str) -> Challenge:
    """Return a challenge that the visitor may see; what they may not see sounds like what is not there."""
    site, visitor = site_of(request), visitor_of(request)
    with site.database.reading() as session:
        found = session.scalar(select(Challenge).where(Challenge.slug == slug))
    if found is not None and _may_see(found, visitor):
        return found
    raise refusals.unknown() if visitor.role else refusals.no_token()


def _may_see(challenge: Challenge, visitor: Visitor) -> bool:
    return description_of(challenge).is_public or bool(visitor.role)


def _now(site: Site) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(site.now(), datetime.UTC)
