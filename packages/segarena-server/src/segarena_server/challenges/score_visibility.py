"""Which scores participants may see, by phase and time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from math import floor, isfinite, log10
from pathlib import Path

from segarena.records.plugin_trust import restrict_plugins
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.run_statistics import statistic_mean
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval
from segarena_server.challenges.description import ChallengeDescription, Phase

DECIMALS_WITHOUT_INTERVAL = 1
"""Decimals of a mean without an interval: such a mean is that of one sample, and another digit would reveal more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A mean over targets with its 95 % interval, rounded for participants; None where it is undefined."""

    user: str
    statistic: str
    mean: float | None
    low: float | None
    high: float | None


def shows_own_scores(phase: Phase, now: datetime) -> bool:
    """Return whether participants see their own scores; once a phase is closed, they always do."""
    return phase.shows in ("own", "board") or phase.is_closed(now)


def shows_board(phase: Phase, now: datetime) -> bool:
    """Return whether participants see the board; once a phase is closed, they always do."""
    return phase.shows == "board" or phase.is_closed(now)


def board_cutoff(challenge: ChallengeDescription, now: datetime) -> datetime | None:
    """Return the time up to which the board includes runs, or None for all runs.

    The board is frozen from `ChallengeDescription.frozen` until the last phase closes.
    """
    is_over = all(phase.is_closed(now) for phase in challenge.phases)
    if challenge.frozen is None or is_over or now < challenge.frozen:
        return None
    return challenge.frozen


def is_on_ladder(phase: Phase, *, is_repeat: bool) -> bool:
    """Return whether a run shows its scores only if it is a step on the ladder.

    In a practice phase the ground truth is visible, so scores reveal nothing more.
    """
    return phase.kind == "test" and (phase.ladder or is_repeat)


def shown_interval(
    interval: Interval,
    phase: Phase,
    *,
    is_closed: bool,
) -> Interval:
    """Round a mean and its interval to `shown_decimals`; NaN stays NaN."""
    decimals = shown_decimals(interval.low, interval.high, phase, is_closed=is_closed)
    return replace(
        interval,
        mean=round(interval.mean, decimals),
        low=round(interval.low, decimals),
        high=round(interval.high, decimals),
    )


def shown_decimals(
    low: float,
    high: float,
    phase: Phase,
    *,
    is_closed: bool,
) -> int:
    """Return the number of decimals of a mean that participants see.

    In an open test phase, a mean is shown down to the first significant digit of half its
    interval's width, but with at most `Phase.decimals` decimals. Further digits would say nothing
    about the segmenter, but much about single pixels.

    Args:
        low: lower end of the mean's interval; NaN without one.
        high: upper end of the interval.
        phase: phase of the run.
        is_closed: whether the phase is over.
    """
    if phase.kind != "test" or is_closed:
        return phase.decimals
    half_width = (high - low) / 2
    if not isfinite(half_width):
        return min(phase.decimals, DECIMALS_WITHOUT_INTERVAL)
    if half_width <= 0:
        # All samples have the same value, so the mean reveals no single one.
        return phase.decimals
    return min(phase.decimals, max(0, -floor(log10(half_width))))


def folder_scores(folder: Path, phase: Phase) -> list[Score]:
    """Return the summary of a finished run, rounded as participants see it while the phase is open.

    Raises:
        RunMissing, StoreError: the run does not exist, or is damaged.
    """
    with restrict_plugins(trust=False):
        (run,) = read_runs([folder])
        return [
            _score(run, user, statistic, phase) for user in run.users for statistic in run.summary
        ]


def _score(
    run: Run,
    user: str,
    statistic: Statistic,
    phase: Phase,
) -> Score:
    interval = shown_interval(statistic_mean(run, user, statistic), phase, is_closed=False)
    return Score(
        user=user,
        statistic=statistic.name,
        mean=_finite(interval.mean),
        low=_finite(interval.low),
        high=_finite(interval.high),
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
