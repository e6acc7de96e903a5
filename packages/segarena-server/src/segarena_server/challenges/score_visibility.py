"""Visibility of scores for participants, by phase and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from pathlib import Path

from segarena.records.trust import restrict_plugins
from segarena.reports.recorded_run import Run, read_runs
from segarena.reports.run_statistics import statistic_mean
from segarena.roles import Statistic
from segarena_server.challenges.description import ChallengeDescription, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A mean over targets with its 95 % interval, rounded for participants; None where it is undefined."""

    user: str
    statistic: str
    mean: float | None
    low: float | None
    high: float | None


def shows_own_scores(phase: Phase, now: datetime) -> bool:
    """Return whether participants see the scores of their own runs, as they do once a phase is closed."""
    return phase.shows in ("own", "board") or phase.is_closed(now)


def shows_board(phase: Phase, now: datetime) -> bool:
    """Return whether participants see the board, as they do once a phase is closed."""
    return phase.shows == "board" or phase.is_closed(now)


def board_cutoff(challenge: ChallengeDescription, now: datetime) -> datetime | None:
    """Return the time up to which runs are on the board; None for all runs.

    The board is frozen from `ChallengeDescription.frozen` until the last phase is closed.
    """
    is_over = all(phase.is_closed(now) for phase in challenge.phases)
    if challenge.frozen is None or is_over or now < challenge.frozen:
        return None
    return challenge.frozen


def folder_scores(folder: Path, phase: Phase) -> list[Score]:
    """Return the summary of a finished run, rounded as the phase says.

    Raises:
        RunMissing, StoreError: there is no such run, or it is damaged.
    """
    with restrict_plugins(trust=False):
        (run,) = read_runs([folder])
        return [
            _score(run, user, statistic, phase.decimals)
            for user in run.users
            for statistic in run.summary
        ]


def _score(run: Run, user: str, statistic: Statistic, decimals: int) -> Score:
    interval = statistic_mean(run, user, statistic)
    return Score(
        user=user,
        statistic=statistic.name,
        mean=_rounded(interval.mean, decimals),
        low=_rounded(interval.low, decimals),
        high=_rounded(interval.high, decimals),
    )


def _rounded(value: float, decimals: int) -> float | None:
    return round(value, decimals) if isfinite(value) else None
