"""Scores in the format of the published package: the report by interaction and object, and the curve over time."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.engine.run_folder import RunFolder
from segarena.options import parse_protocol
from segarena.systems.videos.benchmarks.davis import BY_TIME_ALONE, METRIC_COLUMNS
from segarena.systems.videos.measures.challenge_report import (
    METRICS,
    report_table,
    sample_scores,
    unanswered,
)
from segarena.systems.videos.measures.challenge_summary import THRESHOLD_S, CurveEnd, video_summary
from segarena_server.challenges.description import Phase
from segarena_server.challenges.score_visibility import shown_decimals, shows_own_scores
from segarena_server.davis.challenge_compatibility import DavisPhase
from segarena_server.davis.davis_sessions import DavisSample
from segarena_server.db.orm_models import Run
from segarena_server.runs.scores import withheld_reason

_NORMAL_95 = 1.96
"""Half the width of a 95 % interval in standard errors."""

_KEYS = ("session_id", "sequence", "scribble_idx", "interaction", "object_id")


def may_see_scores(
    davis_phase: DavisPhase,
    run: Run,
    now: float,
) -> bool:
    """Return whether a participant may see the scores of a run: it is over, and nothing withholds them."""
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    is_shown = shows_own_scores(davis_phase.phase, moment) and not withheld_reason(
        run, davis_phase.phase, now
    )
    return run.state == "over" and not run.fault and is_shown


def published_report(
    folder: Path,
    davis_phase: DavisPhase,
    session_key: str,
    *,
    is_closed: bool,
) -> Mapping[str, Mapping[str, Any]]:
    """Return the published report with means over frames as {column: {row: value}}; {} if nothing was answered.

    In an open test, all rows of an interaction have its means over the run, with the digits that a board shows:
    values of single objects would tell far more about the hidden masks.

    Args:
        folder: folder of the run.
        davis_phase: phase of the run.
        session_key: key of the session.
        is_closed: whether the phase is over.
    """
    table = _table(folder, session_key)
    if not table.height:
        return {}
    grouped = table.group_by(*_KEYS, maintain_order=True).agg(pl.col(*METRICS, "timing").mean())
    phase = davis_phase.phase
    if phase.kind == "test" and not is_closed:
        grouped = _means_by_interaction(grouped, phase)
    rounded = grouped.with_columns(pl.col(*METRICS, "timing").round(phase.decimals))
    report: dict[str, dict[str, Any]] = {}
    for name, values in rounded.to_dict(as_series=False).items():
        report[name] = {str(row): value for row, value in enumerate(values)}
    return report


def published_summary(
    folder: Path,
    davis_phase: DavisPhase,
    samples: Sequence[DavisSample],
    *,
    is_closed: bool,
) -> Mapping[str, Any]:
    """Return the summary of a finished run in the format of davisinteractive.

    A sample without an answer in time counts as 0. The time axis is in seconds as charged by the
    server. In an open test, scores have the digits that a board shows.
    """
    # A tuple, because the arguments of a cached function must be hashable.
    asked = tuple((one.place.sample, one.scribble_idx, one.objects) for one in samples)
    rules = davis_phase.rules
    horizon = CurveEnd(
        seconds_per_object=rules.options["seconds_per_object"],
        protocol=parse_protocol(rules.protocol),
    )
    rounds = None if rules.rounds == BY_TIME_ALONE else rules.rounds
    summary = _summary(folder, davis_phase.metric, asked, rounds, horizon)
    decimals = davis_phase.phase.decimals
    if davis_phase.phase.kind == "test" and not is_closed:
        decimals = _decimals_of_run(folder, davis_phase)
    return _rounded(summary, decimals)


def empty_summary(davis_phase: DavisPhase) -> Mapping[str, Any]:
    """Return a summary without scores, for a phase that never shows them or does not show them yet."""
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


def _means_by_interaction(grouped: pl.DataFrame, phase: Phase) -> pl.DataFrame:
    """Replace each row's scores by the mean over the rows of its interaction, rounded by the mean's interval."""
    for metric in METRICS:
        means: dict[int, float] = {}
        for (interaction,), rows in grouped.group_by("interaction"):
            values = rows[metric].drop_nulls().drop_nans().to_numpy()
            decimals = _shown_decimals(values, phase)
            means[int(interaction)] = round(float(values.mean()), decimals) if values.size else nan
        column = pl.col("interaction").replace_strict(means, return_dtype=pl.Float64)
        grouped = grouped.with_columns(column.alias(metric))
    return grouped


def _decimals_of_run(folder: Path, davis_phase: DavisPhase) -> int:
    """Return the number of decimals of a run's mean that participants see in an open test."""
    metric = METRIC_COLUMNS[davis_phase.metric]
    table = _table(folder)
    by_sample = table.group_by("sequence", "scribble_idx").agg(pl.col(metric).mean())
    return _shown_decimals(by_sample[metric].drop_nulls().drop_nans().to_numpy(), davis_phase.phase)


def _shown_decimals(values: NDArray[np.float64], phase: Phase) -> int:
    if values.size < 2:
        return shown_decimals(nan, nan, phase, is_closed=False)
    half_width = _NORMAL_95 * float(values.std(ddof=1)) / sqrt(values.size)
    mean = float(values.mean())
    return shown_decimals(mean - half_width, mean + half_width, phase, is_closed=False)


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
