"""The append-only audit log: person, action, time and IP address."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import AuditEvent

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
    """Append an entry; `about` must contain no secrets and is cut to the maximum length."""
    plain = " ".join(about.split())[:_MAX_LENGTH]
    session.add(
        AuditEvent(at=now, person_id=person_id, address=address[:60], action=action, about=plain)
    )


def latest_events(session: Session, count: int) -> list[AuditEvent]:
    """Return the newest entries, newest first."""
    return list(session.scalars(select(AuditEvent).order_by(AuditEvent.id.desc()).limit(count)))
