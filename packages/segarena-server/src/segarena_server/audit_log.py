"""The audit log: who did what, when and from where. It is only ever added to."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import AuditEvent

_LONGEST = 500


def record_event(
    session: Session,
    now: float,
    action: str,
    about: str = "",
    *,
    person_id: int | None = None,
    address: str = "",
) -> None:
    """Add a line; `about` is shortened to what a line can hold and has no secrets in it."""
    plain = " ".join(about.split())[:_LONGEST]
    session.add(
        AuditEvent(at=now, person_id=person_id, address=address[:60], action=action, about=plain)
    )


def latest_events(session: Session, count: int) -> list[AuditEvent]:
    """Return the newest lines, the newest first."""
    return list(session.scalars(select(AuditEvent).order_by(AuditEvent.id.desc()).limit(count)))
