"""People: who may do what. An organiser confirms those who register openly; an invitation is its own confirmation."""

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
_LONGEST_CONTACT = 200


def is_at_least(role: str, needed: str) -> bool:
    """Tell whether a role may do what another may."""
    return ROLES.index(role) >= ROLES.index(needed)


def has_organiser(session: Session) -> bool:
    """Tell whether anyone could organise anything."""
    found = select(func.count(Person.id)).where(
        Person.role.in_(("organiser", "admin")), Person.state == "confirmed"
    )
    return bool(session.scalar(found))


def invite(session: Session, now: float, role: str, label: str = "") -> str:
    """Return the text of an invitation to an account of this role; it works once.

    Raises:
        InvalidInput: there is no such role.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected a role of {', '.join(ROLES)}, got {role[:40]!r}")
    return create_key(session, "invitation", now, role=role, label=label[:80])


def invite_first(session: Session, now: float) -> str:
    """Return the invitation of the first administrator; those that were printed before end."""
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
    """Return a new account: confirmed by an invitation, else waiting for an organiser.

    Args:
        session: writes.
        now: the time.
        name: see `clean_name`.
        kept: of the password, by `passwords.hash_password`, which takes too long for a transaction.
        contact: how organisers reach them.
        invitation: the text of one, or "".
        is_open: whether one needs none.

    Raises:
        InvalidInput: a name that is taken, an invitation that does not hold (any more), or none where one is needed.
    """
    if len(contact) > _LONGEST_CONTACT:
        raise InvalidInput(f"contact: at most {_LONGEST_CONTACT} characters")
    key = find_key(session, "invitation", invitation, now) if invitation else None
    if key is None and (invitation or not is_open):
        raise InvalidInput("the invitation does not hold (any more); ask an organiser for another")
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
    """Return a new account: confirmed if somebody invited them, which ends the invitation, else waiting.

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
        invited.ended_at = invited.used_at = now
        invited.person_id = person.id
    return person


def person_named(session: Session, name: str) -> Person | None:
    """Return whose name this is, in whatever state the account is; None when nobody's."""
    return session.scalar(select(Person).where(Person.folded == fold_name(name)))


def change_password(
    session: Session, person: Person, kept: str, now: float, *, keep: AccessKey | None = None
) -> None:
    """Give an account another password, which ends its sessions, but for one to `keep`, and links; tokens hold."""
    person.password = kept
    for key in session.scalars(
        select(AccessKey).where(
            AccessKey.person_id == person.id, AccessKey.kind.in_(("session", "reset"))
        )
    ):
        if keep is None or key.id != keep.id:
            key.ended_at = key.ended_at or now


def set_state(session: Session, person: Person, state: str, now: float) -> None:
    """Confirm an account, or close it, which ends its sessions and tokens.

    Raises:
        InvalidInput: it is the last one that administers.
    """
    if state == "closed":
        keep_one_admin(session, person)
        end_keys(session, person.id, now)
    person.state = state


def set_role(session: Session, person: Person, role: str) -> None:
    """Give an account another role.

    Raises:
        InvalidInput: there is no such role, or it is the last one that administers.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected a role of {', '.join(ROLES)}, got {role[:40]!r}")
    if role != "admin":
        keep_one_admin(session, person)
    person.role = role


def clean_name(name: str) -> str:
    """Return a name as it is kept and shown.

    Raises:
        InvalidInput: it is none.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a name has 2 to 40 letters, digits, spaces, dots, apostrophes or dashes"
        )
    return name


def fold_name(name: str) -> str:
    """Return a name as names are compared."""
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()[:40]


def keep_one_admin(session: Session, person: Person) -> None:
    """Raise `InvalidInput` when nobody else administers."""
    others = select(func.count(Person.id)).where(
        Person.role == "admin", Person.state == "confirmed", Person.id != person.id
    )
    if person.role == "admin" and not session.scalar(others):
        raise InvalidInput("somebody must administer: make another admin first")
