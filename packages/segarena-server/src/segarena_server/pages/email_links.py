"""Pages behind single-use links in e-mails: resetting a password, confirming an address."""

from __future__ import annotations

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import Kind, create_key, find_key
from segarena_server.auth.accounts import change_password, fold_name
from segarena_server.auth.passwords import hash_password
from segarena_server.auth.permissions import (
    ANYONE,
    check_may_change,
    record_visitor_event,
    require_role,
    site_of,
    visitor_of,
)
from segarena_server.db.orm_models import Person
from segarena_server.http.request_body import Form
from segarena_server.limits.login_throttle import origin_of
from segarena_server.mail.mail_outbox import clean_address, queue_email
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)
_INVALID_LINK = "the link is invalid or has expired: it works once, within an hour"


@router.get("/forgotten")
@require_role(ANYONE)
def show_forgotten(request: Request) -> Response:
    """Show the form for a forgotten password."""
    return render_page(
        request, "password_reset_request.html", title="Forgotten password", is_asked=False
    )


@router.post("/forgotten")
@require_role(ANYONE)
def do_forgotten(request: Request, form: Form) -> Response:
    """Send a reset link; the response does not reveal whether the account exists."""
    site = site_of(request)
    visitor = visitor_of(request)
    name = fold_name(form.get("name", "")[:200])
    if site.settings.mail is None:
        raise http_errors.unknown()
    keys = ("forgotten", name), ("forgotten from", origin_of(visitor.address))
    # A whole school may share one address.
    most = {"forgotten from": 10 * site.settings.limits.sign_ins}
    if wait_s := site.attempts.take(*keys, most=most):
        raise http_errors.quota("too many requests for this name or from this address", wait_s)
    with site.database.writing() as session:
        named = (Person.folded == name) | (Person.email == form.get("name", "").strip())
        known = select(Person).where(
            named, Person.state == "confirmed", Person.email_at.is_not(None)
        )
        person = session.scalar(known.order_by(Person.id).limit(1))
        queue_email(session, site.now(), "reset", person=person)
        about = f"account {person.id}" if person else "no such account"
        record_event(session, site.now(), "password forgotten", about, address=visitor.address)
    return render_page(
        request, "password_reset_request.html", title="Forgotten password", is_asked=True
    )


@router.get("/reset")
@require_role(ANYONE)
def show_reset(request: Request, link: str = "") -> Response:
    """Show the form for a new password."""
    return _reset_page(request, link)


@router.post("/reset")
@require_role(ANYONE)
def do_reset(request: Request, form: Form) -> Response:
    """Set a new password and end all sessions."""
    site = site_of(request)
    text = form.get("link", "")
    password = form.get("password", "")
    person = _person_of_link(request, "reset", text)
    if person is None:
        return _reset_page(request, text, status=422)
    try:
        kept = hash_password(password, person.name)
    except InvalidInput as error:
        return _reset_page(request, text, fault=str(error), status=422)
    with site.database.writing() as session:
        key = find_key(session, "reset", text, site.now())
        if key is None:
            raise http_errors.invalid(_INVALID_LINK)
        # End the key in the same transaction as the change, so that the link works only once.
        key.ended_at = key.used_at = site.now()
        change_password(session, session.get_one(Person, person.id), kept, site.now())
        record_event(
            session,
            site.now(),
            "password reset",
            person_id=person.id,
            address=visitor_of(request).address,
        )
    # Somebody who guessed passwords may have locked out the owner, who has now proved the address.
    site.sign_ins.lift(person.folded)
    return RedirectResponse("/sign-in", 303)


@router.get("/address")
@require_role(ANYONE)
def show_address(request: Request, link: str = "") -> Response:
    """Ask for confirmation of an address; opening the link alone, as mail scanners do, changes nothing."""
    person = _person_of_link(request, "address", link)
    return render_page(
        request, "email_confirmation.html", title="Confirm the address", link=link, person=person
    )


@router.post("/address")
@require_role(ANYONE)
def do_confirm_address(request: Request, form: Form) -> Response:
    """Confirm an e-mail address."""
    site = site_of(request)
    with site.database.writing() as session:
        key = find_key(session, "address", form.get("link", ""), site.now())
        person = session.get(Person, key.person_id) if key and key.person_id else None
        if key is None or person is None or person.email != key.label:
            raise http_errors.invalid(_INVALID_LINK)
        key.ended_at = key.used_at = person.email_at = site.now()
        record_event(
            session,
            site.now(),
            "address confirmed",
            person_id=person.id,
            address=visitor_of(request).address,
        )
    return RedirectResponse("/account?done=address", 303)


@router.post("/account/letters")
@require_role("viewer")
def change_letters(request: Request, form: Form) -> Response:
    """Change the e-mail address and notifications; a new address must be confirmed."""
    site = site_of(request)
    visitor = visitor_of(request)
    email = clean_address(form.get("email", ""))
    with site.database.writing() as session:
        person = session.get_one(Person, visitor.person_id)
        person.wants_letters = "wanted" in form
        if email != person.email:
            person.email = email
            person.email_at = None
            record_event(
                session, site.now(), "address changed", person_id=person.id, address=visitor.address
            )
    if email and person.email_at is None and site.settings.mail is not None:
        _send_confirmation(request, person, email)
    return RedirectResponse("/account?done=letters", 303)


@router.post("/organise/people/{person_id:int}/reset")
@require_role("organiser")
def make_reset_link(
    request: Request,
    person_id: int,
    form: Form,
) -> Response:
    """Create a reset link and show it once, for a person who asked an organiser."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        person = session.get(Person, person_id)
        if person is None or person.state == "deleted":
            raise http_errors.unknown()
        check_may_change(session, visitor, person)
        key = create_key(session, "reset", site.now(), person_id=person.id)
        about = f"account {person.id}"
        record_visitor_event(request, session, "reset link made", about)
    link = f"{site.settings.address}/reset?link={key}"
    return render_page(request, "reset_link.html", title=f"Reset link for {person.name}", link=link)


def _send_confirmation(
    request: Request,
    person: Person,
    email: str,
) -> None:
    """Send the confirmation e-mail; limit the number, because the address may belong to a stranger."""
    site = site_of(request)
    of_account = ("address of", person.id)
    to_address = ("letters to", email.lower())
    wait_s = site.attempts.take(of_account, to_address)
    if wait_s:
        raise http_errors.quota("too many e-mails to this address or for this account", wait_s)
    with site.database.writing() as session:
        queue_email(session, site.now(), "address", person=person, to=email)


def _person_of_link(
    request: Request,
    kind: Kind,
    text: str,
) -> Person | None:
    site = site_of(request)
    with site.database.reading() as session:
        key = find_key(session, kind, text, site.now())
        if key is None or key.person_id is None:
            return None
        person = session.get(Person, key.person_id)
    if person is None:
        return None
    # People may confirm an address before an organiser confirms their account.
    is_allowed = person.state == "confirmed" or kind == "address"
    return person if is_allowed else None


def _reset_page(
    request: Request,
    link: str,
    *,
    fault: str = "",
    status: int = 200,
) -> Response:
    person = _person_of_link(request, "reset", link)
    fault = fault if person else _INVALID_LINK
    return render_page(
        request,
        "password_reset.html",
        title="New password",
        status=status,
        link=link,
        person=person,
        fault=fault,
    )
