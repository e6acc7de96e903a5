"""Scores of runs, as far as a phase shows them."""

from __future__ import annotations

import datetime
from typing import Any

from segarena.challenges.description import Phase
from segarena.challenges.scores import shows_own
from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import read_extract
from segarena.server.tables import Run


def scores_of(run: Run, phase: Phase, now: float, *, sees_all: bool = False) -> list[dict[str, Any]] | None:
    """Return the scores of a run by user and statistic; None while its participant does not see them."""
    if not run.extract or not (sees_all or shows_own(phase, datetime.datetime.fromtimestamp(now, datetime.UTC))):
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


def _rounded(value: float, decimals: int) -> float | None:
    return round(value, decimals) if value == value else None
