"""The organisers' page: people, challenges, runs and the audit log."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server.audit_log import latest_events, record_event
from segarena_server.auth.accounts import invite, is_at_least, set_role, set_state
from segarena_server.auth.permissions import Visitor, require_role, site_of, visitor_of
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    find_challenge,
)
from segarena_server.db.orm_models import ROLES, Job, Person, Run, Team, Turn
from segarena_server.http import http_errors
from segarena_server.http.request_body import Form
from segarena_server.jobs.challenge_preparation import ChallengeJobRequest
from segarena_server.mail.mail_outbox import clean_address, queue_email, unsent_emails
from segarena_server.pages.challenge_form import DRAFTS
from segarena_server.pages.rendering import render_page
from segarena_server.pages.runs import MOST_LISTED, listed_runs
from segarena_server.runs.run_repository import request_end

router = APIRouter(include_in_schema=False)
_LINES = 100
_DRAFTS = 8
_CHALLENGE_STATES = ("open", "closed")


@router.get("/organise")
@require_role("organiser")
def show_organise(request: Request) -> Response:
    """Show the organisers' page."""
    return _organise(request)


@router.post("/organise/invitations")
@require_role("organiser")
def make_invitation(request: Request, form: Form) -> Response:
    """Create an invitation, and send it or show its link once."""
    site = site_of(request)
    visitor = visitor_of(request)
    role = form.get("role", "participant")
    _check_may_assign(visitor, role)
    email = clean_address(form.get("email", "")) if site.settings.mail else ""
    if email:
        return _invite_by_email(request, email, role)
    with site.database.writing() as session:
        text = invite(session, site.now(), role, form.get("label", ""))
        record_event(
            session,
            site.now(),
            "invitation made",
            role,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    return _organise(request, link=f"{site.settings.address}/register?invitation={text}")


@router.post("/organise/people/{person_id:int}")
@require_role("organiser")
def change_person(request: Request, person_id: int, form: Form) -> Response:
    """Confirm or close an account, or change its role."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        person = session.get(Person, person_id)
        if person is None:
            raise http_errors.unknown()
        if is_at_least(person.role, "organiser") and not visitor.may("admin"):
            raise http_errors.forbidden()
        if state := form.get("state"):
            if state not in ("confirmed", "closed"):
                raise http_errors.invalid("state: expected confirmed or closed")
            was_waiting = person.state == "waiting"
            set_state(session, person, state, site.now())
            if was_waiting and state == "confirmed":
                queue_email(session, site.now(), "confirmed", person=person)
        if role := form.get("role"):
            _check_may_assign(visitor, role)
            set_role(session, person, role)
        about = f"account {person.id}: {person.state}, {person.role}"
        record_event(
            session,
            site.now(),
            "account changed",
            about,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    return RedirectResponse("/organise#people", 303)


@router.post("/organise/challenges/{slug}")
@require_role("organiser")
def change_challenge(request: Request, slug: str, form: Form) -> Response:
    """Open or close a challenge."""
    site = site_of(request)
    visitor = visitor_of(request)
    state = form.get("state", "")
    if state not in _CHALLENGE_STATES:
        raise http_errors.invalid(f"state: expected {', '.join(_CHALLENGE_STATES)}")
    with site.database.writing() as session:
        find_challenge(session, slug).state = state
        record_event(
            session,
            site.now(),
            f"challenge {state}",
            slug,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    return RedirectResponse("/organise#challenges", 303)


@router.post("/organise/runs/{run_id}/again")
@require_role("organiser")
def evaluate_again(request: Request, run_id: str, form: Form) -> Response:
    """Evaluate the failed turns of a run again, and continue the run."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise http_errors.unknown()
        if not run.fault:
            raise http_errors.conflict(
                "no turn of this run failed, so there is nothing to evaluate again"
            )
        dead = update(Turn).where(Turn.run_id == run.id, Turn.state == "dead")
        again = (
            session.connection().execute(dead.values(state="waiting", tries=0, failure="")).rowcount
        )
        run.state = "open"
        run.fault = ""
        run.is_free = False
        run.ended_at = None
        if not again:
            request_end(session, run, site.now())
        record_event(
            session,
            site.now(),
            "run evaluated again",
            run.id,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    site.hurry()
    return RedirectResponse(f"/runs/{run_id}", 303)


def _invite_by_email(request: Request, email: str, role: str) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        queue_email(session, site.now(), "invitation", to=email, about=role)
        record_event(
            session,
            site.now(),
            "invitation sent",
            role,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    return _organise(request, sent_to=email)


def _organise(request: Request, link: str = "", sent_to: str = "") -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        told: dict[str, Any] = {
            "people": _people(session),
            "challenges": [(one, cached_info(one.description)) for one in all_challenges(session)],
            "runs": listed_runs(session, site.now()),
            "events": _events(session),
            "unsent": unsent_emails(session),
            "drafts": _drafts(session),
            "most_listed": MOST_LISTED,
        }
    return render_page(
        request, "organise.html", title="Organise", link=link, sent_to=sent_to, roles=ROLES, **told
    )


def _drafts(session: Session) -> list[tuple[Job, str]]:
    """Return the newest jobs of challenge drafts with the titles of the challenges."""
    newest = select(Job).where(Job.kind.in_(DRAFTS)).order_by(Job.made_at.desc()).limit(_DRAFTS)
    return [(job, ChallengeJobRequest.of(job).challenge.title) for job in session.scalars(newest)]


def _people(session: Session) -> list[tuple[Person, str]]:
    """Return all accounts with their teams, waiting ones first."""
    found = (
        select(Person, Team.name)
        .join(Team, Team.id == Person.team_id)
        .where(Person.state != "deleted")
    )
    rows = [(person, team) for person, team in session.execute(found)]
    order = {"waiting": 0, "confirmed": 1, "closed": 2}
    return sorted(rows, key=lambda row: (order[row[0].state], row[0].folded))


def _events(session: Session) -> list[tuple[object, str]]:
    names = {person.id: person.name for person in session.scalars(select(Person))}
    return [
        (event, names.get(event.person_id or 0, "")) for event in latest_events(session, _LINES)
    ]


def _check_may_assign(visitor: Visitor, role: str) -> None:
    """Raise `Refusal` unless the visitor may assign a role."""
    if role not in ROLES:
        raise http_errors.invalid(f"role: expected {', '.join(ROLES)}")
    if is_at_least(role, "organiser") and not visitor.may("admin"):
        raise http_errors.forbidden()
