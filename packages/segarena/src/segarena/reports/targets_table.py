"""Table of every target with its value in each run, for finding individual cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from segarena.benchmark_rules import Statistic
from segarena.reports.cells import Cell, Column, Link, Value
from segarena.reports.chart_series import run_column_names
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueId
from segarena.reports.run_statistics import TargetKey, target_values, user_names
from segarena.reports.sheets import Sheet
from segarena.reports.wording import statistic_definition, value_text


def target_values_sheet(
    runs: Sequence[Run],
    statistic: Statistic,
    shown: Mapping[DialogueId, str],
    *,
    target: str = "target",
) -> Sheet:
    """Tabulate the statistic of each run, one row per dataset, user and target, hardest target first.

    For two runs, the last column is the second value minus the first; for more runs, the maximum
    minus the minimum. A target links to its dialogue if `shown` contains it. `target` is the word
    for a target.
    """
    columns = run_column_names(runs)
    names = list(dict.fromkeys(columns.values()))
    datasets = list(dict.fromkeys(run.data for run in runs))
    has_several = len(datasets) > 1
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for data in datasets:
        own_runs = [run for run in runs if run.data == data]
        labels = _target_labels(own_runs)
        for user in user_names(runs):
            values: dict[str, Mapping[TargetKey, float]] = {}
            for run in own_runs:
                if user in run.users:
                    values[columns[run]] = target_values(run, user, statistic)
            for key in dict.fromkeys(chain.from_iterable(values.values())):
                row: list[Cell] = [_target_link(key, user, shown), key[0], labels[key], user]
                if has_several:
                    row.append(data)
                found = [values.get(name, {}).get(key, math.nan) for name in names]
                for value in found:
                    row.append(Value(mean=value, printed=value_text(statistic, value)))
                row += _difference(statistic, found)
                rows.append((_hardness(statistic, found), tuple(row)))
    head = [
        Column(target.capitalize(), key="target"),
        Column("Sample", key="sample"),
        Column("Label", "words", key="label"),
        Column("User", key="user"),
    ]
    if has_several:
        head.append(Column("Dataset", key="dataset"))
    head += [_column(name, statistic, runs[0]) for name in names]
    head += _difference_columns(names)
    rows.sort(key=lambda row: row[0])
    return Sheet(
        name="targets",
        caption=f"{statistic.name} of every {target}, averaged over repeats, hardest first.",
        head=tuple(head),
        rows=tuple(row for _, row in rows),
    )


def _target_labels(runs: Iterable[Run]) -> dict[TargetKey, str]:
    labels: dict[TargetKey, str] = {}
    for run in runs:
        for dialogue in run.finished():
            labels[dialogue.sample, dialogue.target] = dialogue.label
    return labels


def _target_link(
    key: TargetKey,
    user: str,
    shown: Mapping[DialogueId, str],
) -> Link:
    """Return a link to a shown dialogue about the target, preferably one of the same user."""
    anchor = ""
    for (sample, target, dialogue_user, _), dialogue_anchor in shown.items():
        if (sample, target) != key:
            continue
        if dialogue_user == user:
            anchor = dialogue_anchor
            break
        anchor = anchor or dialogue_anchor
    return Link.to(key[1], anchor)


def _column(
    name: str,
    statistic: Statistic,
    run: Run,
) -> Column:
    about = statistic_definition(statistic, run)
    return Column(name, "number", name, about, statistic.higher_is_better)


def _difference_columns(names: Sequence[str]) -> list[Column]:
    if len(names) < 2:
        return []
    heading = f"{names[1]} − {names[0]}" if len(names) == 2 else "Maximum − minimum"
    return [Column(heading, "number", "difference")]


def _difference(statistic: Statistic, found: Sequence[float]) -> list[Value]:
    if len(found) < 2:
        return []
    known = [value for value in found if not math.isnan(value)]
    size = math.nan
    if len(found) == 2:
        size = found[1] - found[0]
    elif len(known) > 1:
        size = max(known) - min(known)
    text = value_text(statistic, abs(size)).replace(" %", " pp")
    sign = ""
    if size < 0:
        sign = "−"
    elif size > 0 and len(found) == 2:
        sign = "+"
    return [Value(mean=size, printed=sign + text)]


def _hardness(statistic: Statistic, found: Sequence[float]) -> float:
    """Return the sort key of a row: the mean over runs, negated if lower is better."""
    known = [value for value in found if not math.isnan(value)]
    mean = math.fsum(known) / len(known)
    return mean if statistic.higher_is_better else -mean
