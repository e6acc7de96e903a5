"""Where a turn stands while it waits: what happens to it, how many come before it, how long that may take."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from segarena.server.tables import Turn
from segarena.server.turns import waiting_before


def queue_of(session: Session, turn: Turn) -> dict[str, Any]:
    """Return where a turn stands: what happens to it, how many come before it, and how long that may take."""
    before = waiting_before(session, turn) if turn.state == "waiting" else 0
    recent = select(Turn.done_at - Turn.received_at).where(Turn.state == "done").order_by(Turn.done_at.desc()).limit(50)
    took_s = session.scalar(select(func.avg(recent.subquery().c[0]))) or 0.0
    phase = {"waiting": "waiting", "leased": "evaluating"}.get(turn.state, turn.state)
    return {"phase": phase, "place": before, "estimate_s": round((before + 1) * took_s, 2), "tries": turn.tries}
