"""Quotas: whether a team may start another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from segarena_server.challenges.description import Phase

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpan:
    """Start and end of a run; the end of an unfinished run is None.

    Runs that failed through the server's fault are excluded, because they are refunded.
    """

    begun: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaRefusal:
    """The reason why a team may not start a run.

    Attributes:
        reason: the reason in one line.
        retry_after_s: seconds until the team may; None if that is unknown, or never.
    """

    reason: str
    retry_after_s: float | None = None


def may_begin(
    phase: Phase,
    earlier: Sequence[RunSpan],
    now: datetime,
) -> QuotaRefusal | None:
    """Return the reason why a team may not start a run in a phase, or None if it may.

    Args:
        phase: the phase with its limits.
        earlier: all runs of the team in this phase.
        now: the current time.
    """
    if phase.opens is not None and now < phase.opens:
        return QuotaRefusal(
            reason=f"phase {phase.name} opens at {phase.opens.isoformat()}",
            retry_after_s=(phase.opens - now).total_seconds(),
        )
    if phase.is_closed(now):
        return QuotaRefusal(reason=f"phase {phase.name} is closed")
    if phase.runs_in_all is not None and len(earlier) >= phase.runs_in_all:
        return QuotaRefusal(
            reason=f"{len(earlier)} of {phase.runs_in_all} runs of the phase are used"
        )
    unfinished = sum(run.ended is None for run in earlier)
    if unfinished >= phase.runs_at_once:
        return QuotaRefusal(
            reason=f"{unfinished} of {phase.runs_at_once} concurrent runs are unfinished; continue or end one "
            "on the My runs page first"
        )
    recent = sorted(run.begun for run in earlier if run.begun > now - DAY)
    if phase.runs_per_day is not None and len(recent) >= phase.runs_per_day:
        # The day is a sliding window: a run becomes available 24 hours after the start of an
        # earlier one.
        free_at = recent[len(recent) - phase.runs_per_day] + DAY
        used = f"{len(recent)} of {phase.runs_per_day} runs in 24 hours are used"
        return QuotaRefusal(
            reason=f"{used}; the next one is available at {free_at.isoformat()}",
            retry_after_s=(free_at - now).total_seconds(),
        )
    return None


def must_end(phase: Phase, now: datetime) -> bool:
    """Return whether unfinished runs of a phase must end now, even with pending work."""
    return phase.is_closed(now) and phase.late == "refuse"
