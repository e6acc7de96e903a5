"""Sign-in with accounts of an OpenID Connect provider, identified by issuer and subject."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.files.hashes import sha256
from segarena_server.auth.access_keys import create_key, find_key, find_key_by_hash
from segarena_server.auth.accounts import clean_name, create_account
from segarena_server.db.orm_models import AccessKey, Identity, Person

NO_PASSWORD = "-"  # noqa: S105 - not a password: no key has this hash
_MOST_NAMES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderIdentity:
    """An account at a provider.

    Attributes:
        issuer: issuer identifier of the provider.
        subject: permanent identifier of one person at this provider.
        name: display name; "" if the provider sends none.
    """

    issuer: str
    subject: str
    name: str


def begin_sign_in(
    session: Session,
    now: float,
    *,
    person_id: int | None,
    invitation: str,
) -> str:
    """Start a sign-in and return its state parameter, which is valid once, within ten minutes.

    Args:
        session: a session for writing.
        now: the current time.
        person_id: the account to connect; None to sign in.
        invitation: text of the invitation that the visitor came with, or "".
    """
    # Anybody can start a sign-in, so each start removes the finished and expired ones from the
    # table.
    is_over = (AccessKey.ends_at < now) | AccessKey.ended_at.is_not(None)
    statement = delete(AccessKey).where(AccessKey.kind == "login", is_over)
    # The transaction reads no ORM objects of these rows, so a plain DELETE cannot leave stale ones.
    session.connection().execute(statement)
    # Store only the hash, as for all keys: the row must not reveal an unused invitation.
    label = sha256(invitation) if invitation else ""
    return create_key(session, "login", now, person_id=person_id, label=label)


def finish_sign_in(
    session: Session,
    now: float,
    state: str,
) -> AccessKey | None:
    """End the sign-in with this state parameter and return its key; None if the parameter is invalid."""
    key = find_key(session, "login", state, now)
    if key is not None:
        # The state is single-use even if the sign-in fails later, so that a captured redirect is
        # worthless.
        key.ended_at = key.used_at = now
    return key


def person_with_identity(session: Session, known: ProviderIdentity) -> Person | None:
    """Return the account connected to an identity, or None if there is none."""
    matching = select(Identity).where(
        Identity.issuer == known.issuer, Identity.subject == known.subject
    )
    found = session.scalar(matching)
    return None if found is None else session.get_one(Person, found.person_id)


def connect_identity(
    session: Session,
    now: float,
    person_id: int,
    known: ProviderIdentity,
) -> None:
    """Connect an account to an identity, so that its owner can sign in with the provider.

    Raises:
        InvalidInput: the identity is already connected to another account.
    """
    other = person_with_identity(session, known)
    if other is not None and other.id != person_id:
        raise InvalidInput(
            "this sign-in is already connected to another account; sign in to that account"
        )
    if other is None:
        session.add(
            Identity(
                issuer=known.issuer,
                subject=known.subject,
                person_id=person_id,
                made_at=now,
            )
        )
        # Flush here, so that the unique constraint fails inside this function and not at the
        # commit.
        try:
            session.flush()
        except IntegrityError as error:  # at the same moment, in another window
            raise InvalidInput(
                "the same sign-in is under way in another window; start again"
            ) from error


def create_account_for_identity(
    session: Session,
    now: float,
    known: ProviderIdentity,
    *,
    invitation: str,
    is_open: bool,
) -> Person:
    """Create the account of a person who signs in for the first time.

    Without an invitation, the account waits until an organiser confirms it.

    Args:
        session: a session for writing.
        now: the current time.
        known: the account at the provider.
        invitation: the hash of an invitation, or "".
        is_open: whether everyone may register.

    Raises:
        InvalidInput: an invitation is needed, or all numbered variants of the name are taken.
    """
    key = find_key_by_hash(session, "invitation", invitation, now) if invitation else None
    if key is None and not is_open:
        raise InvalidInput(
            "this server requires an invitation; ask an organiser for a link and follow it to sign in"
        )
    for number in range(1, _MOST_NAMES):
        with suppress(InvalidInput), session.begin_nested():
            person = create_account(
                session, now, name=_name(known, number), kept=NO_PASSWORD, invited=key
            )
            connect_identity(session, now, person.id, known)
            return person
    raise InvalidInput("all variants of your name are taken here; ask an organiser")


def _name(known: ProviderIdentity, number: int) -> str:
    # 36 characters leave room for a space and two digits within the 40 of a name.
    try:
        plain = clean_name(known.name[:36].strip(" .'-"))
    except InvalidInput:
        plain = "participant"
    return plain if number == 1 else f"{plain} {number}"
