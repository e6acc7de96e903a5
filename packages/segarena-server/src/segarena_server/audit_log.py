"""The audit log: who did what, when and from where. It is only ever added to."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.db.orm_models import Event

_LONGEST = 500


def note(
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
        Event(at=now, person_id=person_id, address=address[:60], action=action, about=plain)
    )


def latest(session: Session, count: int) -> list[Event]:
    """Return the newest lines, the newest first."""
    return list(session.scalars(select(Event).order_by(Event.id.desc()).limit(count)))
