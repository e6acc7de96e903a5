"""Pages for setting up and switching off the second factor of an account, and renewing recovery codes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import segno
from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import find_key
from segarena_server.auth.passwords import has_password
from segarena_server.auth.permissions import require_role, session_key, site_of, visitor_of
from segarena_server.auth.second_factor import (
    begin_set_up,
    codes_left,
    confirm_set_up,
    make_recovery_codes,
    needs_code,
    provisioning_uri,
    remove_second_factor,
    verify_code,
)
from segarena_server.db.orm_models import Person
from segarena_server.http.request_body import Form
from segarena_server.pages.account_data import verified_person
from segarena_server.pages.rendering import render_page

router = APIRouter(include_in_schema=False)
_PIXELS_PER_MODULE = 5
_WRONG_CODE = "the code is wrong or has been used before; wait for the next one"


@router.get("/account/second-factor")
@require_role("viewer", before_second_factor=True)
def show_second_factor(request: Request, done: str = "") -> Response:
    """Show whether the second factor is on, with the forms to change it."""
    return _page(request, done="Codes at sign-in are switched off." if done == "off" else "")


@router.post("/account/second-factor")
@require_role("viewer", before_second_factor=True)
def begin_setup(request: Request, form: Form) -> Response:
    """Create a secret and show it once, after verifying the password."""
    site = site_of(request)
    person = verified_person(request, form.get("password", ""))
    if not has_password(person.password):
        raise http_errors.conflict(
            "the account has no password; set up a second factor at your provider"
        )
    with site.database.writing() as session:
        secret = begin_set_up(session, site.secret, person.id, site.now())
    if secret is None:
        raise http_errors.conflict(
            "codes at sign-in are already switched on; switch them off first"
        )
    host = urlsplit(site.settings.address).hostname or ""
    code = segno.make(provisioning_uri(secret, person.name, f"segarena {host}"), error="m")
    # White even on a dark page, because many apps cannot read an inverted code.
    picture = code.svg_inline(scale=_PIXELS_PER_MODULE, light="white", dark="black")
    return _page(request, state="confirm", secret=secret, qr=Markup(picture))  # noqa: S704 - drawn here


@router.post("/account/second-factor/confirm")
@require_role("viewer", before_second_factor=True)
def confirm(request: Request, form: Form) -> Response:
    """Switch the second factor on with its first code, and show the recovery codes once."""
    site = site_of(request)
    visitor = visitor_of(request)
    person_id = visitor.person_id or 0
    now = site.now()
    _count_attempt(request, person_id)
    with site.database.writing() as session:
        this = find_key(session, "session", session_key(request), now)
        codes = confirm_set_up(
            session, site.secret, person_id, form.get("code", ""), now, keep=this
        )
        if codes:
            record_event(
                session, now, "second factor on", person_id=person_id, address=visitor.address
            )
    if not codes:
        return _page(request, state="confirm", fault=_WRONG_CODE, status=422)
    site.attempts.forget(("code", person_id))
    return _page(request, recovery_codes=codes, done="Codes at sign-in are switched on.")


@router.post("/account/second-factor/codes")
@require_role("viewer")
def renew_codes(request: Request, form: Form) -> Response:
    """Replace the recovery codes, and show the new ones once."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = verified_person(request, form.get("password", ""))
    if not _is_right_code(request, person.id, form):
        return _page(request, fault=_WRONG_CODE, status=422)
    with site.database.writing() as session:
        codes = make_recovery_codes(session, person.id)
        record_event(
            session,
            site.now(),
            "recovery codes made",
            person_id=person.id,
            address=visitor.address,
        )
    return _page(request, recovery_codes=codes)


@router.post("/account/second-factor/off")
@require_role("viewer")
def switch_off(request: Request, form: Form) -> Response:
    """Switch the second factor off, after verifying the password and a code."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = verified_person(request, form.get("password", ""))
    if not _is_right_code(request, person.id, form):
        return _page(request, fault=_WRONG_CODE, status=422)
    with site.database.writing() as session:
        remove_second_factor(session, person.id, site.now())
        record_event(
            session,
            site.now(),
            "second factor off",
            f"account {person.id}",
            person_id=person.id,
            address=visitor.address,
        )
    return RedirectResponse("/account/second-factor?done=off", 303)


def _count_attempt(request: Request, person_id: int) -> None:
    """Count an attempt with a code; the same limit applies at sign-in.

    Raises:
        Refusal: there were too many wrong codes.
    """
    if wait_s := site_of(request).attempts.take(("code", person_id)):
        raise http_errors.quota("too many wrong codes for this account", wait_s)


def _is_right_code(
    request: Request,
    person_id: int,
    form: Form,
) -> bool:
    site = site_of(request)
    _count_attempt(request, person_id)
    with site.database.writing() as session:
        is_right = verify_code(session, site.secret, person_id, form.get("code", ""), site.now())
    if is_right:
        site.attempts.forget(("code", person_id))
    return is_right


def _page(
    request: Request,
    *,
    state: str = "",
    status: int = 200,
    **values: Any,
) -> Response:
    visitor = visitor_of(request)
    with site_of(request).database.reading() as session:
        person = session.get_one(Person, visitor.person_id)
        is_on = needs_code(session, person.id)
        left = codes_left(session, person.id)
    shown: dict[str, Any] = {
        "state": "on" if is_on else state or "off",
        "left": left,
        "has_password": has_password(person.password),
        "is_required": visitor.lacks_second_factor and not is_on,
        "fault": "",
        "done": "",
        "recovery_codes": [],
        "secret": "",
        "qr": "",
    }
    return render_page(
        request, "second_factor.html", title="Codes at sign-in", status=status, **shown | values
    )
