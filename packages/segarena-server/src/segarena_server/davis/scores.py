"""Scores in the format of the published package: the report by interaction and object, and the summary over time."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from segarena.engine.store import RunFolder
from segarena.options import parse_protocol
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


def may_see_scores(davis_phase: DavisPhase, run: Run, now: float) -> bool:
    """Return whether a participant sees the scores of a run: it is over, and nothing withholds them."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    is_shown = shows_own_scores(davis_phase.phase, moment) and not withheld_reason(
        run, davis_phase.phase, now
    )
    return run.state == "over" and not run.fault and is_shown


def published_report(
    folder: Path, davis_phase: DavisPhase, session_key: str
) -> Mapping[str, Mapping[str, Any]]:
    """Return the published report with means over frames, as {column: {row: value}}; empty without any answer."""
    table = _table(folder, session_key)
    if not table.height:
        return {}
    grouped = table.group_by(*_KEYS, maintain_order=True).agg(pl.col(*METRICS, "timing").mean())
    rounded = grouped.with_columns(pl.col(*METRICS, "timing").round(davis_phase.phase.decimals))
    report: dict[str, dict[str, Any]] = {}
    for name, values in rounded.to_dict(as_series=False).items():
        report[name] = {str(row): value for row, value in enumerate(values)}
    return report


def published_summary(
    folder: Path, davis_phase: DavisPhase, samples: Sequence[DavisSample]
) -> Mapping[str, Any]:
    """Return the published summary of a finished run; a sample without any answer in time counts 0.

    Its time axis has the seconds that the server charged.
    """
    asked = tuple((one.place.sample, one.scribble_idx, one.objects) for one in samples)
    rules = davis_phase.rules
    horizon = CurveEnd(
        seconds_per_object=rules.options["seconds_per_object"],
        protocol=parse_protocol(rules.protocol),
    )
    rounds = None if rules.rounds == BY_TIME_ALONE else rules.rounds
    return _rounded(
        _summary(folder, davis_phase.metric, asked, rounds, horizon), davis_phase.phase.decimals
    )


def empty_summary(davis_phase: DavisPhase) -> Mapping[str, Any]:
    """Return the summary for a phase that does not show scores (yet)."""
    at = {"threshold": THRESHOLD_S, davis_phase.metric: None}
    return {"auc": None, "metric_at_threshold": at, "curve": {"time": [], davis_phase.metric: []}}


@lru_cache(maxsize=2048)
def _summary(
    folder: Path,
    metric: str,
    asked: tuple[tuple[str, int, int], ...],
    rounds: int | None,
    horizon: CurveEnd,
) -> Mapping[str, Any]:
    """Return the summary of a finished run, which never changes and can be cached."""
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
