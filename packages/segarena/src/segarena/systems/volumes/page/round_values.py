"""What the records of a run over volumes say, as one table of values, and their means level by level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import polars as pl

from segarena.reports.recorded_run import DialogueRecord, Run
from segarena.reports.run_statistics import user_names
from segarena.reports.sheets import Value
from segarena.reports.wording import count_text
from segarena.roles import Statistic
from segarena.statistics.curves import hold_last
from segarena.statistics.over_rounds import statistic_values
from segarena.systems.volumes.measures.hierarchical_average import Averages, average

PARTICIPANT_COLUMNS = ("user", "segmenter")
QUALITY_METRICS = ("dice", "nsd")


def is_volume_run(run: Run) -> bool:
    """Tell whether the run's benchmark is about volumes and its records have Dice."""
    rules = run.config.benchmark
    return rules.sample_kind == "volume" and any("dice" in d.values for d in run.dialogues)


def collect_round_values(runs: Sequence[Run]) -> pl.DataFrame:
    """Return one line per dialogue and round: who, about what, "effort" so far, and each metric.

    A dialogue that ended early holds its last values. One that failed has null in all its rounds, and so is missing
    from means. Samples that could not be used at all are left out.
    """
    lines: list[tuple[Any, ...]] = []
    for run in runs:
        for dialogue in run.dialogues:
            lines += _lines(run, dialogue) if dialogue.target else []
    texts = dict.fromkeys(
        ("user", "segmenter", "dataset", "class", "sample", "target", "modality", "kind"), pl.String
    )
    numbers = dict.fromkeys(("effort", *_metrics(runs)), pl.Float64)
    return pl.DataFrame(
        lines, schema={**texts, "repeat": pl.Int64, "round": pl.Int64, **numbers}, orient="row"
    )


def collect_statistic(runs: Sequence[Run], statistic: Statistic) -> pl.DataFrame:
    """Return one line per dialogue with the value of `statistic` as "value"; null where a dialogue failed."""
    lines: list[dict[str, Any]] = []
    for run in runs:
        for dialogue in run.dialogues:
            if dialogue.target:
                curve = _held(dialogue, statistic.metric, run.rounds)
                is_known = bool(np.isfinite(curve).all())
                value = float(statistic_values(statistic, curve[None])[0]) if is_known else None
                lines.append({**_about(run, dialogue), "value": value})
    return pl.DataFrame(lines, schema_overrides={"value": pl.Float64})


def select_round(values: pl.DataFrame, number: int) -> pl.DataFrame:
    """Return the lines after round `number`, or after the last one."""
    return values.filter(pl.col("round") == min(number, max(values["round"].to_list())))


def average_common_targets(
    values: pl.DataFrame,
    column: str,
    *,
    rows: Sequence[str] = PARTICIPANT_COLUMNS,
    split: Sequence[str] = (),
) -> Averages:
    """Return the means of `column` over the targets that all rows have."""
    return average(values, column, rows=rows, split=split, over="common")


def look_up_mean(averages: Averages, level: str = "all", **where: Any) -> Value:
    """Return one mean of a table of averages; NaN where there is no such line."""
    found = averages.table.filter(level=level, **where)
    if not found.height:
        return Value(mean=math.nan)
    row = found.row(0, named=True)
    mean, low, high = (
        math.nan if row[name] is None else float(row[name]) for name in ("mean", "low", "high")
    )
    return Value(mean=mean, low=low, high=high)


def list_participants(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return (user, segmenter) of everyone who finished something, users first, in the order of the runs."""
    there: set[tuple[str, str]] = set()
    for run in runs:
        there.update((user, run.segmenter) for user in run.users if run.finished(user))
    everyone = product(user_names(runs), dict.fromkeys(run.segmenter for run in runs))
    return [who for who in everyone if who in there]


def describe_coverage(averages: Averages) -> str:
    """Say over how many targets the means go, and what is missing of which row."""
    lines = averages.table.filter(level="all")
    count, cases = (max(lines[name].to_list()) for name in ("targets", "cases"))
    text = f"Means are over {count_text(count, 'target')} in {count_text(cases, 'case')}"
    if not averages.missing.height:
        return f"{text}, the same in all rows."
    groups = [name for name in averages.missing.columns if name in PARTICIPANT_COLUMNS]
    lost = averages.missing.group_by(groups, maintain_order=True).agg(pl.col("targets").sum())
    told = "; ".join(f"{' · '.join(who)}: {targets}" for *who, targets in lost.iter_rows())
    return f"{text}, those that every row has. Missing targets: {told}."


def _lines(run: Run, dialogue: DialogueRecord) -> list[tuple[Any, ...]]:
    about = _about(run, dialogue)
    spent = dialogue.efforts if dialogue.failure is None else ()
    efforts = [spent[min(k, len(spent) - 1)] if spent else None for k in range(run.rounds)]
    columns = [_held(dialogue, metric, run.rounds) for metric in _metrics([run])]
    lines: list[tuple[Any, ...]] = []
    for number, (effort, *values) in enumerate(zip(efforts, *columns, strict=True), 1):
        known = [float(value) if math.isfinite(value) else None for value in values]
        lines.append((*about.values(), number, effort, *known))
    return lines


def _about(run: Run, dialogue: DialogueRecord) -> dict[str, Any]:
    sample, target, user, repeat = dialogue.key
    told: Mapping[str, Any] = dialogue.attributes
    return {
        "user": user,
        "segmenter": run.segmenter,
        "dataset": run.data,
        "class": str(told.get("class") or dialogue.label or "no name"),
        "sample": sample,
        "target": target,
        "modality": str(told.get("modality", "")),
        "kind": str(told.get("kind", "")),
        "repeat": repeat,
    }


def _held(dialogue: DialogueRecord, metric: str, rounds: int) -> Any:
    values = dialogue.values.get(metric, ())
    if dialogue.failure is not None or not values:
        return np.full(rounds, np.nan)
    return hold_last([values], rounds)[0]


def _metrics(runs: Sequence[Run]) -> list[str]:
    dialogues = chain.from_iterable(run.dialogues for run in runs)
    known = set(chain.from_iterable(dialogue.values for dialogue in dialogues))
    return [metric for metric in QUALITY_METRICS if metric in known]
