"""The tables of every report: summary, differences, timings, hardest targets and failures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from segarena.benchmark_rules import Statistic
from segarena.records.failures import FailureCause, group_by_cause
from segarena.reports.cells import Cell, Column, Link, Value
from segarena.reports.chart_series import area_statistic, run_column_names
from segarena.reports.display_names import metric_name
from segarena.reports.hardest_targets import RankedTarget
from segarena.reports.human_time import predict_seconds
from segarena.reports.page_parts import Fold, Note, Part
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.run_statistics import (
    difference_direction,
    paired_rows,
    summary_rows,
    summary_thresholds,
    timing_rows,
)
from segarena.reports.sheets import Sheet
from segarena.reports.wording import (
    baseline_text,
    bounds_text,
    count_text,
    difference_bounds_text,
    difference_text,
    seconds_text,
    statistic_definition,
    unloaded_samples,
    value_text,
)
from segarena.statistics.intervals import Interval, PairedDifference
from segarena.users.habits.prompt_time import PromptTimeModel

MAX_HARDEST_ROWS = 12
"""Maximum number of rows in the table of hardest targets."""

MAX_FAILURE_ROWS = 200
"""Maximum number of failures that are listed individually."""

MAX_MESSAGE_ROWS = 20
"""Maximum number of distinct failure messages in the table of messages."""


def summary_sheet(
    runs: Sequence[Run],
    caption: str = "",
    *,
    target: str = "target",
    pace: PromptTimeModel | None = None,
) -> Sheet:
    """Tabulate a summary with all its columns, one row per user and run; `Sheet.pick` selects columns.

    The column "segmenter" contains the distinct labels of runs; the column "name" contains shorter
    names for use next to the column "dataset". `target` is the word for a target. With `pace`, the
    column "person/dialogue" contains the predicted seconds of a person for a dialogue.
    """
    head = (
        Column("Benchmark", key="benchmark"),
        Column("Protocol", key="protocol"),
        Column("User", key="user"),
        Column("Dataset", key="dataset"),
        Column("Segmenter", key="segmenter"),
        Column("Segmenter", key="name"),
        *_statistic_columns(runs[0]),
        Column("Time / round", "number", key="time/round"),
        Column(f"{target.capitalize()}s", "number", key="targets"),
        Column("Dialogues", "number", key="dialogues"),
        Column("Failures", "number", key="failures"),
        Column("Encodes", "number", key="encodes"),
        Column("Complete", key="complete"),
    )
    if pace is not None:
        head = (*head, Column("Person / dialogue", "interval", key="person/dialogue"))
    rows: list[tuple[Cell, ...]] = []
    best = _best_means(runs)
    columns = run_column_names(runs)
    for row, timing in zip(summary_rows(runs), timing_rows(runs), strict=True):
        run = runs[row.run]
        rules = run.config.benchmark
        names = (rules.name, rules.protocol, row.user, run.data, row.label, columns[run])
        means: list[Value] = []
        for statistic in runs[0].summary:
            best_mean = best.get((run.data, row.user, statistic.name))
            means.append(_mean_value(statistic, row.cells[statistic.name], best_mean))
        time = Value(mean=timing.median_s, printed=seconds_text(timing.median_s))
        failures = Value(mean=row.failures, decimals=0, mark="alarm" if row.failures else "")
        counts = (row.targets, row.dialogues, failures, timing.encodes)
        complete = "yes" if run.is_complete else "no"
        cells = (*names, *means, time, *counts, complete)
        if pace is not None:
            found = predict_seconds(run, row.user, pace)
            cells = (*cells, Value(mean=math.nan) if found is None else found.whole)
        rows.append(cells)
    return Sheet(
        name="summary",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def paired_sheet(runs: Sequence[Run], *, target: str = "target") -> Sheet:
    """Tabulate the difference in each statistic, one row per user and pair of runs."""
    rows: list[tuple[Cell, ...]] = []
    for row in paired_rows(runs):
        summary = runs[0].summary
        values = [difference_value(statistic, row.cells[statistic.name]) for statistic in summary]
        pair = f"{row.label} − {row.baseline}"
        rows.append((row.user, pair, *values, row.matched, row.unmatched))
    head = (
        Column("User", key="user"),
        Column("Difference", key="difference"),
        *_statistic_columns(runs[0]),
        Column("Matched", "number", key="matched"),
        Column("Unmatched", "number", key="unmatched"),
    )
    caption = f"Each run minus {baseline_text(runs)}, on the same {target}s with the same users."
    return Sheet(
        name="paired",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def differences_sheet(runs: Sequence[Run]) -> Sheet:
    """Tabulate differences in a form for programs, one row per pair of runs, user and statistic.

    Differences are segmenter minus baseline.
    """
    names = ("segmenter", "baseline", "user", "statistic")
    numbers = ("difference", "low", "high", "p_value", "better", "ties")
    counts = ("pairs", "independent", "matched", "unmatched")
    rows: list[tuple[Cell, ...]] = []
    for row in paired_rows(runs):
        for statistic, difference in row.cells.items():
            cells: list[Cell] = [row.label, row.baseline, row.user, statistic]
            for number in numbers:
                cells.append(Value(mean=float(getattr(difference, number))))
            cells += [difference.n, difference.clusters, row.matched, row.unmatched]
            rows.append(tuple(cells))
    number_columns = [Column(number, "number") for number in (*numbers, *counts)]
    return Sheet(
        name="paired",
        caption="",
        head=(*names, *number_columns),
        rows=tuple(rows),
    )


def timings_sheet(runs: Sequence[Run]) -> Sheet:
    """Tabulate, for programs, the seconds of each run with each user; they differ even between equal runs."""
    numbers = ("rounds", "median_s", "p95_s", "encoder_passes", "encoder_median_s")
    rows: list[tuple[Cell, ...]] = []
    for row in timing_rows(runs):
        median = Value(mean=row.median_s)
        p95 = Value(mean=row.p95_s)
        encode = Value(mean=row.encode_median_s)
        rows.append((row.label, row.user, row.rounds, median, p95, row.encodes, encode))
    number_columns = [Column(number, "number") for number in numbers]
    head = ("segmenter", "user", *number_columns)
    return Sheet(
        name="timings",
        caption="",
        head=head,
        rows=tuple(rows),
    )


def hardest_sheet(
    runs: Sequence[Run],
    targets: Sequence[RankedTarget],
    shown: Mapping[DialogueId, str],
) -> Sheet:
    """Tabulate the hardest targets; a row links to the worst dialogue if `shown` has its address."""
    statistic = area_statistic(runs[0])
    thresholds = summary_thresholds(runs[0], statistic.metric)
    head = [
        Column("Target"),
        Column("Sample"),
        Column("Label", "words"),
        Column(f"Mean {statistic.name}", "number"),
        Column(f"Best {metric_name(statistic.metric)}", "number"),
    ]
    if thresholds:
        head.append(Column(f"Reached {thresholds[-1]:g}", "number"))
    head.append(Column("Worst with"))
    rows: list[tuple[Cell, ...]] = []
    for target in targets[:MAX_HARDEST_ROWS]:
        sample, name = target.key
        link = Link.to(name, shown.get(target.worst, ""))
        cells: list[Cell] = [link, sample, target.label]
        cells += [Value(mean=target.score), Value(mean=target.best)]
        if thresholds:
            solved = f"{target.solved} of {target.dialogues}"
            cells.append(Value(mean=target.solved, printed=solved))
        _, _, user, _ = target.worst
        rows.append((*cells, user))
    caption = (
        "Targets with the lowest area under the curve over all users, repeats and runs. "
        "Rows link to the worst dialogue."
    )
    return Sheet(
        name="hardest",
        caption=caption,
        head=tuple(head),
        rows=tuple(rows),
    )


def failures_parts(runs: Sequence[Run]) -> list[Part]:
    """Return the failures: a count for each cause, a list of failed dialogues, and samples not loaded.

    Tables have at most `MAX_MESSAGE_ROWS` causes and `MAX_FAILURE_ROWS` dialogues or samples. Empty
    if no run has any dialogue.
    """
    found: list[tuple[Run, DialogueRecord]] = []
    for run in runs:
        found += [(run, dialogue) for dialogue in run.failures]
    unloaded = _unloaded_parts(runs)
    if not found:
        if any(run.dialogues for run in runs):
            return [Note("None: all dialogues finished."), *unloaded]
        return []
    rows: list[tuple[Cell, ...]] = []
    for run, dialogue in found[:MAX_FAILURE_ROWS]:
        target = dialogue.target or "(whole sample)"
        user = dialogue.user or "–"
        rows.append((run.label, dialogue.sample, target, user, dialogue.failure or ""))
    each = Sheet(
        name="failures",
        caption="",
        head=("Segmenter", "Sample", "Target", "User", Column("Message", "words")),
        rows=tuple(rows),
    )
    more = ""
    if len(found) > MAX_FAILURE_ROWS:
        more = f"The first {MAX_FAILURE_ROWS} of {len(found)}."
    title = f"{count_text(len(found), 'failure')}, individually"
    return [_messages_sheet(runs), Fold(title, [Note(more), each]), *unloaded]


def _unloaded_parts(runs: Sequence[Run]) -> list[Part]:
    """Return the table of samples that could not be loaded, each listed once for all runs."""
    rows: list[tuple[Cell, ...]] = []
    for (data, sample), reason in unloaded_samples(runs).items():
        rows.append((data, sample, reason))
    if not rows:
        return []
    head = ("Dataset", "Sample", Column("Reason", "words"))
    sheet = Sheet(
        name="unloaded",
        caption="",
        head=head,
        rows=tuple(rows[:MAX_FAILURE_ROWS]),
    )
    title = f"{count_text(len(rows), 'sample')} of the dataset could not be loaded"
    return [Fold(title, [sheet])]


def _messages_sheet(runs: Sequence[Run]) -> Sheet:
    """Tabulate the most frequent causes of failures, each with its first message."""
    causes: list[FailureCause] = []
    for run in runs:
        causes += run.causes
    rows: list[tuple[Cell, ...]] = []
    for cause in group_by_cause(causes)[:MAX_MESSAGE_ROWS]:
        rows.append((cause.count, cause.first.message, cause.first.where))
    head = (Column("Count", "number"), Column("First message", "words"), "First occurrence")
    return Sheet(
        name="messages",
        caption="",
        head=head,
        rows=tuple(rows),
    )


def _statistic_columns(run: Run) -> list[Column]:
    columns: list[Column] = []
    for statistic in run.summary:
        column = Column(
            statistic.name,
            "interval",
            definition=statistic_definition(statistic, run),
            higher_is_better=statistic.higher_is_better,
        )
        columns.append(column)
    return columns


def _best_means(runs: Sequence[Run]) -> dict[tuple[str, str, str], float]:
    """Return the best mean by dataset, user and statistic; no entry if all means are equal."""
    means: defaultdict[tuple[str, str, Statistic], list[float]] = defaultdict(list)
    for row in summary_rows(runs):
        data = runs[row.run].data
        for statistic in runs[0].summary:
            mean = row.cells[statistic.name].mean
            if not math.isnan(mean):
                means[data, row.user, statistic].append(mean)
    best: dict[tuple[str, str, str], float] = {}
    for (data, user, statistic), values in means.items():
        if len(set(values)) > 1:
            best_mean = max(values) if statistic.higher_is_better else min(values)
            best[data, user, statistic.name] = best_mean
    return best


def _mean_value(
    statistic: Statistic,
    found: Interval,
    best: float | None,
) -> Value:
    return Value(
        mean=found.mean,
        low=found.low,
        high=found.high,
        printed=value_text(statistic, found.mean),
        printed_bounds=bounds_text(statistic, found.low, found.high),
        mark="best" if found.mean == best else "",
    )


def difference_value(statistic: Statistic, found: PairedDifference) -> Value:
    """Build a table cell for a paired difference with its interval, p-value and emphasis."""
    return Value(
        mean=found.difference,
        low=found.low,
        high=found.high,
        printed=difference_text(statistic, found),
        printed_bounds=difference_bounds_text(statistic, found),
        p_value=found.p_value,
        mark=difference_direction(found, statistic),
    )
