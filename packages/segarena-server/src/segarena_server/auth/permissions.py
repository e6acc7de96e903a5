"""Authentication and authorization: each route names the role that it requires; a route without one is closed."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fastapi import Request
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.files.hashes import sha256
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.access_keys import BY_PROVIDER, find_key
from segarena_server.auth.accounts import is_at_least
from segarena_server.auth.challenge_organisers import organised_challenges
from segarena_server.auth.second_factor import needs_code
from segarena_server.challenges.interfaces import interface_of
from segarena_server.db.database import DatabaseAway
from segarena_server.db.orm_models import ROLES, AccessKey, Challenge, Person, Run, Submission
from segarena_server.limits.login_throttle import origin_of
from segarena_server.site import Site

ANYONE = "anyone"
_USED_EVERY_S = 60.0
"""Resolution of a key's last-use time, because writing it on every request would be too slow."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The sender of a request.

    Attributes:
        address: IP address.
        person_id: id of the account; None if not signed in.
        name: name of the account.
        role: role of the account; "" if not signed in.
        form_key: token that forms must contain against cross-site request forgery; "" for API clients.
        lacks_second_factor: whether the server requires a second factor that the account has not set up;
            until then its session has the role "viewer" and opens few pages.
        challenges: ids of the challenges that an organiser was assigned to; empty for other roles.
    """

    address: str
    person_id: int | None = None
    name: str = ""
    role: str = ""
    form_key: str = ""
    lacks_second_factor: bool = False
    challenges: frozenset[int] = frozenset()

    def organises(self, challenge_id: int) -> bool:
        """Return whether the visitor manages a challenge: as an admin, or as one of its organisers."""
        return self.may("admin") or (self.may("organiser") and challenge_id in self.challenges)

    def managed_challenges(self) -> frozenset[int] | None:
        """Return the ids of the challenges that the visitor manages, or None for all."""
        return None if self.may("admin") else self.challenges

    def may(self, role: str) -> bool:
        """Return whether the visitor has the rights of a role."""
        return role == ANYONE or (bool(self.role) and is_at_least(self.role, role))


def require_role(
    role: str, *, before_second_factor: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Open a route to visitors with at least this role, or to `ANYONE`.

    Args:
        role: the lowest role.
        before_second_factor: whether the route is also open to sessions that lack a required second factor.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        cast("Any", endpoint).needs = role
        cast("Any", endpoint).before_second_factor = before_second_factor
        return endpoint

    return mark


def require_organiser_of(parameter: str) -> Callable[[Endpoint], Endpoint]:
    """Open a route to the organisers of the challenge in its path.

    Args:
        parameter: name of the path parameter: "slug" of the challenge, or "run_id" of one of its runs.
    """

    def mark(endpoint: Endpoint) -> Endpoint:
        cast("Any", endpoint).challenge_parameter = parameter
        return require_role("organiser")(endpoint)

    return mark


def challenge_parameter(endpoint: Any) -> str | None:
    """Return the path parameter that opens a route to organisers of one challenge; None for other routes."""
    return getattr(endpoint, "challenge_parameter", None)


def required_role(endpoint: Any) -> str | None:
    """Return the role that a route requires, or None if it names no role; such a route is closed to everybody."""
    return getattr(endpoint, "needs", None)


def guard(request: Request) -> None:
    """Authenticate the visitor and authorize the request; runs before every route.

    Raises:
        Refusal: the visitor lacks the role, or exceeds the rate limit.
    """
    site = site_of(request)
    address = request.client.host if request.client else ""
    role = required_role(request.scope.get("endpoint"))
    if role is None:
        # A route that forgot to name its role looks like one that does not exist.
        raise http_errors.unknown()
    interface = interface_of(request)
    if interface is not None:
        visitor = _visitor(site, "token", request.headers.get(interface.token_header, ""), address)
    elif is_api(request):
        visitor = _visitor_by_token(site, request, address)
    else:
        visitor = _visitor_by_cookie(site, request, address)
    # Before the role check, so that the limit also applies to guessing tokens and paths. Per person
    # when signed in, because a whole school may share one address.
    _limit_rate(site, origin_of(address) if visitor.person_id is None else visitor.person_id)
    request.state.visitor = visitor
    endpoint = request.scope.get("endpoint")
    is_allowed_before = role == ANYONE or getattr(endpoint, "before_second_factor", False)
    if visitor.lacks_second_factor and not is_allowed_before:
        raise http_errors.second_factor()
    if visitor.may(role):
        parameter = challenge_parameter(endpoint)
        if parameter is not None:
            _check_organises(site, visitor, parameter, request.path_params[parameter])
        return
    if visitor.person_id is None:
        raise http_errors.no_token()
    # Other visitors must not learn that a page for organisers exists.
    if is_at_least(role, "organiser"):
        raise http_errors.unknown()
    raise http_errors.forbidden()


def _check_organises(
    site: Site,
    visitor: Visitor,
    parameter: str,
    value: str,
) -> None:
    """Raise `Refusal` unless the visitor manages the challenge in the path; hide the route from others."""
    if visitor.may("admin"):
        return
    columns = {
        "slug": select(Challenge.id).where(Challenge.slug == value),
        "run_id": select(Run.challenge_id).where(Run.id == value),
    }
    with site.database.reading() as session:
        challenge_id = session.scalar(columns[parameter])
    if challenge_id is None or not visitor.organises(challenge_id):
        raise http_errors.unknown()


def check_may_assign(visitor: Visitor, role: str) -> None:
    """Raise `Refusal` unless the visitor may assign a role to an account."""
    if role not in ROLES:
        raise http_errors.invalid(f"role: expected {', '.join(ROLES)}")
    # Otherwise an organiser could create another organiser, whom only an admin could remove.
    if is_at_least(role, "organiser") and not visitor.may("admin"):
        raise http_errors.forbidden()


def check_may_change(
    session: Session,
    visitor: Visitor,
    person: Person,
) -> None:
    """Raise `Refusal` unless the visitor may change an account or create a reset link for it.

    Organisers may change neither other organisers' accounts nor accounts with a run in a challenge
    that they do not manage: with a reset link they could act as a participant there.
    """
    if visitor.may("admin"):
        return
    if is_at_least(person.role, "organiser"):
        raise http_errors.forbidden()
    took_part = select(Run.challenge_id).where(Run.person_id == person.id)
    sent = select(Submission.challenge_id).where(Submission.person_id == person.id)
    challenges = {*session.scalars(took_part.distinct()), *session.scalars(sent.distinct())}
    if not challenges <= visitor.challenges:
        raise http_errors.Refusal(
            403,
            "forbidden",
            "this account takes part in a challenge that you do not organise; ask an admin to change it",
        )


def visitor_of(request: Request) -> Visitor:
    """Return the visitor of a request."""
    return cast("Visitor", request.state.visitor)


def site_of(request: Request) -> Site:
    """Return the site of a request."""
    return cast("Site", request.app.state.site)


def record_visitor_event(
    request: Request,
    session: Session,
    action: str,
    about: str = "",
) -> None:
    """Append an action to the audit log, with the current time and the visitor's account and address."""
    visitor = visitor_of(request)
    record_event(
        session,
        site_of(request).now(),
        action,
        about,
        person_id=visitor.person_id,
        address=visitor.address,
    )


def is_api(request: Request) -> bool:
    """Return whether a request is for the API, judged by its path."""
    return request.url.path.startswith("/api/")


def cookie_name(site: Site) -> str:
    """Return the name of the session cookie, which differs between servers.

    Browsers share cookies between all ports of a host, so with one name two studios on a machine
    would sign each other out.
    """
    return f"segarena-{sign(site, 'cookie name', '')[:8]}"


def session_cookie(site: Site, key: str) -> str:
    """Return the value of the session cookie: the key and its signature."""
    return f"{key}.{sign(site, 'cookie', key)}"


def session_key(request: Request) -> str:
    """Return the session key in the cookie, or "" if the signature is invalid."""
    site = site_of(request)
    key, _, signature = request.cookies.get(cookie_name(site), "").partition(".")
    return key if secrets_match(signature, sign(site, "cookie", key)) else ""


def secrets_match(given: str, expected: str) -> bool:
    """Return whether two secrets are equal, in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


def sign(
    site: Site,
    purpose: str,
    text: str,
) -> str:
    """Sign a text for a purpose with HMAC-SHA256 and the server's secret."""
    return hmac.new(site.secret, f"{purpose}:{text}".encode(), "sha256").hexdigest()


def _limit_rate(site: Site, who: str | int) -> None:
    if wait_s := site.requests.wait_s(who):
        raise http_errors.quota(
            f"at most {site.settings.limits.requests_per_minute} requests a minute", wait_s
        )
    site.requests.count(who)


def _visitor_by_token(
    site: Site,
    request: Request,
    address: str,
) -> Visitor:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _visitor(site, "token", text.strip(), address)
    return Visitor(address=address)


def _visitor_by_cookie(
    site: Site,
    request: Request,
    address: str,
) -> Visitor:
    key = session_key(request)
    return _visitor(site, "session", key, address) if key else Visitor(address=address)


def _visitor(
    site: Site,
    kind: Any,
    text: str,
    address: str,
) -> Visitor:
    now = site.now()
    with site.database.reading() as session:
        key = find_key(session, kind, text, now)
        person = session.get(Person, key.person_id) if key and key.person_id else None
        if person is not None and person.role == "organiser":
            challenges = organised_challenges(session, person.id)
        else:
            challenges = frozenset[int]()
    # A closed or deleted account loses access at once, even if its keys were not revoked.
    if key is None or person is None or person.state != "confirmed":
        return Visitor(address=address)
    if key.used_at is None or now - key.used_at > _USED_EVERY_S:
        # A full disk must not keep anyone from reading.
        with suppress(DatabaseAway), site.database.writing() as session:
            used = session.get(AccessKey, key.id)
            if used:
                used.used_at = now
    # Derived from the session key, so that it needs no storage and ends with the session.
    form_key = sign(site, "form", sha256(text)) if kind == "session" else ""
    lacks_second_factor = kind == "session" and lacks_factor(site, person, key.label)
    return Visitor(
        address=address,
        person_id=person.id,
        name=person.name,
        role="viewer" if lacks_second_factor else person.role,
        form_key=form_key,
        lacks_second_factor=lacks_second_factor,
        challenges=challenges,
    )


def lacks_factor(
    site: Site,
    person: Person,
    label: str,
) -> bool:
    """Return whether the settings require a second factor that the account has not set up.

    Args:
        site: the site.
        person: the account.
        label: label of the session's key; see `BY_PROVIDER`.
    """
    required = {"optional": "", "admins": "admin", "organisers": "organiser"}
    role = required[site.settings.second_factor]
    if not role or not is_at_least(person.role, role) or label == BY_PROVIDER:
        return False
    with site.database.reading() as session:
        return not needs_code(session, person.id)
