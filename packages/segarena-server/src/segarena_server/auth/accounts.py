"""Accounts and their roles.

An organiser confirms open registrations; an account with an invitation is confirmed at once.
"""

from __future__ import annotations

import re
import unicodedata

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.keys import create_key, end_keys, find_key
from segarena_server.db.orm_models import ROLES, AccessKey, Person

_NAME = re.compile(r"[\w][\w .'-]{0,38}[\w]")
_MAX_CONTACT_LENGTH = 200


def is_at_least(role: str, needed: str) -> bool:
    """Tell whether a role has all rights of another role."""
    return ROLES.index(role) >= ROLES.index(needed)


def has_organiser(session: Session) -> bool:
    """Tell whether there is a confirmed organiser or administrator."""
    found = select(func.count(Person.id)).where(
        Person.role.in_(("organiser", "admin")), Person.state == "confirmed"
    )
    return bool(session.scalar(found))


def invite(session: Session, now: float, role: str, label: str = "") -> str:
    """Create an invitation to an account with this role and return its text, which works once.

    Raises:
        InvalidInput: there is no such role.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected a role of {', '.join(ROLES)}, got {role[:40]!r}")
    return create_key(session, "invitation", now, role=role, label=label[:80])


def invite_first(session: Session, now: float) -> str:
    """Create the invitation of the first administrator; earlier ones end."""
    for key in session.scalars(
        select(AccessKey).where(
            AccessKey.kind == "invitation", AccessKey.role == "admin", AccessKey.ended_at.is_(None)
        )
    ):
        key.ended_at = now
    return invite(session, now, "admin", "first start")


def register(
    session: Session,
    now: float,
    *,
    name: str,
    kept: str,
    contact: str = "",
    invitation: str = "",
    is_open: bool = True,
) -> Person:
    """Create an account: confirmed by an invitation, otherwise waiting for an organiser.

    Args:
        session: a writing one.
        now: the current time.
        name: see `clean_name`.
        kept: password hash of `passwords.hash_password`, which is too slow for a transaction.
        contact: how organisers reach the person.
        invitation: text of an invitation, or "".
        is_open: whether registration is open to everyone.

    Raises:
        InvalidInput: the name is taken, or the invitation is missing or not valid (any more).
    """
    if len(contact) > _MAX_CONTACT_LENGTH:
        raise InvalidInput(f"contact: at most {_MAX_CONTACT_LENGTH} characters")
    key = find_key(session, "invitation", invitation, now) if invitation else None
    if key is None and (invitation or not is_open):
        raise InvalidInput("the invitation is not valid (any more); ask an organiser for another")
    return create_account(session, now, name=name, kept=kept, contact=contact, invited=key)


def create_account(
    session: Session,
    now: float,
    *,
    name: str,
    kept: str,
    contact: str = "",
    invited: AccessKey | None = None,
) -> Person:
    """Create an account: confirmed by an invitation, which ends, otherwise waiting.

    Raises:
        InvalidInput: the name is taken.
    """
    person = Person(
        name=name,
        folded=fold_name(name),
        contact=" ".join(contact.split()),
        password=kept,
        role=invited.role if invited else "participant",
        state="confirmed" if invited else "waiting",
        made_at=now,
    )
    try:
        with session.begin_nested():
            session.add(person)
    except IntegrityError as error:
        raise InvalidInput("this name is taken; choose another") from error
    if invited:
        invited.ended_at = now
        invited.used_at = now
        invited.person_id = person.id
    return person


def person_named(session: Session, name: str) -> Person | None:
    """Return the account with this name, in any state; None when there is none."""
    return session.scalar(select(Person).where(Person.folded == fold_name(name)))


def change_password(
    session: Session, person: Person, kept: str, now: float, *, keep: AccessKey | None = None
) -> None:
    """Change a password, and end all sessions except `keep` and all reset links; tokens stay valid."""
    person.password = kept
    for key in session.scalars(
        select(AccessKey).where(
            AccessKey.person_id == person.id, AccessKey.kind.in_(("session", "reset"))
        )
    ):
        if keep is None or key.id != keep.id:
            key.ended_at = key.ended_at or now


def set_state(session: Session, person: Person, state: str, now: float) -> None:
    """Confirm an account, or close it and end its sessions and tokens.

    Raises:
        InvalidInput: it is the last administrator.
    """
    if state == "closed":
        keep_one_admin(session, person)
        end_keys(session, person.id, now)
    person.state = state


def set_role(session: Session, person: Person, role: str) -> None:
    """Change the role of an account.

    Raises:
        InvalidInput: there is no such role, or it is the last administrator.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected a role of {', '.join(ROLES)}, got {role[:40]!r}")
    if role != "admin":
        keep_one_admin(session, person)
    person.role = role


def clean_name(name: str) -> str:
    """Return a name in the form in which it is stored and shown.

    Raises:
        InvalidInput: it is not a valid name.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a name has 2 to 40 letters, digits, spaces, dots, apostrophes or dashes"
        )
    return name


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()[:40]


def keep_one_admin(session: Session, person: Person) -> None:
    """Raise `InvalidInput` when the person is the only administrator."""
    others = select(func.count(Person.id)).where(
        Person.role == "admin", Person.state == "confirmed", Person.id != person.id
    )
    if person.role == "admin" and not session.scalar(others):
        raise InvalidInput("this is the last admin: make another admin first")
