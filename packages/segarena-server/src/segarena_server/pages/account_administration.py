"""The list of people for organisers: search, and changes of one or several accounts."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.account_list import STATES, AccountFilter, count_accounts, list_accounts
from segarena_server.auth.accounts import set_role, set_state
from segarena_server.auth.permissions import (
    Visitor,
    check_may_assign,
    check_may_change,
    require_role,
    site_of,
    visitor_of,
)
from segarena_server.db.orm_models import ROLES, Person
from segarena_server.http.request_body import Form, LargeForm, number_in
from segarena_server.mail.mail_outbox import queue_email
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)
_PEOPLE = "/organise/people"
_SELECTED = "person-"
"""Prefix of the names of check boxes in the list, followed by the account's id."""


@router.get("/organise/people")
@require_role("organiser")
def show_accounts(request: Request) -> Response:
    """Show a page of the list of people."""
    wanted = AccountFilter.parse(request.query_params)
    confirmed = number_in(request.query_params.get("confirmed", ""))
    with site_of(request).database.reading() as session:
        found = list_accounts(session, wanted)
        counts = count_accounts(session)
    values: dict[str, Any] = {
        "wanted": wanted,
        "found": found,
        "counts": counts,
        "confirmed": confirmed,
        "roles": ROLES,
        "states": STATES,
    }
    return render_page(request, "people.html", title="People", **values)


@router.post("/organise/people/confirm")
@require_role("organiser")
def confirm_people(request: Request, form: LargeForm) -> Response:
    """Confirm all selected accounts that are waiting, in one transaction; leave others unchanged."""
    visitor = visitor_of(request)
    now = site_of(request).now()
    confirmed = 0
    with site_of(request).database.writing() as session:
        for person_id in _selected(form):
            person = _changeable_person(session, visitor, person_id)
            # Another organiser may have confirmed or closed the account since the page was loaded.
            if person.state == "waiting":
                _set_state(session, person, "confirmed", now)
                _record_change(session, person, visitor, now)
                confirmed += 1
    return _back_to_list(form, confirmed)


@router.post("/organise/people/{person_id:int}")
@require_role("organiser")
def change_person(
    request: Request,
    person_id: int,
    form: Form,
) -> Response:
    """Confirm or close an account, or change its role."""
    visitor = visitor_of(request)
    now = site_of(request).now()
    with site_of(request).database.writing() as session:
        person = _changeable_person(session, visitor, person_id)
        if state := form.get("state"):
            if state not in ("confirmed", "closed"):
                raise http_errors.invalid("state: expected confirmed or closed")
            _set_state(session, person, state, now)
        if role := form.get("role"):
            check_may_assign(visitor, role)
            set_role(session, person, role)
        _record_change(session, person, visitor, now)
    return _back_to_list(form)


def _selected(form: LargeForm) -> list[int]:
    """Return the ids of the selected accounts in ascending order."""
    selected: list[int] = []
    for name in form:
        if name.startswith(_SELECTED):
            number = number_in(name.removeprefix(_SELECTED))
            if number is None:
                raise http_errors.invalid("expected accounts from the list")
            selected.append(number)
    # Accounts are always locked in this order, so that two organisers who confirm at the same time
    # cannot deadlock.
    return sorted(selected)


def _changeable_person(
    session: Session,
    visitor: Visitor,
    person_id: int,
) -> Person:
    """Return an account that the visitor may change.

    Raises:
        Refusal: the account does not exist, or only others may change it.
    """
    person = session.get(Person, person_id, with_for_update=True)
    if person is None or person.state == "deleted":
        raise http_errors.unknown()
    check_may_change(session, visitor, person)
    return person


def _set_state(
    session: Session,
    person: Person,
    state: str,
    now: float,
) -> None:
    was_waiting = person.state == "waiting"
    set_state(session, person, state, now)
    if was_waiting and state == "confirmed":
        queue_email(session, now, "confirmed", person=person)


def _record_change(
    session: Session,
    person: Person,
    visitor: Visitor,
    now: float,
) -> None:
    about = f"account {person.id}: {person.state}, {person.role}"
    record_event(
        session,
        now,
        "account changed",
        about,
        person_id=visitor.person_id,
        address=visitor.address,
    )


def _back_to_list(form: LargeForm, confirmed: int | None = None) -> Response:
    """Redirect to the list that contained the form."""
    # Parsed and encoded again, so that a form cannot redirect to another site.
    wanted = AccountFilter.parse(dict(parse_qsl(form.get("list", "")[:1000])))
    query = wanted.query()
    if confirmed is not None:
        query += ("&" if query else "") + f"confirmed={confirmed}"
    return RedirectResponse(f"{_PEOPLE}?{query}" if query else _PEOPLE, 303)
