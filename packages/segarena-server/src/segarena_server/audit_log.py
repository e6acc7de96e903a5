"""The append-only audit log: person, action, time and IP address."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import AuditEvent, Challenge, Run, Submission

_MAX_LENGTH = 500


def record_event(
    session: Session,
    now: float,
    action: str,
    about: str = "",
    *,
    person_id: int | None = None,
    address: str = "",
) -> None:
    """Append an entry; `about` must contain no secrets and is truncated to the maximum length."""
    # Line breaks in a user's text could otherwise imitate further entries where the log is printed.
    plain = " ".join(about.split())[:_MAX_LENGTH]
    session.add(
        AuditEvent(
            at=now,
            person_id=person_id,
            # The column holds 60 characters, and PostgreSQL rejects longer values where SQLite
            # accepts them.
            address=address[:60],
            action=action,
            about=plain,
        )
    )


def latest_events(session: Session, count: int) -> list[AuditEvent]:
    """Return the newest entries, newest first."""
    # By id, not by time: the system clock may have been set back between two entries.
    return list(session.scalars(select(AuditEvent).order_by(AuditEvent.id.desc()).limit(count)))


def latest_events_about(
    session: Session,
    count: int,
    challenges: Sequence[Challenge],
    person_id: int | None,
) -> list[AuditEvent]:
    """Return the newest entries about challenges, their runs and submissions, and about a person, newest first."""
    challenge_ids = [challenge.id for challenge in challenges]
    conditions = [
        AuditEvent.person_id == person_id,
        AuditEvent.about.in_(select(Run.id).where(Run.challenge_id.in_(challenge_ids))),
        AuditEvent.about.in_(
            select(Submission.id).where(Submission.challenge_id.in_(challenge_ids))
        ),
    ]
    for challenge in challenges:
        conditions.append(AuditEvent.about == challenge.slug)
        # Entries start with the slug: "slug: changes", "slug/phase run".
        for separator in (":", "/"):
            prefix = f"{challenge.slug}{separator}"
            conditions.append(AuditEvent.about.startswith(prefix, autoescape=True))
    found = select(AuditEvent).where(or_(*conditions))
    return list(session.scalars(found.order_by(AuditEvent.id.desc()).limit(count)))
