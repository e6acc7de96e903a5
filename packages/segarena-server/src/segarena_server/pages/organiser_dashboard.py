"""The organisers' page: invitations, challenges, runs and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.audit_log import latest_events, latest_events_about
from segarena_server.auth.account_list import count_accounts
from segarena_server.auth.accounts import invite
from segarena_server.auth.permissions import (
    Visitor,
    check_may_assign,
    record_visitor_event,
    require_organiser_of,
    require_role,
    site_of,
    visitor_of,
)
from segarena_server.challenges.challenge_repository import (
    all_challenges,
    cached_info,
    find_challenge,
)
from segarena_server.db.orm_models import ROLES, Challenge, Job, Person, Run, Turn
from segarena_server.http.request_body import Form
from segarena_server.mail.mail_outbox import clean_address, queue_email, unsent_emails
from segarena_server.pages.challenge_form import DRAFTS, may_see_draft
from segarena_server.pages.rendering import render_page
from segarena_server.pages.runs import MOST_LISTED, listed_runs
from segarena_server.runs.admission import count_waiting_requests
from segarena_server.runs.run_repository import request_end
from segarena_server.workers.kinds.challenge_preparation import ChallengeJobRequest

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
    """Create an invitation, and either send it or show its link once."""
    site = site_of(request)
    visitor = visitor_of(request)
    role = form.get("role", "participant")
    check_may_assign(visitor, role)
    email = clean_address(form.get("email", "")) if site.settings.mail else ""
    if email:
        return _invite_by_email(request, email, role)
    with site.database.writing() as session:
        text = invite(session, site.now(), role, form.get("label", ""))
        label = " ".join(form.get("label", "").split())[:80]
        about = f"{role}, for {label}" if label else role
        record_visitor_event(request, session, "invitation made", about)
    return _organise(request, link=f"{site.settings.address}/register?invitation={text}")


@router.post("/organise/challenges/{slug}")
@require_organiser_of("slug")
def change_challenge(
    request: Request,
    slug: str,
    form: Form,
) -> Response:
    """Open or close a challenge."""
    site = site_of(request)
    state = form.get("state", "")
    if state not in _CHALLENGE_STATES:
        raise http_errors.invalid(f"state: expected {', '.join(_CHALLENGE_STATES)}")
    with site.database.writing() as session:
        find_challenge(session, slug).state = state
        record_visitor_event(request, session, f"challenge {state}", slug)
    return RedirectResponse("/organise#challenges", 303)


@router.post("/organise/runs/{run_id}/again")
@require_organiser_of("run_id")
def evaluate_again(
    request: Request,
    run_id: str,
    form: Form,
) -> Response:
    """Evaluate the failed turns of a run again, and continue the run."""
    site = site_of(request)
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
        run.returns_samples = False
        run.ended_at = None
        # Without failed turns, the fault was in the job that ends the run.
        if not again:
            request_end(session, run, site.now())
        record_visitor_event(request, session, "run evaluated again", run.id)
    site.hurry()
    return RedirectResponse(f"/runs/{run_id}", 303)


@router.post("/organise/runs/{run_id}/return")
@require_organiser_of("run_id")
def return_samples(
    request: Request,
    run_id: str,
    form: Form,
) -> Response:
    """Treat the samples of a refunded run as new to the team, whose next run with them is then not a repeat."""
    site = site_of(request)
    with site.database.writing() as session:
        run = session.get(Run, run_id)
        if run is None:
            raise http_errors.unknown()
        if not run.is_free or run.returns_samples:
            raise http_errors.conflict("expected a refunded run that has not returned its samples")
        run.returns_samples = True
        record_visitor_event(request, session, "samples returned", run.id)
    return RedirectResponse(f"/runs/{run_id}", 303)


def _invite_by_email(
    request: Request,
    email: str,
    role: str,
) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        queue_email(session, site.now(), "invitation", to=email, about=role)
        record_visitor_event(request, session, "invitation sent", role)
    return _organise(request, sent_to=email)


def _organise(
    request: Request,
    link: str = "",
    sent_to: str = "",
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        challenges = [one for one in all_challenges(session) if visitor.organises(one.id)]
        managed = None if visitor.may("admin") else challenges
        context: dict[str, Any] = {
            "counts": count_accounts(session),
            "challenges": [(one, cached_info(one.description)) for one in challenges],
            "runs": listed_runs(session, site.now(), challenges=visitor.managed_challenges()),
            "events": _events(session, visitor, managed),
            "unsent": unsent_emails(session),
            "drafts": _drafts(session, visitor),
            "waiting_teams": count_waiting_requests(session, challenges),
            "most_listed": MOST_LISTED,
        }
    return render_page(
        request,
        "organise.html",
        title="Organise",
        link=link,
        sent_to=sent_to,
        roles=ROLES,
        **context,
    )


def _drafts(session: Session, visitor: Visitor) -> list[tuple[Job, str]]:
    """Return the newest draft jobs that the visitor may see, with the titles of the challenges."""
    newest = select(Job).where(Job.kind.in_(DRAFTS)).order_by(Job.made_at.desc())
    drafts: list[tuple[Job, str]] = []
    for job in session.scalars(newest):
        wanted = ChallengeJobRequest.of(job)
        if may_see_draft(session, visitor, wanted):
            drafts.append((job, wanted.challenge.title))
        if len(drafts) == _DRAFTS:
            break
    return drafts


def _events(
    session: Session,
    visitor: Visitor,
    managed: Sequence[Challenge] | None,
) -> list[tuple[object, str]]:
    """Return the newest log entries with people's names.

    Args:
        session: a session for reading.
        visitor: the visitor.
        managed: the visitor's challenges, whose entries are shown besides the visitor's own; None for all entries.
    """
    if managed is None:
        events = latest_events(session, _LINES)
    else:
        events = latest_events_about(session, _LINES, managed, visitor.person_id)
    person_ids = {event.person_id for event in events if event.person_id is not None}
    people = session.scalars(select(Person).where(Person.id.in_(person_ids)))
    names = {person.id: person.name for person in people}
    return [(event, names.get(event.person_id or 0, "")) for event in events]
