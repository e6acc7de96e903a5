"""Scores of runs, without those that the phase hides."""

from __future__ import annotations

import math
from typing import Any

from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import read_extract
from segarena_server.challenges.description import Phase
from segarena_server.challenges.ladder_mechanism import MAX_SCORED_REPEATS
from segarena_server.challenges.score_visibility import shown_interval, shows_own_scores
from segarena_server.db.datetimes import utc_datetime
from segarena_server.db.orm_models import Run


def visible_scores(
    run: Run,
    phase: Phase,
    now: float,
    *,
    sees_all: bool = False,
) -> list[dict[str, Any]] | None:
    """Return the scores of a run by user and statistic, or None if it has none, or the visitor may not see them yet."""
    if not run.extract:
        return None
    if not sees_all:
        is_hidden = not shows_own_scores(phase, utc_datetime(now))
        if is_hidden or withheld_reason(run, phase, now):
            return None
    is_closed = phase.is_closed(utc_datetime(now))
    board = board_of([Entry(extract=read_extract(run.extract))])
    scores: list[dict[str, Any]] = []
    for key, panel in board.panels.items():
        if key.group or not panel.means:
            continue
        interval = shown_interval(panel.means[0], phase, is_closed=is_closed)
        scores.append(
            {
                "user": key.user,
                "statistic": key.statistic,
                "mean": _defined(interval.mean),
                "low": _defined(interval.low),
                "high": _defined(interval.high),
            }
        )
    return scores


def withheld_reason(
    run: Run,
    phase: Phase,
    now: float,
) -> str:
    """Return why the ladder withholds the scores of a run from its team, or "" if it does not.

    A phase that shows no scores does not reveal whether a run is a step of the ladder either.
    """
    if run.state != "over" or not run.extract or run.is_step:
        return ""
    moment = utc_datetime(now)
    if phase.is_closed(moment) or not shows_own_scores(phase, moment):
        return ""
    if run.unranked:
        return (
            "the scores are shown when the phase closes, because this repeat is not significantly better than your "
            f"best run, or is not one of your first {MAX_SCORED_REPEATS} repeats"
        )
    return "the scores are shown when the phase closes, because this run is not significantly better than your best run"


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
