"""Recorded values of runs on volumes as one data frame, and their means at each level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Value
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import user_names
from segarena.reports.wording import count_text
from segarena.statistics.round_curves import hold_last
from segarena.statistics.round_statistics import statistic_values
from segarena.systems.volumes.measures.hierarchical_average import Averages, average

PARTICIPANT_COLUMNS = ("user", "segmenter")
QUALITY_METRICS = ("dice", "nsd")
_TEXT_COLUMNS = (
    "user",
    "segmenter",
    "dataset",
    "class",
    "sample",
    "target",
    "modality",
    "kind",
)


def is_volume_run(run: Run) -> bool:
    """Return whether the run's benchmark is about volumes and its records contain Dice."""
    has_dice = any("dice" in dialogue.values for dialogue in run.dialogues)
    return run.config.benchmark.sample_kind == "volume" and has_dice


def collect_round_values(runs: Sequence[Run]) -> pl.DataFrame:
    """Return one row per dialogue and round: user, segmenter, target, cumulative "effort", and each metric.

    A dialogue that ended early repeats its last values. A failed dialogue has null in all rounds,
    so means omit it. Samples that could not be loaded have no rows.
    """
    lines: list[tuple[Any, ...]] = []
    for run in runs:
        metrics = _recorded_metrics([run])
        for dialogue in run.dialogues:
            if dialogue.target:
                lines += _round_rows(run, dialogue, metrics)
    texts = dict.fromkeys(_TEXT_COLUMNS, pl.String)
    numbers = dict.fromkeys(("effort", *_recorded_metrics(runs)), pl.Float64)
    schema = {**texts, "repeat": pl.Int64, "round": pl.Int64, **numbers}
    return pl.DataFrame(lines, schema=schema, orient="row")


def collect_statistic(runs: Sequence[Run], statistic: Statistic) -> pl.DataFrame:
    """Return one row per dialogue with the value of `statistic` in "value", or null if the dialogue failed."""
    lines: list[dict[str, Any]] = []
    for run in runs:
        for dialogue in run.dialogues:
            if not dialogue.target:
                continue
            curve = _metric_curve(dialogue, statistic.metric, run.rounds)
            value = None
            if np.isfinite(curve).all():
                value = float(statistic_values(statistic, curve[None])[0])
            lines.append({**_describe_dialogue(run, dialogue), "value": value})
    return pl.DataFrame(lines, schema_overrides={"value": pl.Float64})


def select_round(values: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return the rows of round `number`, or of the last round if there are fewer rounds."""
    # Runs without corrections have a single round.
    last = max(values["round"].to_list())
    return values.filter(pl.col("round") == min(number, last))


def average_common_targets(
    values: pl.DataFrame,
    column: str,
    *,
    rows: Sequence[str] = PARTICIPANT_COLUMNS,
    split: Sequence[str] = (),
) -> Averages:
    """Return the means of `column` over the targets that all rows share."""
    return average(values, column, rows=rows, split=split, over="common")


def look_up_mean(
    averages: Averages,
    level: str = "all",
    **where: Any,
) -> Value:
    """Return one mean and its interval from a table of averages; NaN if the row is missing."""
    found = averages.table.filter(level=level, **where)
    if not found.height:
        return Value(mean=math.nan)
    row = found.row(0, named=True)
    return Value(
        mean=_float_or_nan(row["mean"]),
        low=_float_or_nan(row["low"]),
        high=_float_or_nan(row["high"]),
    )


def list_participants(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return the (user, segmenter) pairs with a completed dialogue, sorted by user in the order of the runs."""
    finished: set[tuple[str, str]] = set()
    for run in runs:
        for user in run.users:
            if run.finished(user):
                finished.add((user, run.segmenter))
    segmenters = dict.fromkeys(run.segmenter for run in runs)
    pairs = product(user_names(runs), segmenters)
    return [pair for pair in pairs if pair in finished]


def describe_coverage(averages: Averages) -> str:
    """Describe the targets covered by the means, and how many targets each row lacks."""
    overall = averages.table.filter(level="all")
    targets = max(overall["targets"].to_list())
    cases = max(overall["cases"].to_list())
    text = f"Means are over {count_text(targets, 'target')} in {count_text(cases, 'case')}"
    if not averages.missing.height:
        return f"{text}, the same in all rows."
    groups = [name for name in averages.missing.columns if name in PARTICIPANT_COLUMNS]
    missing = averages.missing.group_by(groups, maintain_order=True).agg(pl.col("targets").sum())
    counts: list[str] = []
    for *participant, lacking in missing.iter_rows():
        counts.append(f"{' · '.join(participant)}: {lacking}")
    return f"{text}, which are in every row. Missing targets: {'; '.join(counts)}."


def _float_or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _round_rows(
    run: Run,
    dialogue: DialogueRecord,
    metrics: Sequence[str],
) -> list[tuple[Any, ...]]:
    description = _describe_dialogue(run, dialogue)
    efforts = _effort_curve(dialogue, run.rounds)
    curves = [_metric_curve(dialogue, metric, run.rounds) for metric in metrics]
    lines: list[tuple[Any, ...]] = []
    for number, (effort, *values) in enumerate(zip(efforts, *curves, strict=True), 1):
        # Null rather than NaN, because polars includes NaN in means.
        known = [float(value) if math.isfinite(value) else None for value in values]
        lines.append((*description.values(), number, effort, *known))
    return lines


def _effort_curve(dialogue: DialogueRecord, rounds: int) -> list[float | None]:
    """Return the cumulative effort after each round; None for a missing record or a failed dialogue."""
    if dialogue.failure is not None or not dialogue.efforts:
        return [None] * rounds
    last = len(dialogue.efforts) - 1
    return [dialogue.efforts[min(index, last)] for index in range(rounds)]


def _describe_dialogue(run: Run, dialogue: DialogueRecord) -> dict[str, Any]:
    sample, target, user, repeat = dialogue.key
    attributes: Mapping[str, Any] = dialogue.attributes
    return {
        "user": user,
        "segmenter": run.segmenter,
        "dataset": run.data,
        "class": str(attributes.get("class") or dialogue.label or "no name"),
        "sample": sample,
        "target": target,
        "modality": str(attributes.get("modality", "")),
        "kind": str(attributes.get("kind", "")),
        "repeat": repeat,
    }


def _metric_curve(
    dialogue: DialogueRecord,
    metric: str,
    rounds: int,
) -> Any:
    """Return a metric after each round, with the last value repeated; all NaN for a failed dialogue."""
    values = dialogue.values.get(metric, ())
    if dialogue.failure is not None or not values:
        return np.full(rounds, np.nan)
    return hold_last([values], rounds)[0]


def _recorded_metrics(runs: Sequence[Run]) -> list[str]:
    known: set[str] = set()
    for run in runs:
        for dialogue in run.dialogues:
            known.update(dialogue.values)
    return [metric for metric in QUALITY_METRICS if metric in known]
