"""Pages for registration, signing in and out, and tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import LIFETIME_S, create_key, end_keys, find_key, tokens_of
from segarena_server.auth.accounts import clean_name, fold_name, person_named, register
from segarena_server.auth.known_devices import known_device, set_known_device
from segarena_server.auth.passwords import hash_password, is_password
from segarena_server.auth.permissions import (
    ANYONE,
    cookie_name,
    lacks_factor,
    record_visitor_event,
    require_role,
    session_cookie,
    session_key,
    site_of,
    visitor_of,
)
from segarena_server.auth.second_factor import needs_code, verify_code
from segarena_server.challenges.challenge_repository import all_challenges, description_of
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Person
from segarena_server.extensions.pending_work_notices import find_start_page
from segarena_server.http.request_body import Form
from segarena_server.limits.login_throttle import origin_of
from segarena_server.mail.mail_outbox import clean_address, queue_email
from segarena_server.pages.challenges import dialogue_places
from segarena_server.pages.rendering import render_page
from segarena_server.site import Site

router = APIRouter(include_in_schema=False)
_MOST_TOKENS = 20


@router.get("/sign-in")
@require_role(ANYONE)
def show_sign_in(request: Request) -> Response:
    """Show the sign-in form, or the start page to a person who is signed in.

    The form has no key of a session, so within a session the server would reject it.
    """
    visitor = visitor_of(request)
    if visitor.person_id is not None:
        start = find_start_page(site_of(request), visitor.person_id, visitor.role)
        return RedirectResponse(start, 303)
    return render_page(request, "sign_in.html", title="Sign in", fault="", name="")


@router.post("/sign-in")
@require_role(ANYONE)
def do_sign_in(request: Request, form: Form) -> Response:
    """Sign in; the number of wrong passwords is limited."""
    site = site_of(request)
    visitor = visitor_of(request)
    now = site_of(request).now()
    name = form.get("name", "")[:40]
    password = form.get("password", "")
    with site.database.reading() as session:
        person = person_named(session, name)
    device = known_device(request, person.id) if person else ""
    tried = fold_name(name), visitor.address, device
    if wait_s := site.sign_ins.start(*tried):
        raise http_errors.quota("too many wrong passwords from your address", wait_s)
    # Slow on purpose, also for unknown names; outside the session, so that no connection is held
    # meanwhile.
    is_right = is_password(password, person.password if person else None)
    if person is not None and is_right and person.state == "confirmed":
        site.sign_ins.succeed(*tried)
        return _signed_in_or_asked(request, person)
    if person is not None and is_right and person.state == "waiting":
        site.sign_ins.take_back(*tried)
        return render_page(request, "waiting.html", title="Not confirmed yet")
    with site.database.writing() as session:
        # By id, because the deletion of an account removes its name everywhere.
        about = f"account {person.id}" if person else "no such account"
        record_event(session, now, "sign-in refused", about, address=visitor.address)
    fault = "the name or the password is wrong"
    return render_page(
        request,
        "sign_in.html",
        title="Sign in",
        status=403,
        fault=fault,
        name=name,
    )


@router.get("/sign-in/code")
@require_role(ANYONE)
def show_code_form(request: Request) -> Response:
    """Show the form for the code, if this browser has sent the right password."""
    if _person_of_sign_in(request) is None:
        return RedirectResponse("/sign-in", 303)
    return render_page(request, "sign_in_code.html", title="Sign in", fault="")


@router.post("/sign-in/code")
@require_role(ANYONE)
def do_sign_in_with_code(request: Request, form: Form) -> Response:
    """Finish a sign-in with a code; the number of wrong codes is limited, as for passwords."""
    site = site_of(request)
    address = visitor_of(request).address
    now = site.now()
    person = _person_of_sign_in(request)
    if person is None:
        return RedirectResponse("/sign-in", 303)
    tried = ("code", person.id), ("code from", address)
    if wait_s := site.attempts.take(*tried):
        raise http_errors.quota(
            "too many wrong codes for this account or from your address", wait_s
        )
    with site.database.writing() as session:
        is_right = verify_code(session, site.secret, person.id, form.get("code", ""), now)
        if is_right:
            end_keys(session, person.id, now, kind="factor")
        else:
            about = f"account {person.id}: wrong code"
            record_event(session, now, "sign-in refused", about, address=address)
    if not is_right:
        fault = "the code is wrong or has been used before; wait for the next one"
        return render_page(request, "sign_in_code.html", title="Sign in", status=403, fault=fault)
    # Keep the count of the address: signing in to one's own account must not allow more guesses at
    # others.
    site.attempts.forget(tried[0])
    site.attempts.take_back(tried[1])
    answer = _signed_in(request, person)
    answer.delete_cookie(_code_cookie(site), path="/sign-in")
    return answer


@router.post("/sign-out")
@require_role("viewer", before_second_factor=True)
def do_sign_out(request: Request, form: Form) -> Response:
    """Sign out and end the session."""
    site = site_of(request)
    with site.database.writing() as session:
        key = find_key(session, "session", session_key(request), site.now())
        if key is not None:
            key.ended_at = site.now()
        record_visitor_event(request, session, "sign-out")
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(cookie_name(site_of(request)))
    return answer


@router.get("/register")
@require_role(ANYONE)
def show_register(request: Request, invitation: str = "") -> Response:
    """Show the registration form, with the invitation from the link filled in."""
    return _register_page(request, invitation)


@router.post("/register")
@require_role(ANYONE)
def do_register(request: Request, form: Form) -> Response:
    """Create an account."""
    site = site_of(request)
    address = visitor_of(request).address
    values = {name: form.get(name, "") for name in ("name", "contact", "invitation")}
    email = form.get("email", "")
    is_open = site.settings.registration == "open"
    # Only a valid invitation counts; otherwise any text would lift the limit.
    with site.database.reading() as session:
        is_invited = find_key(session, "invitation", values["invitation"], site.now()) is not None
    needs_email = not is_invited and _count_registration(site, address)
    if (
        email
        and site.settings.mail
        and (wait_s := site.attempts.take(("letters to", email.strip().lower())))
    ):
        raise http_errors.quota("too many e-mails to this address", wait_s)
    try:
        if needs_email and not email:
            raise InvalidInput(
                "many people have registered from your network: enter an e-mail address as well"
            )
        name = clean_name(values["name"])
        kept = hash_password(form.get("password", ""), name)
        with site.database.writing() as session:
            person = register(
                session, site.now(), **{**values, "name": name}, kept=kept, is_open=is_open
            )
            person.email = clean_address(email)
            if person.email and site.settings.mail is not None:
                queue_email(session, site.now(), "address", person=person, to=person.email)
            record_event(
                session, site.now(), "registered", person.role, person_id=person.id, address=address
            )
    except InvalidInput as error:
        shown = {"name": values["name"], "contact": values["contact"], "email": email}
        return _register_page(request, values["invitation"], fault=str(error), status=422, **shown)
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
            raise http_errors.quota(
                f"you have the maximum of {_MOST_TOKENS} tokens: revoke one first", None
            )
        text = create_key(
            session, "token", site.now(), person_id=visitor.person_id, label=label or "a program"
        )
        record_visitor_event(request, session, "token made", label)
    return _tokens_page(request, fresh=text)


@router.post("/tokens/{number:int}/end")
@require_role("participant")
def end_token(
    request: Request,
    number: int,
    form: Form,
) -> Response:
    """Revoke one of the visitor's tokens."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        if not end_keys(session, visitor.person_id or 0, site.now(), kind="token", number=number):
            raise http_errors.unknown()
        record_visitor_event(request, session, "token ended")
    return RedirectResponse("/tokens", 303)


def _signed_in_or_asked(request: Request, person: Person) -> Response:
    """Start a session; if the account has a second factor, ask for a code first and grant nothing yet."""
    site = site_of(request)
    with site.database.reading() as session:
        is_enough = not needs_code(session, person.id)
    if is_enough:
        return _signed_in(request, person)
    with site.database.writing() as session:
        key = create_key(session, "factor", site.now(), person_id=person.id)
    answer = RedirectResponse("/sign-in/code", 303)
    answer.set_cookie(
        _code_cookie(site),
        key,
        max_age=int(LIFETIME_S["factor"]),
        path="/sign-in",
        secure=site.settings.is_secure,
        httponly=True,
        samesite="strict",
    )
    return answer


def _person_of_sign_in(request: Request) -> Person | None:
    """Return the person whose password this browser sent correctly within the last ten minutes, or None."""
    site = site_of(request)
    text = request.cookies.get(_code_cookie(site), "")
    with site.database.reading() as session:
        key = find_key(session, "factor", text, site.now())
        person = session.get(Person, key.person_id) if key and key.person_id else None
    return person if person is not None and person.state == "confirmed" else None


def _code_cookie(site: Site) -> str:
    return f"{cookie_name(site)}-code"


def _signed_in(request: Request, person: Person) -> Response:
    site = site_of(request)
    address = visitor_of(request).address
    with site.database.writing() as session:
        key = create_key(session, "session", site.now(), person_id=person.id)
        record_event(session, site.now(), "sign-in", person_id=person.id, address=address)
    # Without a required second factor, the session opens few pages, and the home page says why.
    role = "viewer" if lacks_factor(site, person, "") else person.role
    answer = RedirectResponse(find_start_page(site, person.id, role), 303)
    set_session(answer, site, key)
    set_known_device(answer, request, person.id)
    return answer


def _count_registration(site: Site, address: str) -> bool:
    """Count a registration; return whether it needs an e-mail address because many others came from this IP address.

    A whole school may share one address, so many registrations are allowed before `registrations`
    is reached.

    Raises:
        Refusal: there were too many registrations.
    """
    origin = origin_of(address)
    most = {"register": site.settings.limits.registrations}
    if wait_s := site.attempts.take(("register", origin), most=most):
        raise http_errors.quota("too many accounts from your address", wait_s)
    were_many = site.attempts.take(("register without e-mail", origin)) > 0
    return were_many and site.settings.mail is not None


def set_session(
    answer: Response,
    site: Site,
    key: str,
) -> None:
    """Set the session cookie of a response."""
    answer.set_cookie(
        cookie_name(site),
        session_cookie(site, key),
        max_age=int(LIFETIME_S["session"]),
        secure=site.settings.is_secure,
        httponly=True,
        # Strict cookies keep other sites from starting requests in a visitor's name.
        samesite="strict",
    )


def _register_page(
    request: Request,
    invitation: str,
    *,
    fault: str = "",
    status: int = 200,
    **shown: str,
) -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        key = find_key(session, "invitation", invitation, site.now()) if invitation else None
    if invitation and key is None:
        fault = fault or "the invitation is invalid or has expired; ask an organiser for a new one"
    values: dict[str, Any] = {"name": "", "contact": "", "email": "", **shown}
    values |= {"invitation": invitation if key else "", "is_invited": key is not None}
    is_open = site.settings.registration == "open"
    return render_page(
        request,
        "register.html",
        title="Register",
        status=status,
        fault=fault,
        is_open=is_open,
        **values,
    )


def _tokens_page(request: Request, fresh: str = "") -> Response:
    site = site_of(request)
    with site.database.reading() as session:
        tokens = tokens_of(session, visitor_of(request).person_id, site.now())
        open_challenges = [one for one in all_challenges(session) if one.state == "open"]
    slug = place = "NAME"
    if len(open_challenges) == 1:
        slug = place = open_challenges[0].slug
        described = description_of(open_challenges[0])
        now = utc_datetime(site.now())
        begun = [phase for phase in described.phases if phase.is_open(now)]
        # A complete address, because the client rejects one without a phase if several are open.
        place = next(iter(dialogue_places(described, begun)), slug)
    return render_page(
        request,
        "tokens.html",
        title="Tokens",
        tokens=tokens,
        fresh=fresh,
        slug=slug,
        place=place,
    )
