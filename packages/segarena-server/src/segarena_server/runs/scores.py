"""Scores of runs, as far as a phase shows them."""

from __future__ import annotations

import math
from typing import Any

from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import read_extract
from segarena_server.challenges.description import Phase
from segarena_server.challenges.score_visibility import shows_own_scores
from segarena_server.db.datetimes import moment_of
from segarena_server.db.orm_models import Run


def visible_scores(
    run: Run, phase: Phase, now: float, *, sees_all: bool = False
) -> list[dict[str, Any]] | None:
    """Return the scores of a run by user and statistic; None while its participant does not see them."""
    moment = moment_of(now)
    if not run.extract or not (sees_all or shows_own_scores(phase, moment)):
        return None
    if not sees_all and withheld_reason(run, phase, now):
        return None
    board = board_of([Entry(extract=read_extract(run.extract))])
    return [
        {
            "user": key.user,
            "statistic": key.statistic,
            "mean": _rounded(interval.mean, phase.decimals),
            "low": _rounded(interval.low, phase.decimals),
            "high": _rounded(interval.high, phase.decimals),
        }
        for key, panel in board.panels.items()
        if not key.group
        for interval in panel.means[:1]
    ]


def withheld_reason(run: Run, phase: Phase, now: float) -> str:
    """Return why its team does not see the scores of a run where it sees those of others; "" when it does.

    Where scores are not shown at all, nothing is told of a run's being a step either.
    """
    moment = moment_of(now)
    if run.state != "over" or not run.extract or run.is_step or phase.is_closed(moment):
        return ""
    told = "not better than your best run by more than chance: its scores are shown when the phase closes"
    return told if shows_own_scores(phase, moment) else ""


def _rounded(value: float, decimals: int) -> float | None:
    return None if math.isnan(value) else round(value, decimals)
