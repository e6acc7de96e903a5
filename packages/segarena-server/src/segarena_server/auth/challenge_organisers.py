"""Organisers of a challenge: accounts with the role organiser that manage it; admins manage all challenges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.audit_log import record_event
from segarena_server.auth.accounts import is_at_least, person_named
from segarena_server.db.orm_models import Challenge, ChallengeOrganiser, Person


def organisers_of(session: Session, challenge: Challenge) -> list[Person]:
    """Return the organisers of a challenge by name; admins are included only if they were added."""
    found = (
        select(Person)
        .join(ChallengeOrganiser, ChallengeOrganiser.person_id == Person.id)
        .where(ChallengeOrganiser.challenge_id == challenge.id)
    )
    return list(session.scalars(found.order_by(Person.folded)))


def add_organiser(
    session: Session,
    challenge: Challenge,
    name: str,
    now: float,
    by: Mapping[str, Any],
) -> Person:
    """Make an account an organiser of a challenge and return it; an existing organiser stays one.

    Args:
        session: a session for writing.
        challenge: the challenge.
        name: name of the account.
        now: the current time.
        by: `person_id` and `address` for the audit log; empty for the command line.

    Raises:
        InvalidInput: no confirmed account has this name, or its role is below organiser.
    """
    person = person_named(session, name)
    if person is None or person.state != "confirmed":
        raise InvalidInput(f"expected the name of a confirmed account, got {name[:40]!r}")
    # The role is an admin's decision: organisers see ground truth and the list of people.
    if not is_at_least(person.role, "organiser"):
        raise InvalidInput(
            f"{person.name} has the role {person.role}, and organisers need the role organiser; "
            "an admin can change it on the People page"
        )
    if session.get(ChallengeOrganiser, (challenge.id, person.id)) is None:
        row = ChallengeOrganiser(challenge_id=challenge.id, person_id=person.id, made_at=now)
        session.add(row)
        session.flush()
        about = f"{challenge.slug}: account {person.id}"
        record_event(session, now, "organiser added", about, **by)
    return person


def remove_organiser(
    session: Session,
    challenge: Challenge,
    name: str,
    now: float,
    by: Mapping[str, Any],
) -> Person:
    """Remove an organiser from a challenge and return the account; without organisers, admins manage it.

    Raises:
        InvalidInput: the account does not exist, or is not an organiser of the challenge.
    """
    person = person_named(session, name)
    row = None if person is None else session.get(ChallengeOrganiser, (challenge.id, person.id))
    if person is None or row is None:
        names = ", ".join(one.name for one in organisers_of(session, challenge)) or "none"
        raise InvalidInput(
            f"expected an organiser of {challenge.slug}, got {name[:40]!r}; its organisers: {names}"
        )
    session.delete(row)
    record_event(session, now, "organiser removed", f"{challenge.slug}: account {person.id}", **by)
    return person


def organised_challenges(session: Session, person_id: int) -> frozenset[int]:
    """Return the ids of the challenges that an account organises."""
    found = select(ChallengeOrganiser.challenge_id).where(ChallengeOrganiser.person_id == person_id)
    return frozenset(session.scalars(found))
