"""Sign-in by OpenID Connect: redirection to the provider, and the return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena.errors import SegarenaError
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import BY_PROVIDER, create_key
from segarena_server.auth.oidc_identities import (
    ProviderIdentity,
    begin_sign_in,
    connect_identity,
    create_account_for_identity,
    finish_sign_in,
    person_with_identity,
)
from segarena_server.auth.permissions import (
    ANYONE,
    require_role,
    secrets_match,
    sign,
    site_of,
    visitor_of,
)
from segarena_server.auth.second_factor import needs_code
from segarena_server.db.orm_models import Person
from segarena_server.extensions.pending_work_notices import find_start_page
from segarena_server.pages.account_data import check_recent_sign_in
from segarena_server.pages.accounts import set_session
from segarena_server.pages.rendering import render_page
from segarena_server.site import Site

if TYPE_CHECKING:
    from segarena_server.auth.oidc import Provider

router = APIRouter(include_in_schema=False)
_COOKIE = "segarena_login"
_SIGN_IN_S = 600
_MAX_CODE_LENGTH = 4096


@router.get("/oidc")
@require_role(ANYONE)
def start_sign_in(
    request: Request,
    invitation: str = "",
    connect: str = "",
) -> Response:
    """Redirect the browser to the provider; a cookie binds the sign-in to this browser."""
    site = site_of(request)
    provider = _provider(request)
    person_id = visitor_of(request).person_id if connect else None
    if person_id is not None:
        _check_may_connect(request, person_id)
    with site.database.writing() as session:
        state = begin_sign_in(session, site.now(), person_id=person_id, invitation=invitation[:100])
    try:
        answer = RedirectResponse(
            provider.address(_callback_address(site), state=state, **_derived_secrets(site, state)),
            303,
        )
    except SegarenaError as error:
        raise _refused(error) from error
    answer.set_cookie(
        _COOKIE,
        state,
        max_age=_SIGN_IN_S,
        path="/oidc",
        secure=site.settings.is_secure,
        httponly=True,
        # "lax" instead of "strict", because the browser returns from the provider's site.
        samesite="lax",
    )
    return answer


@router.get("/oidc/back")
@require_role(ANYONE)
def complete_sign_in(
    request: Request,
    state: str = "",
    code: str = "",
) -> Response:
    """Sign in the person whom the provider names, if this browser started the sign-in."""
    site = site_of(request)
    provider = _provider(request)
    # Compared with the cookie, so that nobody can sign a victim's browser in to an attacker's
    # account.
    if not (state and secrets_match(state, request.cookies.get(_COOKIE, ""))):
        raise http_errors.Refusal(
            403, "login", "this browser did not start this sign-in; start again"
        )
    with site.database.writing() as session:
        login = finish_sign_in(session, site.now(), state)
    if login is None:
        raise http_errors.Refusal(403, "login", "this sign-in has expired; start again")
    if not 0 < len(code) <= _MAX_CODE_LENGTH:
        raise http_errors.Refusal(
            403, "login", "the provider did not confirm the sign-in; start again"
        )
    try:
        known = provider.identity(
            _callback_address(site), code=code, **_derived_secrets(site, state)
        )
    except SegarenaError as error:
        _note_refused(request)
        raise _refused(error) from error
    if login.person_id is not None:
        return _connect(request, login.person_id, known)
    return _sign_in(request, known, login.label)


def _sign_in(
    request: Request,
    known: ProviderIdentity,
    invitation: str,
) -> Response:
    site = site_of(request)
    address = visitor_of(request).address
    with site.database.writing() as session:
        person = person_with_identity(session, known)
        if person is None:
            is_open = site.settings.registration == "open"
            person = create_account_for_identity(
                session, site.now(), known, invitation=invitation, is_open=is_open
            )
            record_event(
                session, site.now(), "registered", person.role, person_id=person.id, address=address
            )
        key = ""
        if person.state == "confirmed":
            key = create_key(session, "session", site.now(), person_id=person.id, label=BY_PROVIDER)
            record_event(
                session,
                site.now(),
                "sign-in",
                "by the provider",
                person_id=person.id,
                address=address,
            )
    if person.state == "closed":
        raise http_errors.Refusal(403, "closed", "this account is closed; ask an organiser")
    if not key:
        return render_page(request, "waiting.html", title="Almost done")
    start = find_start_page(site, person.id, person.role)
    return _redirect_page(request, person, start, key)


def _connect(
    request: Request,
    person_id: int,
    known: ProviderIdentity,
) -> Response:
    site = site_of(request)
    address = visitor_of(request).address
    with site.database.writing() as session:
        person = session.get_one(Person, person_id)
        connect_identity(session, site.now(), person_id, known)
        record_event(session, site.now(), "account connected", person_id=person_id, address=address)
    return _redirect_page(request, person, "/account?done=elsewhere")


def _check_may_connect(request: Request, person_id: int) -> None:
    """Raise `Refusal` if the person has a second factor and has not signed in recently.

    A connected account signs in without a code, so a stolen session must not suffice to connect
    one.
    """
    with site_of(request).database.reading() as session:
        has_second_factor = needs_code(session, person_id)
    if has_second_factor:
        check_recent_sign_in(request)


def _redirect_page(
    request: Request,
    person: Person,
    to: str,
    key: str = "",
) -> Response:
    """Return a page that redirects, because browsers send no strict cookies with requests from another site."""
    answer: Any = render_page(request, "redirect.html", title=f"Welcome, {person.name}", onward=to)
    answer.delete_cookie(_COOKIE, path="/oidc")
    if key:
        set_session(answer, site_of(request), key)
    return answer


def _provider(request: Request) -> Provider:
    provider = request.app.state.provider
    if provider is None:
        raise http_errors.unknown()
    return provider


def _derived_secrets(site: Site, state: str) -> dict[str, str]:
    """Derive the nonce and verifier of a sign-in from its state, so that they need not be stored."""
    return {name: sign(site, f"oidc {name}", state) for name in ("nonce", "verifier")}


def _callback_address(site: Site) -> str:
    return f"{site.settings.address}/oidc/back"


def _refused(error: SegarenaError) -> http_errors.Refusal:
    return http_errors.Refusal(
        403, "login", f"signing in with the provider failed: {error}; start again"
    )


def _note_refused(request: Request) -> None:
    site = site_of(request)
    with site.database.writing() as session:
        record_event(
            session,
            site.now(),
            "sign-in refused",
            "by the provider",
            address=visitor_of(request).address,
        )
