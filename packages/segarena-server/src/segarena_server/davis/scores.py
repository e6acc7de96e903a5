"""What these programs are shown of a run: the report by interaction and object, and the summary against time."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from segarena.engine.store import RunFolder
from segarena.options import as_protocol
from segarena.systems.videos.benchmarks.davis import BY_TIME_ALONE, METRIC_COLUMNS
from segarena.systems.videos.measures.challenge_report import (
    METRICS,
    report_table,
    sample_scores,
    unanswered,
)
from segarena.systems.videos.measures.challenge_summary import THRESHOLD_S, CurveEnd, video_summary
from segarena_server.challenges.score_visibility import shows_own_scores
from segarena_server.davis.davis_sessions import DavisSample
from segarena_server.davis.rules import DavisPhase
from segarena_server.db.orm_models import Run
from segarena_server.runs.scores import withheld_reason

_KEYS = ("session_id", "sequence", "scribble_idx", "interaction", "object_id")


def may_see_scores(event: DavisPhase, run: Run, now: float) -> bool:
    """Tell whether whoever has a run sees its scores: it is over, its phase shows them, and no ladder keeps them."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    is_shown = shows_own_scores(event.phase, moment) and not withheld_reason(run, event.phase, now)
    return run.state == "over" and not run.fault and is_shown


def published_report(
    folder: Path, event: DavisPhase, session_key: str
) -> Mapping[str, Mapping[str, Any]]:
    """Return the published report, means over frames: {column: {row: value}}; empty when nothing was answered."""
    table = _table(folder, session_key)
    if not table.height:
        return {}
    grouped = table.group_by(*_KEYS, maintain_order=True).agg(pl.col(*METRICS, "timing").mean())
    rounded = grouped.with_columns(pl.col(*METRICS, "timing").round(event.phase.decimals))
    return {name: dict(zip(map(str, range(len(values))), values, strict=True)) for name, values in rounded.to_dict(
        as_series=False
    ).items()}  # fmt: skip


def published_summary(
    folder: Path, event: DavisPhase, told: Sequence[DavisSample]
) -> Mapping[str, Any]:
    """Return the published summary of a run that is over; a sample of it without any answer in time counts 0.

    Time is what the server charged.
    """
    asked = tuple((one.place.sample, one.scribble_idx, one.objects) for one in told)
    rules = event.rules
    horizon = CurveEnd(
        seconds_per_object=rules.options["seconds_per_object"], protocol=as_protocol(rules.protocol)
    )
    rounds = None if rules.rounds == BY_TIME_ALONE else rules.rounds
    return _rounded(_summary(folder, event.metric, asked, rounds, horizon), event.phase.decimals)


def empty_summary(event: DavisPhase) -> Mapping[str, Any]:
    """Return what stands in place of a summary while the phase shows none."""
    at = {"threshold": THRESHOLD_S, event.metric: None}
    return {"auc": None, "metric_at_threshold": at, "curve": {"time": [], event.metric: []}}


@lru_cache(maxsize=2048)
def _summary(
    folder: Path,
    metric: str,
    asked: tuple[tuple[str, int, int], ...],
    rounds: int | None,
    horizon: CurveEnd,
) -> Mapping[str, Any]:
    """Return the summary of a run that is over, which never changes."""
    scores = sample_scores(_table(folder), METRIC_COLUMNS[metric])
    answered = {(score.sequence, score.scribble_idx) for score in scores}
    late = [unanswered(*key) for key in asked if key[:2] not in answered]
    return video_summary([*scores, *late], rounds=rounds, horizon=horizon).to_json(metric)


def _table(folder: Path, session_id: str = "") -> pl.DataFrame:
    run = RunFolder.open(folder)
    return report_table(run.parts(), run.timings(), session_id)


def _rounded(value: Any, decimals: int) -> Any:
    if isinstance(value, float):
        return round(value, decimals)
    if isinstance(value, dict):
        return {name: _rounded(each, decimals) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each, decimals) for each in value]
    return value
