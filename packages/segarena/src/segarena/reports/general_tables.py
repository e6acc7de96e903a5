"""The tables that every report has: summary, differences, seconds, hardest targets, failures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from segarena.records.failures import group_by_cause
from segarena.reports.chart_series import area_statistic, run_column_names
from segarena.reports.hardest_targets import RankedTarget
from segarena.reports.page_parts import Fold, Note, Part
from segarena.reports.recorded_run import DialogueId, Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.run_statistics import (
    difference_direction,
    paired_rows,
    summary_rows,
    summary_thresholds,
    timing_rows,
)
from segarena.reports.sheets import Cell, Column, Link, Sheet, Value
from segarena.reports.wording import (
    baseline_text,
    bounds_text,
    count_text,
    difference_bounds_text,
    difference_text,
    metric_name,
    seconds_text,
    statistic_definition,
    value_text,
)
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval, PairedDifference

MAX_HARDEST_ROWS = 12
"""Rows of the table of hardest targets; all of them are in the gallery."""

MAX_FAILURE_ROWS = 200
"""Failures listed one by one."""

MAX_MESSAGE_ROWS = 20
"""Different messages of failures that are counted."""


def summary_sheet(runs: Sequence[Run], caption: str = "", *, target: str = "target") -> Sheet:
    """Return a row per user and segmenter, with everything that a summary shows somewhere; see `Sheet.pick`.

    The column "segmenter" tells runs apart, "name" does so beside "dataset". `target` is what a target is called.
    """
    head = (
        Column("Benchmark", key="benchmark"),
        Column("Protocol", key="protocol"),
        Column("User", key="user"),
        Column("Dataset", key="dataset"),
        Column("Segmenter", key="segmenter"),
        Column("Segmenter", key="name"),
        *_columns(runs[0]),
        Column("Time / round", "number", key="time/round"),
        Column(f"{target.capitalize()}s", "number", key="targets"),
        *(
            Column(name.capitalize(), "number", key=name)
            for name in ("dialogues", "failures", "encodes")
        ),
        Column("Complete", key="complete"),
    )
    rows: list[tuple[Cell, ...]] = []
    best = _best(runs)
    columns = run_column_names(runs)
    for row, timing in zip(summary_rows(runs), timing_rows(runs), strict=True):
        run = runs[row.run]
        rules = run.config.benchmark
        names = (rules.name, rules.protocol, row.user, run.data, row.label, columns[run])
        values = [
            _estimate(
                statistic, row.cells[statistic.name], best.get((run.data, row.user, statistic.name))
            )
            for statistic in runs[0].summary
        ]
        time = Value(mean=timing.median_s, printed=seconds_text(timing.median_s))
        failures = Value(mean=row.failures, decimals=0, mark="alarm" if row.failures else "")
        counts = (row.targets, row.dialogues, failures, timing.encodes)
        rows.append((*names, *values, time, *counts, "yes" if run.is_complete else "no"))
    return Sheet(name="summary", caption=caption, head=head, rows=tuple(rows))


def paired_sheet(runs: Sequence[Run], *, target: str = "target") -> Sheet:
    """Return a row per user and pair of runs with the difference of each statistic; no rows without pairs."""
    rows: list[tuple[Cell, ...]] = []
    for row in paired_rows(runs):
        values = [
            difference_value(statistic, row.cells[statistic.name]) for statistic in runs[0].summary
        ]
        rows.append(
            (row.user, f"{row.label} − {row.baseline}", *values, row.matched, row.unmatched)
        )
    head = (
        Column("User", key="user"),
        Column("Difference", key="difference"),
        *_columns(runs[0]),
        Column("Matched", "number", key="matched"),
        Column("Unmatched", "number", key="unmatched"),
    )
    caption = f"Each run minus {baseline_text(runs)}, on the same {target}s with the same users."
    return Sheet(name="paired", caption=caption, head=head, rows=tuple(rows))


def differences_sheet(runs: Sequence[Run]) -> Sheet:
    """Return a row per pair of runs, user and statistic, for programs; the difference is segmenter minus baseline."""
    names = ("segmenter", "baseline", "user", "statistic")
    numbers = ("difference", "low", "high", "p_value", "better", "ties")
    rows: list[tuple[Cell, ...]] = []
    for row in paired_rows(runs):
        for name, cell in row.cells.items():
            values = (Value(mean=float(getattr(cell, number))) for number in numbers)
            counts = (cell.n, cell.clusters, row.matched, row.unmatched)
            rows.append((row.label, row.baseline, row.user, name, *values, *counts))
    counts = ("pairs", "independent", "matched", "unmatched")
    head = (*names, *(Column(number, "number") for number in (*numbers, *counts)))
    return Sheet(name="paired", caption="", head=head, rows=tuple(rows))


def timings_sheet(runs: Sequence[Run]) -> Sheet:
    """Return the seconds of each segmenter with each user, for programs; these differ from run to run."""
    numbers = ("rounds", "median_s", "p95_s", "encoder_passes", "encoder_median_s")
    rows: list[tuple[Cell, ...]] = []
    for row in timing_rows(runs):
        median, p95, encode = (
            Value(mean=seconds) for seconds in (row.median_s, row.p95_s, row.encode_median_s)
        )
        rows.append((row.label, row.user, row.rounds, median, p95, row.encodes, encode))
    head = ("segmenter", "user", *(Column(number, "number") for number in numbers))
    return Sheet(name="timings", caption="", head=head, rows=tuple(rows))


def hardest_sheet(
    runs: Sequence[Run], targets: Sequence[RankedTarget], shown: Mapping[DialogueId, str]
) -> Sheet:
    """Return the hardest targets; each row leads to its dialogue in the gallery when that is shown."""
    statistic = area_statistic(runs[0])
    thresholds = summary_thresholds(runs[0], statistic.metric)
    head = [
        Column("Target"),
        Column("Sample"),
        Column("Label", "words"),
        Column(f"Mean {statistic.name}", "number"),
        Column(f"Best {metric_name(statistic.metric)}", "number"),
        *(Column(f"Reached {threshold:g}", "number") for threshold in thresholds[-1:]),
        Column("Worst with"),
    ]
    rows: list[tuple[Cell, ...]] = []
    for target in targets[:MAX_HARDEST_ROWS]:
        names = (Link.to(target.key[1], shown.get(target.worst, "")), target.key[0], target.label)
        solved = Value(mean=target.solved, printed=f"{target.solved} of {target.dialogues}")
        reached = [solved] if thresholds else []
        rows.append(
            (*names, Value(mean=target.score), Value(mean=target.best), *reached, target.worst[2])
        )
    caption = "Lowest area under the curve over all users, repeats and runs. Rows lead to the worst dialogue."
    return Sheet(name="hardest", caption=caption, head=tuple(head), rows=tuple(rows))


def failures_parts(runs: Sequence[Run]) -> list[Part]:
    """Return what went wrong: how often each message came, then one line per dialogue; nothing without dialogues."""
    found: list[tuple[Run, DialogueRecord]] = []
    for run in runs:
        found += [(run, dialogue) for dialogue in run.failures]
    if not found:
        if any(run.dialogues for run in runs):
            return [Note("None: every dialogue was finished.")]
        return []
    causes = group_by_cause(chain.from_iterable(run.causes for run in runs))[:MAX_MESSAGE_ROWS]
    messages = Sheet(
        name="messages",
        caption="",
        head=(
            Column("Times", "number"),
            Column("Message of the first", "words"),
            "Where it came first",
        ),
        rows=tuple((cause.count, cause.first.message, cause.first.where) for cause in causes),
    )
    each = Sheet(
        name="failures",
        caption="",
        head=("Segmenter", "Sample", "Target", "User", Column("Message", "words")),
        rows=tuple(
            (run.label, d.sample, d.target or "(whole sample)", d.user or "–", d.failure or "")
            for run, d in found[:MAX_FAILURE_ROWS]
        ),
    )
    if len(found) > MAX_FAILURE_ROWS:
        more = f"The first {MAX_FAILURE_ROWS} of {len(found)}."
    else:
        more = ""
    return [messages, Fold(f"{count_text(len(found), 'failure')}, one by one", [Note(more), each])]


def _columns(run: Run) -> list[Column]:
    return [
        Column(
            s.name,
            "interval",
            definition=statistic_definition(s, run),
            higher_is_better=s.higher_is_better,
        )
        for s in run.summary
    ]


def _best(runs: Sequence[Run]) -> dict[tuple[str, str, str], float]:
    """Return the best mean of each statistic with each user on each dataset, where there are several."""
    means: defaultdict[tuple[str, str, Statistic], list[float]] = defaultdict(list)
    for row in summary_rows(runs):
        for statistic in runs[0].summary:
            means[runs[row.run].data, row.user, statistic].append(row.cells[statistic.name].mean)
    best: dict[tuple[str, str, str], float] = {}
    for (data, user, statistic), values in means.items():
        known = [value for value in values if not math.isnan(value)]
        if len(set(known)) > 1:
            best[data, user, statistic.name] = (max if statistic.higher_is_better else min)(known)
    return best


def _estimate(statistic: Statistic, found: Interval, best: float | None) -> Value:
    return Value(
        mean=found.mean,
        low=found.low,
        high=found.high,
        printed=value_text(statistic, found.mean),
        printed_bounds=bounds_text(statistic, found.low, found.high),
        mark="best" if found.mean == best else "",
    )


def difference_value(statistic: Statistic, found: PairedDifference) -> Value:
    """Return a difference of a statistic as tables have it, with its interval and what it says."""
    return Value(
        mean=found.difference,
        low=found.low,
        high=found.high,
        printed=difference_text(statistic, found),
        printed_bounds=difference_bounds_text(statistic, found),
        p_value=found.p_value,
        mark=difference_direction(found, statistic),
    )
