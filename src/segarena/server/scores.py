"""Scores of runs, as far as a phase shows them."""

from __future__ import annotations

import datetime
from typing import Any

from segarena.challenges.description import Phase
from segarena.reports.boards.board import Entry, board_of
from segarena.reports.boards.extracts import read_extract
from segarena.server.tables import Run


def are_shown(phase: Phase, now: float, *, of_all: bool = False) -> bool:
    """Tell whether participants see the scores of their own runs, or of all; after a phase they see them."""
    is_closed = phase.is_closed(datetime.datetime.fromtimestamp(now, datetime.UTC))
    return is_closed or phase.shows in (("board",) if of_all else ("own", "board"))


def scores_of(run: Run, phase: Phase, now: float) -> list[dict[str, Any]] | None:
    """Return the scores of a run for its participant: by user and statistic; None while they are not shown."""
    if not run.extract or not are_shown(phase, now):
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
