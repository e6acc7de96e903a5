"""Accounts and their roles.

An organiser confirms open registrations; an invitation confirms the account at once.
"""

from __future__ import annotations

import re
import unicodedata

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.auth.access_keys import create_key, end_keys, find_key
from segarena_server.auth.lookalike_names import looks_like_any, mixes_scripts
from segarena_server.db.orm_models import ROLES, AccessKey, ChallengeOrganiser, Person, Team

# Letters or digits at both ends, so that names cannot differ only in invisible characters there.
_NAME = re.compile(r"[\w][\w .'-]{0,38}[\w]")
_MAX_CONTACT_LENGTH = 200


def is_at_least(role: str, needed: str) -> bool:
    """Return whether a role includes all rights of another role."""
    return ROLES.index(role) >= ROLES.index(needed)


def has_organiser(session: Session) -> bool:
    """Return whether a confirmed organiser or administrator exists."""
    found = select(func.count(Person.id)).where(
        Person.role.in_(("organiser", "admin")), Person.state == "confirmed"
    )
    return bool(session.scalar(found))


def invite(
    session: Session,
    now: float,
    role: str,
    label: str = "",
) -> str:
    """Create an invitation to register with this role and return its text, which is valid for one use.

    Raises:
        InvalidInput: the role does not exist.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected one of the roles {', '.join(ROLES)}, got {role[:40]!r}")
    return create_key(session, "invitation", now, role=role, label=label[:80])


def invite_first(session: Session, now: float) -> str:
    """Create the invitation of the first administrator, and revoke earlier invitations of administrators."""
    # Each first start prints a link; only the newest one may create an administrator.
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
    """Create an account; without an invitation, it waits for an organiser to confirm it.

    Args:
        session: a session for writing.
        now: the current time.
        name: see `clean_name`.
        kept: hash by `passwords.hash_password`, computed beforehand because it is too slow for a transaction.
        contact: how organisers can reach the person.
        invitation: text of an invitation, or "".
        is_open: whether everyone may register.

    Raises:
        InvalidInput: the name is taken or resembles another, the contact is too long, or the invitation is
            missing, invalid or expired.
    """
    if len(contact) > _MAX_CONTACT_LENGTH:
        raise InvalidInput(f"contact: at most {_MAX_CONTACT_LENGTH} characters")
    key = find_key(session, "invitation", invitation, now) if invitation else None
    if key is None and (invitation or not is_open):
        raise InvalidInput(
            "the invitation is invalid or has expired; ask an organiser for a new one"
        )
    return create_account(
        session,
        now,
        name=name,
        kept=kept,
        contact=contact,
        invited=key,
    )


def create_account(
    session: Session,
    now: float,
    *,
    name: str,
    kept: str,
    contact: str = "",
    invited: AccessKey | None = None,
) -> Person:
    """Create an account, and use up the invitation that confirms it; without one, the account awaits confirmation.

    Raises:
        InvalidInput: the name is taken, or resembles an existing one.
    """
    check_lookalikes(session, name)
    person = Person(
        name=name,
        folded=fold_name(name),
        contact=" ".join(contact.split()),
        password=kept,
        role=invited.role if invited else "participant",
        state="confirmed" if invited else "waiting",
        made_at=now,
    )
    # Another request may take the name at the same moment; the savepoint keeps the transaction
    # usable.
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
    """Return the account with this name, in any state, or None if no account has it."""
    return session.scalar(select(Person).where(Person.folded == fold_name(name)))


def change_password(
    session: Session,
    person: Person,
    kept: str,
    now: float,
    *,
    keep: AccessKey | None = None,
) -> None:
    """Change a password; end reset links, unfinished sign-ins and all sessions except `keep`. Tokens stay valid."""
    person.password = kept
    # Tokens survive because programs that run for days use them; whoever fears a leak can revoke
    # them.
    for key in session.scalars(
        select(AccessKey).where(
            AccessKey.person_id == person.id, AccessKey.kind.in_(("session", "reset", "factor"))
        )
    ):
        if keep is None or key.id != keep.id:
            key.ended_at = key.ended_at or now


def set_state(
    session: Session,
    person: Person,
    state: str,
    now: float,
) -> None:
    """Confirm an account, or close it and end its sessions and tokens.

    Raises:
        InvalidInput: the account is the last administrator's.
    """
    if state == "closed":
        keep_one_admin(session, person)
        end_keys(session, person.id, now)
    person.state = state


def set_role(
    session: Session,
    person: Person,
    role: str,
) -> None:
    """Change the role of an account.

    Raises:
        InvalidInput: the role does not exist, or the account is the last administrator's.
    """
    if role not in ROLES:
        raise InvalidInput(f"expected one of the roles {', '.join(ROLES)}, got {role[:40]!r}")
    if role != "admin":
        keep_one_admin(session, person)
    if not is_at_least(role, "organiser"):
        # A later promotion must not restore assignments that nobody remembers.
        session.connection().execute(
            delete(ChallengeOrganiser).where(ChallengeOrganiser.person_id == person.id)
        )
    person.role = role


def clean_name(name: str) -> str:
    """Return a name in the form that the server stores and shows.

    Raises:
        InvalidInput: the name is invalid.
    """
    # NFC, so that a letter with a combining accent and the precomposed letter are stored alike.
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a name has 2 to 40 letters, digits, spaces, dots, apostrophes or dashes"
        )
    if mixes_scripts(name):
        raise InvalidInput(
            "a word of the name has letters of more than one script, such as Latin and Cyrillic; use one"
        )
    return name


def check_lookalikes(session: Session, name: str) -> None:
    """Raise `InvalidInput` if a name looks like the name of a person or team without being equal to it.

    Equal names violate a unique constraint of the database instead.
    """
    folded = fold_name(name)
    people = session.scalars(select(Person.name).where(Person.folded != folded)).all()
    teams = session.scalars(select(Team.name).where(Team.folded != folded)).all()
    if looks_like_any(name, {*people, *teams}):
        raise InvalidInput("this name looks like one that is taken; choose another")


def fold_name(name: str) -> str:
    """Return a name in the form that the server compares."""
    # NFKC and case folding can lengthen a text; the column holds 40 characters.
    return unicodedata.normalize("NFKC", " ".join(name.split())).casefold()[:40]


def keep_one_admin(session: Session, person: Person) -> None:
    """Raise `InvalidInput` if the person is the only administrator."""
    # Without an administrator nobody could assign roles through the pages.
    others = select(func.count(Person.id)).where(
        Person.role == "admin", Person.state == "confirmed", Person.id != person.id
    )
    if person.role == "admin" and not session.scalar(others):
        raise InvalidInput("this is the last admin: make another admin first")
