"""The page of one's account: its password, a copy of all that is kept, deleting it; and the same for an admin."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import RedirectResponse, Response, StreamingResponse

from segarena_server.audit_log import record_event
from segarena_server.auth.account_deletion import delete_account
from segarena_server.auth.accounts import change_password
from segarena_server.auth.keys import find_key
from segarena_server.auth.passwords import has_password, hash_password, is_password
from segarena_server.auth.permissions import (
    Visitor,
    cookie_name,
    require_role,
    session_key,
    site_of,
    visitor_of,
)
from segarena_server.auth.personal_data import personal_data_archive
from segarena_server.db.orm_models import Identity, Person
from segarena_server.http import http_errors
from segarena_server.http.request_body import Form
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)
_FRESH_S = 600.0
_DONE = {
    "password": "The password is changed.",
    "letters": "Saved.",
    "address": "The address is confirmed.",
    "elsewhere": "Connected.",
}


@router.get("/account")
@require_role("viewer")
def show_account(request: Request, done: str = "") -> Response:
    """Show what one's account is and what can be done with it."""
    return _account_page(request, done=_DONE.get(done, ""))


@router.post("/account/password")
@require_role("viewer")
def do_change_password(request: Request, form: Form) -> Response:
    """Change one's password; sessions elsewhere end."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = _checked(request, form.get("password", ""))
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
    """Give a zip of all that is kept about oneself."""
    return _copy(request, visitor_of(request).person_id or 0)


@router.post("/account/delete")
@require_role("viewer")
def do_delete(request: Request, form: Form) -> Response:
    """Delete one's account, for good."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = _checked(request, form.get("password", ""))
    with site.database.writing() as session:
        delete_account(session, site.folder, session.get_one(Person, person.id), site.now())
        record_event(
            session, site.now(), "account deleted", f"account {person.id}", person_id=person.id
        )
    site.hurry()
    request.state.visitor = Visitor(address=visitor.address)
    answer = render_page(request, "left.html", title="The account is deleted")
    answer.delete_cookie(cookie_name(site_of(request)))
    return answer


@router.get("/organise/people/{person_id:int}/copy")
@require_role("admin")
def give_copy_of(request: Request, person_id: int) -> Response:
    """Give a zip of all that is kept about somebody, who asked an admin for it."""
    with site_of(request).database.reading() as session:
        _present(session.get(Person, person_id))
    return _copy(request, person_id)


@router.post("/organise/people/{person_id:int}/delete")
@require_role("admin")
def delete_person(request: Request, person_id: int, form: Form) -> Response:
    """Delete somebody's account, who asked an admin to."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        person = _present(session.get(Person, person_id, with_for_update=True))
        delete_account(session, site.folder, person, site.now())
        told = f"account {person_id}"
        record_event(
            session,
            site.now(),
            "account deleted",
            told,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    site.hurry()
    return RedirectResponse("/organise#people", 303)


def _present(person: Person | None) -> Person:
    if person is None or person.state == "deleted":
        raise http_errors.unknown()
    return person


def _copy(request: Request, person_id: int) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    if wait_s := site.attempts.take(("copy", visitor.person_id)):
        raise http_errors.quota("too many copies in a quarter of an hour", wait_s)
    with site.database.writing() as session:
        about = f"account {person_id}"
        record_event(
            session,
            site.now(),
            "data copied",
            about,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    headers = {
        "content-disposition": f'attachment; filename="account-{person_id}.zip"',
        "cache-control": "no-store",
    }
    return StreamingResponse(
        personal_data_archive(site, person_id), media_type="application/zip", headers=headers
    )


def _checked(request: Request, password: str) -> Person:
    """Return who is asking, who knows their password.

    Raises:
        Refusal: it is another one, or was mistaken too often.
    """
    site = site_of(request)
    visitor = visitor_of(request)
    tried = ("password", visitor.person_id)
    if wait_s := site.attempts.take(tried):
        raise http_errors.quota("too many wrong passwords", wait_s)
    with site.database.reading() as session:
        person = session.get_one(Person, visitor.person_id)
    if not has_password(person.password):
        _check_came_just_now(request)
    elif not is_password(password, person.password):
        raise http_errors.invalid("the password is not right")
    site.attempts.forget(tried)
    return person


def _check_came_just_now(request: Request) -> None:
    """Raise `Refusal` when a session is not fresh: whoever has no password shows by signing in that they still can."""
    site = site_of(request)
    with site.database.reading() as session:
        key = find_key(session, "session", session_key(request), site.now())
    if key is None or site.now() - key.made_at > _FRESH_S:
        raise http_errors.invalid(
            "you signed in a while ago: sign out, sign in again, and repeat it within ten minutes"
        )


def _account_page(request: Request, *, done: str = "") -> Response:
    with site_of(request).database.reading() as session:
        person = session.get_one(Person, visitor_of(request).person_id)
        is_connected = (
            session.scalar(select(Identity.id).where(Identity.person_id == person.id).limit(1))
            is not None
        )
    told: dict[str, Any] = {
        "has_password": has_password(person.password),
        "is_connected": is_connected,
    }
    return render_page(request, "account.html", title="Account", person=person, done=done, **told)
