"""The account page: password, export of personal data and deletion; admins can do the last two for other people."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import RedirectResponse, Response, StreamingResponse

from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import find_key
from segarena_server.auth.accounts import change_password
from segarena_server.auth.passwords import has_password, hash_password, is_password
from segarena_server.auth.permissions import (
    Visitor,
    cookie_name,
    record_visitor_event,
    require_role,
    session_key,
    site_of,
    visitor_of,
)
from segarena_server.auth.second_factor import needs_code
from segarena_server.db.orm_models import Identity, Person
from segarena_server.http.request_body import Form
from segarena_server.pages.rendering import render_page
from segarena_server.privacy.account_deletion import delete_account
from segarena_server.privacy.personal_data import personal_data_archive

router = APIRouter(include_in_schema=False)
_RECENT_S = 600.0
_CONFIRMATIONS = {
    "password": "Your password has been changed.",
    "letters": "Your settings have been saved.",
    "address": "Your address has been confirmed.",
    "elsewhere": "Your account has been connected.",
}


@router.get("/account")
@require_role("viewer")
def show_account(request: Request, done: str = "") -> Response:
    """Show the visitor's account, with the forms to change, export or delete it."""
    return _account_page(request, done=_CONFIRMATIONS.get(done, ""))


@router.post("/account/password")
@require_role("viewer")
def do_change_password(request: Request, form: Form) -> Response:
    """Change the visitor's password and end the visitor's other sessions."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = verified_person(request, form.get("password", ""))
    kept = hash_password(form.get("new", ""), person.name)
    with site.database.writing() as session:
        this = find_key(session, "session", session_key(request), site.now())
        change_password(session, session.get_one(Person, person.id), kept, site.now(), keep=this)
        record_event(
            session, site.now(), "password changed", person_id=person.id, address=visitor.address
        )
    return RedirectResponse("/account?done=password", 303)


@router.get("/account/copy")
@require_role("viewer")
def give_copy(request: Request) -> Response:
    """Send a zip of all data about the visitor."""
    return _copy(request, visitor_of(request).person_id or 0)


@router.post("/account/delete")
@require_role("viewer")
def do_delete(request: Request, form: Form) -> Response:
    """Delete the visitor's account permanently."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = verified_person(request, form.get("password", ""))
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, person.id), site.now())
        record_event(
            session, site.now(), "account deleted", f"account {person.id}", person_id=person.id
        )
    site.hurry()
    # The page must not show a visitor whose account no longer exists.
    request.state.visitor = Visitor(address=visitor.address)
    answer = render_page(request, "account_deleted.html", title="The account is deleted")
    answer.delete_cookie(cookie_name(site_of(request)))
    return answer


@router.get("/organise/people/{person_id:int}/copy")
@require_role("admin")
def give_copy_of(request: Request, person_id: int) -> Response:
    """Send an admin the zip of all data about a person who asked for it."""
    with site_of(request).database.reading() as session:
        _existing_person(session.get(Person, person_id))
    return _copy(request, person_id)


@router.post("/organise/people/{person_id:int}/delete")
@require_role("admin")
def delete_person(
    request: Request,
    person_id: int,
    form: Form,
) -> Response:
    """Delete the account of a person who asked an admin to do so."""
    site = site_of(request)
    with site.database.writing() as session:
        person = _existing_person(session.get(Person, person_id, with_for_update=True))
        delete_account(session, site.folder, person, site.now())
        about = f"account {person_id}"
        record_visitor_event(request, session, "account deleted", about)
    site.hurry()
    return RedirectResponse("/organise/people", 303)


def _existing_person(person: Person | None) -> Person:
    if person is None or person.state == "deleted":
        raise http_errors.unknown()
    return person


def _copy(request: Request, person_id: int) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    if wait_s := site.attempts.take(("copy", visitor.person_id)):
        raise http_errors.quota("too many downloads in 15 minutes", wait_s)
    with site.database.writing() as session:
        about = f"account {person_id}"
        record_visitor_event(request, session, "data copied", about)
    headers = {
        "content-disposition": f'attachment; filename="account-{person_id}.zip"',
        "cache-control": "no-store",
    }
    return StreamingResponse(
        personal_data_archive(site, person_id), media_type="application/zip", headers=headers
    )


def verified_person(request: Request, password: str) -> Person:
    """Return the visitor's account after verifying the password; an account without one needs a recent sign-in.

    Raises:
        Refusal: the password is wrong, the sign-in is too old, or there were too many failed attempts.
    """
    site = site_of(request)
    visitor = visitor_of(request)
    tried = ("password", visitor.person_id)
    if wait_s := site.attempts.take(tried):
        raise http_errors.quota("too many wrong passwords", wait_s)
    with site.database.reading() as session:
        person = session.get_one(Person, visitor.person_id)
    if not has_password(person.password):
        check_recent_sign_in(request)
    elif not is_password(password, person.password):
        raise http_errors.invalid("the password is wrong")
    site.attempts.forget(tried)
    return person


def check_recent_sign_in(request: Request) -> None:
    """Raise `Refusal` unless the session is new; people without a password verify themselves by signing in again."""
    site = site_of(request)
    with site.database.reading() as session:
        key = find_key(session, "session", session_key(request), site.now())
    if key is None or site.now() - key.made_at > _RECENT_S:
        raise http_errors.invalid(
            "you signed in more than ten minutes ago: sign out, sign in again, and repeat the action"
        )


def _account_page(request: Request, *, done: str = "") -> Response:
    with site_of(request).database.reading() as session:
        person = session.get_one(Person, visitor_of(request).person_id)
        has_second_factor = needs_code(session, person.id)
        is_connected = (
            session.scalar(select(Identity.id).where(Identity.person_id == person.id).limit(1))
            is not None
        )
    values: dict[str, Any] = {
        "has_password": has_password(person.password),
        "is_connected": is_connected,
        "has_second_factor": has_second_factor,
    }
    return render_page(
        request,
        "account.html",
        title="Account",
        person=person,
        done=done,
        **values,
    )
