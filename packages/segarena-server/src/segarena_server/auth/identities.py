"""Accounts elsewhere that people sign in with here, told apart by issuer and subject."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput, MissingExtra
from segarena.files.hashes import sha256
from segarena_server.auth.accounts import clean_name, create_account
from segarena_server.auth.keys import create_key, find_key, find_key_by_hash
from segarena_server.db.orm_models import AccessKey, Identity, Person
from segarena_server.settings import OidcSettings

if TYPE_CHECKING:
    from segarena_server.auth.oidc import Provider

NO_PASSWORD = "-"  # noqa: S105 - it is none: nothing hashes to it
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderIdentity:
    """Who somebody is at a provider.

    Attributes:
        issuer: the provider.
        subject: the same for the same person, and for nobody else there.
        name: what they may be called; "" when the provider does not say.
    """

    issuer: str
    subject: str
    name: str


def begin_sign_in(session: Session, now: float, *, person_id: int | None, invitation: str) -> str:
    """Return the state of a sign-in that begins: it comes back once, within minutes, or nobody is let in.

    Args:
        session: writes.
        now: the time.
        person_id: whose account is to be connected; None to sign in.
        invitation: the text of one that somebody brought, or "".
    """
    is_over = (AccessKey.ends_at < now) | AccessKey.ended_at.is_not(None)
    session.connection().execute(delete(AccessKey).where(AccessKey.kind == "login", is_over))
    return create_key(
        session, "login", now, person_id=person_id, label=sha256(invitation) if invitation else ""
    )


def finish_sign_in(session: Session, now: float, state: str) -> AccessKey | None:
    """Return the sign-in that a state is of, which ends with it; None for any other text."""
    key = find_key(session, "login", state, now)
    if key is not None:
        key.ended_at = key.used_at = now
    return key


def person_with_identity(session: Session, known: ProviderIdentity) -> Person | None:
    """Return who signs in so."""
    own = select(Identity).where(Identity.issuer == known.issuer, Identity.subject == known.subject)
    found = session.scalar(own)
    return None if found is None else session.get_one(Person, found.person_id)


def connect_identity(session: Session, now: float, person_id: int, known: ProviderIdentity) -> None:
    """Let somebody sign in with an account elsewhere.

    Raises:
        InvalidInput: somebody else does.
    """
    other = person_with_identity(session, known)
    if other is not None and other.id != person_id:
        raise InvalidInput("another account here is connected with it")
    if other is None:
        session.add(
            Identity(issuer=known.issuer, subject=known.subject, person_id=person_id, made_at=now)
        )
        try:
            session.flush()
        except IntegrityError as error:  # at the same moment, in another window
            raise InvalidInput("this is going on elsewhere; begin it again") from error


def newcomer(
    session: Session, now: float, known: ProviderIdentity, *, invitation: str, is_open: bool
) -> Person:
    """Return a new account of somebody who signs in so for the first time: it waits, unless they brought an invitation.

    Args:
        session: writes.
        now: the time.
        known: who they are.
        invitation: the hash of one, or "".
        is_open: whether one needs none.

    Raises:
        InvalidInput: an invitation is needed, or every name like theirs is taken.
    """
    key = find_key_by_hash(session, "invitation", invitation, now) if invitation else None
    if key is None and not is_open:
        raise InvalidInput(
            "accounts are made by invitation here; ask an organiser for a link, and sign in from there"
        )
    for number in range(1, _MOST_NAMES):
        with suppress(InvalidInput), session.begin_nested():
            person = create_account(
                session, now, name=_name(known, number), kept=NO_PASSWORD, invited=key
            )
            connect_identity(session, now, person.id, known)
            return person
    raise InvalidInput("your name is taken here, with any number behind it; ask an organiser")


def provider_of(settings: OidcSettings, clock: Callable[[], float] = time.time) -> Provider:
    """Return the provider that settings name.

    Raises:
        MissingExtra: the packages for it are not installed.
    """
    try:
        from segarena_server.auth.oidc import Provider
    except ImportError as error:
        raise MissingExtra(
            'signing in elsewhere needs more packages: pip install "segarena[oidc]"'
        ) from error
    return Provider(settings, clock)


def _name(known: ProviderIdentity, number: int) -> str:
    try:
        plain = clean_name(known.name[:36].strip(" .'-"))
    except InvalidInput:
        plain = "participant"
    return plain if number == 1 else f"{plain} {number}"
