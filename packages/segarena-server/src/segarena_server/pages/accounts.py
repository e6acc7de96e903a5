"""Pages for registration, signing in and out, and tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server.audit_log import record_event
from segarena_server.auth.accounts import clean_name, fold_name, person_named, register
from segarena_server.auth.keys import LIFETIME_S, create_key, end_keys, find_key, tokens_of
from segarena_server.auth.passwords import hash_password, is_password
from segarena_server.auth.permissions import (
    ANYONE,
    cookie_name,
    require_role,
    session_cookie,
    session_key,
    site_of,
    visitor_of,
)
from segarena_server.challenges.challenge_repository import all_challenges
from segarena_server.db.orm_models import Person
from segarena_server.http import http_errors
from segarena_server.http.request_body import Form
from segarena_server.mail.mail_outbox import clean_address, queue_email
from segarena_server.pages.rendering import render_page
from segarena_server.site import Site

router = APIRouter(include_in_schema=False)
_MOST_TOKENS = 20


@router.get("/sign-in")
@require_role(ANYONE)
def show_sign_in(request: Request) -> Response:
    """Show the sign-in form."""
    return render_page(request, "sign_in.html", title="Sign in", fault="", name="")


@router.post("/sign-in")
@require_role(ANYONE)
def do_sign_in(request: Request, form: Form) -> Response:
    """Sign in; wrong passwords are limited."""
    site = site_of(request)
    visitor = visitor_of(request)
    now = site_of(request).now()
    name = form.get("name", "")[:40]
    password = form.get("password", "")
    tried = ("name", fold_name(name)), ("address", visitor.address)
    if wait_s := site.attempts.take(*tried):
        raise http_errors.quota(
            "too many wrong passwords for this name or from this address", wait_s
        )
    with site.database.reading() as session:
        person = person_named(session, name)
    # Slow on purpose, also for unknown names; outside the session, to hold no connection meanwhile.
    is_right = is_password(password, person.password if person else None)
    if person is not None and is_right and person.state == "confirmed":
        site.attempts.forget(tried[0])
        site.attempts.take_back(tried[1])
        return _signed_in(request, person)
    if person is not None and is_right and person.state == "waiting":
        site.attempts.take_back(*tried)
        return render_page(request, "waiting.html", title="Not confirmed yet")
    with site.database.writing() as session:
        # By number, because names are removed when an account is deleted.
        about = f"account {person.id}" if person else "no such account"
        record_event(session, now, "sign-in refused", about, address=visitor.address)
    fault = "the name or the password is wrong"
    return render_page(request, "sign_in.html", title="Sign in", status=403, fault=fault, name=name)


@router.post("/sign-out")
@require_role("viewer")
def do_sign_out(request: Request, form: Form) -> Response:
    """Sign out and end the session."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        key = find_key(session, "session", session_key(request), site.now())
        if key is not None:
            key.ended_at = site.now()
        record_event(
            session, site.now(), "sign-out", person_id=visitor.person_id, address=visitor.address
        )
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(cookie_name(site_of(request)))
    return answer


@router.get("/register")
@require_role(ANYONE)
def show_register(request: Request, invitation: str = "") -> Response:
    """Show the registration form, filled with the invitation of the link."""
    return _register_page(request, invitation)


@router.post("/register")
@require_role(ANYONE)
def do_register(request: Request, form: Form) -> Response:
    """Create an account."""
    site = site_of(request)
    address = visitor_of(request).address
    told = {name: form.get(name, "") for name in ("name", "contact", "invitation")}
    email = form.get("email", "")
    is_open = site.settings.registration == "open"
    if not told["invitation"] and (wait_s := site.attempts.take(("register", address))):
        raise http_errors.quota("too many accounts from this address", wait_s)
    if (
        email
        and site.settings.mail
        and (wait_s := site.attempts.take(("letters to", email.strip().lower())))
    ):
        raise http_errors.quota("too many e-mails to this address", wait_s)
    try:
        name = clean_name(told["name"])
        kept = hash_password(form.get("password", ""), name)
        with site.database.writing() as session:
            person = register(
                session, site.now(), **{**told, "name": name}, kept=kept, is_open=is_open
            )
            person.email = clean_address(email)
            if person.email and site.settings.mail is not None:
                queue_email(session, site.now(), "address", person=person, to=person.email)
            record_event(
                session, site.now(), "registered", person.role, person_id=person.id, address=address
            )
    except InvalidInput as error:
        shown = {"name": told["name"], "contact": told["contact"], "email": email}
        return _register_page(request, told["invitation"], fault=str(error), status=422, **shown)
    if person.state == "confirmed":
        return _signed_in(request, person)
    return render_page(request, "waiting.html", title="Almost done")


@router.get("/tokens")
@require_role("participant")
def show_tokens(request: Request) -> Response:
    """List the visitor's tokens."""
    return _tokens_page(request)


@router.post("/tokens")
@require_role("participant")
def make_token(request: Request, form: Form) -> Response:
    """Create a token and show it once."""
    site = site_of(request)
    visitor = visitor_of(request)
    label = " ".join(form.get("label", "").split())[:80]
    with site.database.writing() as session:
        if len(tokens_of(session, visitor.person_id, site.now())) >= _MOST_TOKENS:
            raise http_errors.quota(f"at most {_MOST_TOKENS} tokens: revoke one first", None)
        text = create_key(
            session, "token", site.now(), person_id=visitor.person_id, label=label or "a program"
        )
        record_event(
            session,
            site.now(),
            "token made",
            label,
            person_id=visitor.person_id,
            address=visitor.address,
        )
    return _tokens_page(request, fresh=text)


@router.post("/tokens/{number:int}/end")
@require_role("participant")
def end_token(request: Request, number: int, form: Form) -> Response:
    """Revoke one of the visitor's tokens."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        if not end_keys(session, visitor.person_id or 0, site.now(), kind="token", number=number):
            raise http_errors.unknown()
        record_event(
            session, site.now(), "token ended", person_id=visitor.person_id, address=visitor.address
        )
    return RedirectResponse("/tokens", 303)


def _signed_in(request: Request, person: Person) -> Response:
    site = site_of(request)
    address = visitor_of(request).address
    with site.database.writing() as session:
        key = create_key(session, "session", site.now(), person_id=person.id)
        record_event(session, site.now(), "sign-in", person_id=person.id, address=address)
    answer = RedirectResponse("/", 303)
    set_session(answer, site, key)
    return answer


def set_session(answer: Response, site: Site, key: str) -> None:
    """Set the session cookie of a response."""
    answer.set_cookie(
        cookie_name(site), session_cookie(site, key), max_age=int(LIFETIME_S["session"]),
        secure=site.settings.is_secure,
        httponly=True, samesite="strict",
    )  # fmt: skip


def _register_page(
    request: Request, invitation: str, *, fault: str = "", status: int = 200, **shown: str
) -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        key = find_key(session, "invitation", invitation, site.now()) if invitation else None
    if invitation and key is None:
        fault = fault or "the invitation is not valid (any more); ask an organiser for another"
    told: dict[str, Any] = {"name": "", "contact": "", "email": "", **shown}
    told |= {"invitation": invitation if key else "", "is_invited": key is not None}
    is_open = site.settings.registration == "open"
    return render_page(
        request,
        "register.html",
        title="Register",
        status=status,
        fault=fault,
        is_open=is_open,
        **told,
    )


def _tokens_page(request: Request, fresh: str = "") -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        tokens = tokens_of(session, visitor_of(request).person_id, site.now())
        is_open = [
            challenge.slug for challenge in all_challenges(session) if challenge.state == "open"
        ]
    slug = is_open[0] if len(is_open) == 1 else "NAME"
    return render_page(
        request, "tokens.html", title="Tokens", tokens=tokens, fresh=fresh, slug=slug
    )
