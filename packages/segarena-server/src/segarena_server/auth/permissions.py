"""Who is asking, and whether they may: every route says whom it needs, and one that says nothing lets nobody in."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fastapi import Request

from segarena.files.hashes import sha256
from segarena_server.auth.accounts import is_at_least
from segarena_server.auth.keys import find_key
from segarena_server.db.database import DatabaseAway
from segarena_server.db.orm_models import AccessKey, Person
from segarena_server.extensions.interfaces import interface_of
from segarena_server.http import http_errors
from segarena_server.site import Site

ANYONE = "anyone"
_USED_EVERY_S = 60.0
"""When a key was used last is kept to the minute, not written with every request."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who is asking.

    Attributes:
        address: where from.
        person_id: None for nobody in particular.
        name: of the account.
        role: "" for nobody in particular.
        form_key: what a form of theirs must bring along, so that no other site can send it; "" for a script.
    """

    address: str
    person_id: int | None = None
    name: str = ""
    role: str = ""
    form_key: str = ""

    def may(self, role: str) -> bool:
        """Tell whether they may do what this role may."""
        return role == ANYONE or (bool(self.role) and is_at_least(self.role, role))


def require_role(role: str) -> Callable[[Endpoint], Endpoint]:
    """Let a route be used by this role and those above it, or by `ANYONE`."""

    def mark(endpoint: Endpoint) -> Endpoint:
        cast("Any", endpoint).needs = role
        return endpoint

    return mark


def required_role(endpoint: Any) -> str | None:
    """Return whom a route needs; None when it does not say, so that nobody may use it."""
    return getattr(endpoint, "needs", None)


def guard(request: Request) -> None:
    """Find out who is asking and let them in, or not; runs before every route.

    Raises:
        Refusal: they may not.
    """
    site = site_of(request)
    address = request.client.host if request.client else ""
    role = required_role(request.scope.get("endpoint"))
    if role is None:
        raise http_errors.unknown()
    interface = interface_of(request)
    if interface is not None:
        visitor = _visitor(site, "token", request.headers.get(interface.token_header, ""), address)
    else:
        if is_api(request):
            visitor = _by_token(site, request, address)
        else:
            visitor = _by_cookie(site, request, address)
    _keep_pace(site, address if visitor.person_id is None else visitor.person_id)
    request.state.visitor = visitor
    if visitor.may(role):
        return
    if visitor.person_id is None:
        raise http_errors.no_token()
    raise http_errors.unknown() if is_at_least(role, "organiser") else http_errors.forbidden()


def visitor_of(request: Request) -> Visitor:
    """Return who is asking."""
    return cast("Visitor", request.state.visitor)


def site_of(request: Request) -> Site:
    """Return the site that is asked."""
    return cast("Site", request.app.state.site)


def is_api(request: Request) -> bool:
    """Tell whether a program is asking, by what it asks for."""
    return request.url.path.startswith("/api/")


def cookie_name(site: Site) -> str:
    """Return what the cookie of a session is called here.

    A browser has one jar for all ports of a machine: two studios side by side would log each other out.
    """
    return f"segarena-{sign(site, 'cookie name', '')[:8]}"


def session_cookie(site: Site, key: str) -> str:
    """Return what the cookie of a session holds: its key, signed."""
    return f"{key}.{sign(site, 'cookie', key)}"


def session_key(request: Request) -> str:
    """Return the key of the session that a cookie names; "" when it is not signed by us."""
    site = site_of(request)
    key, _, signature = request.cookies.get(cookie_name(site), "").partition(".")
    return key if secrets_match(signature, sign(site, "cookie", key)) else ""


def secrets_match(given: str, expected: str) -> bool:
    """Compare two secrets in a time that tells nothing of them."""
    return hmac.compare_digest(given.encode(), expected.encode())


def sign(site: Site, purpose: str, text: str) -> str:
    """Return what nobody else can make of a text, for a purpose."""
    return hmac.new(site.secret, f"{purpose}:{text}".encode(), "sha256").hexdigest()


def _keep_pace(site: Site, who: str | int) -> None:
    if wait_s := site.requests.wait_s(who):
        raise http_errors.quota(
            f"at most {site.settings.limits.requests_per_minute} requests a minute", wait_s
        )
    site.requests.count(who)


def _by_token(site: Site, request: Request, address: str) -> Visitor:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _visitor(site, "token", text.strip(), address)
    return Visitor(address=address)


def _by_cookie(site: Site, request: Request, address: str) -> Visitor:
    key = session_key(request)
    return _visitor(site, "session", key, address) if key else Visitor(address=address)


def _visitor(site: Site, kind: Any, text: str, address: str) -> Visitor:
    now = site.now()
    with site.database.reading() as session:
        key = find_key(session, kind, text, now)
        person = session.get(Person, key.person_id) if key and key.person_id else None
    if key is None or person is None or person.state != "confirmed":
        return Visitor(address=address)
    if key.used_at is None or now - key.used_at > _USED_EVERY_S:
        with (
            suppress(DatabaseAway),
            site.database.writing() as session,
        ):  # a full disk keeps nobody from reading
            used = session.get(AccessKey, key.id)
            if used:
                used.used_at = now
    own = sign(site, "form", sha256(text)) if kind == "session" else ""
    return Visitor(
        address=address, person_id=person.id, name=person.name, role=person.role, form_key=own
    )
