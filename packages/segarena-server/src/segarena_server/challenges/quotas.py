"""Whether a team may begin another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from segarena_server.challenges.description import Phase

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpan:
    """When a run of a team began and ended; None while it is not over.

    Runs that failed by the server's fault are no runs here: what they took is given back.
    """

    begun: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRefusal:
    """Why a run may not begin, in one line, and in how many seconds it may; None: that is not known, or never."""

    reason: str
    retry_after_s: float | None = None


def may_begin(phase: Phase, earlier: Sequence[RunSpan], now: datetime) -> QuotaRefusal | None:
    """Return why a team may not begin a run in a phase; None if it may.

    Args:
        phase: its limits.
        earlier: all runs of the team in this phase.
        now: this moment.
    """
    if phase.opens is not None and now < phase.opens:
        wait_s = (phase.opens - now).total_seconds()
        return QuotaRefusal(
            reason=f"phase {phase.name} opens at {phase.opens.isoformat()}", retry_after_s=wait_s
        )
    if phase.is_closed(now):
        return QuotaRefusal(reason=f"phase {phase.name} is closed")
    if phase.runs_in_all is not None and len(earlier) >= phase.runs_in_all:
        return QuotaRefusal(reason=f"{len(earlier)} of {phase.runs_in_all} runs in all are used")
    going = sum(run.ended is None for run in earlier)
    if going >= phase.runs_at_once:
        return QuotaRefusal(
            reason=f"{going} of {phase.runs_at_once} runs at once are not over; finish one first"
        )
    recent = sorted(run.begun for run in earlier if run.begun > now - DAY)
    if phase.runs_per_day is not None and len(recent) >= phase.runs_per_day:
        free_at = recent[len(recent) - phase.runs_per_day] + DAY
        reason = f"{len(recent)} of {phase.runs_per_day} runs in 24 hours are used; the next from {free_at.isoformat()}"
        return QuotaRefusal(reason=reason, retry_after_s=(free_at - now).total_seconds())
    return None


def must_end(phase: Phase, now: datetime) -> bool:
    """Tell whether runs that are not over end now, whatever they still wait for."""
    return phase.is_closed(now) and phase.late == "refuse"
