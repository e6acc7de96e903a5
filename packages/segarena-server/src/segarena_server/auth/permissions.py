"""Authentication and authorization: each route names the role that it requires; without one it is closed."""

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
"""Resolution of a key's time of last use: writing it with every request would be too slow."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The sender of a request.

    Attributes:
        address: IP address.
        person_id: None when not signed in.
        name: of the account.
        role: "" when not signed in.
        form_key: token that forms must contain against cross-site request forgery; "" for API clients.
    """

    address: str
    person_id: int | None = None
    name: str = ""
    role: str = ""
    form_key: str = ""

    def may(self, role: str) -> bool:
        """Tell whether the visitor has the rights of a role."""
        return role == ANYONE or (bool(self.role) and is_at_least(self.role, role))


def require_role(role: str) -> Callable[[Endpoint], Endpoint]:
    """Open a route to a role and those above it, or to `ANYONE`."""

    def mark(endpoint: Endpoint) -> Endpoint:
        cast("Any", endpoint).needs = role
        return endpoint

    return mark


def required_role(endpoint: Any) -> str | None:
    """Return the role that a route requires; None when it names none and is closed."""
    return getattr(endpoint, "needs", None)


def guard(request: Request) -> None:
    """Authenticate the visitor and authorize the request; runs before every route.

    Raises:
        Refusal: the visitor lacks the role, or sends too many requests.
    """
    site = site_of(request)
    address = request.client.host if request.client else ""
    role = required_role(request.scope.get("endpoint"))
    if role is None:
        raise http_errors.unknown()
    interface = interface_of(request)
    if interface is not None:
        visitor = _visitor(site, "token", request.headers.get(interface.token_header, ""), address)
    elif is_api(request):
        visitor = _visitor_by_token(site, request, address)
    else:
        visitor = _visitor_by_cookie(site, request, address)
    _limit_rate(site, address if visitor.person_id is None else visitor.person_id)
    request.state.visitor = visitor
    if visitor.may(role):
        return
    if visitor.person_id is None:
        raise http_errors.no_token()
    # Pages of organisers are not even known to exist to others.
    if is_at_least(role, "organiser"):
        raise http_errors.unknown()
    raise http_errors.forbidden()


def visitor_of(request: Request) -> Visitor:
    """Return the visitor of a request."""
    return cast("Visitor", request.state.visitor)


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    return cast("Site", request.app.state.site)


def is_api(request: Request) -> bool:
    """Tell whether a request is for the API, by its path."""
    return request.url.path.startswith("/api/")


def cookie_name(site: Site) -> str:
    """Return the name of the session cookie.

    Browsers share cookies between all ports of a host: with one name, two studios on a machine would
    sign each other out.
    """
    return f"segarena-{sign(site, 'cookie name', '')[:8]}"


def session_cookie(site: Site, key: str) -> str:
    """Return the value of the session cookie: the key and its signature."""
    return f"{key}.{sign(site, 'cookie', key)}"


def session_key(request: Request) -> str:
    """Return the session key of the cookie; "" when its signature is invalid."""
    site = site_of(request)
    key, _, signature = request.cookies.get(cookie_name(site), "").partition(".")
    return key if secrets_match(signature, sign(site, "cookie", key)) else ""


def secrets_match(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())


def sign(site: Site, purpose: str, text: str) -> str:
    """Return the signature of a text for a purpose: HMAC-SHA256 with the server's secret."""
    return hmac.new(site.secret, f"{purpose}:{text}".encode(), "sha256").hexdigest()


def _limit_rate(site: Site, who: str | int) -> None:
    if wait_s := site.requests.wait_s(who):
        raise http_errors.quota(
            f"at most {site.settings.limits.requests_per_minute} requests a minute", wait_s
        )
    site.requests.count(who)


def _visitor_by_token(site: Site, request: Request, address: str) -> Visitor:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _visitor(site, "token", text.strip(), address)
    return Visitor(address=address)


def _visitor_by_cookie(site: Site, request: Request, address: str) -> Visitor:
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
        # A full disk must not stop anyone from reading.
        with suppress(DatabaseAway), site.database.writing() as session:
            used = session.get(AccessKey, key.id)
            if used:
                used.used_at = now
    form_key = sign(site, "form", sha256(text)) if kind == "session" else ""
    return Visitor(
        address=address, person_id=person.id, name=person.name, role=person.role, form_key=form_key
    )
