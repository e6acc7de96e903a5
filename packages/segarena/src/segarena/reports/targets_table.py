"""Every target with what each run made of it: the table to look for single cases in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from segarena.reports.chart_series import run_column_names
from segarena.reports.recorded_run import DialogueId, Run
from segarena.reports.run_statistics import TargetKey, target_values, user_names
from segarena.reports.sheets import Cell, Column, Link, Sheet, Value
from segarena.reports.wording import statistic_definition, value_text
from segarena.roles import Statistic


def target_values_sheet(
    runs: Sequence[Run],
    statistic: Statistic,
    shown: Mapping[DialogueId, str],
    *,
    target: str = "target",
) -> Sheet:
    """Return a row per dataset, user and target with the statistic in each run; the hardest come first.

    With two runs the last column is the second minus the first, with more by how much they differ at most. A target
    leads to its dialogue where `shown` has it. `target` is what it is called.
    """
    columns = run_column_names(runs)
    names = list(dict.fromkeys(columns.values()))
    has_several = len({run.data for run in runs}) > 1
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for data in dict.fromkeys(run.data for run in runs):
        of_data = {columns[run]: run for run in runs if run.data == data}
        labels = {
            (told.sample, told.target): told.label
            for run in of_data.values()
            for told in run.finished()
        }
        for user in user_names(runs):
            values = {
                name: target_values(run, user, statistic)
                for name, run in of_data.items()
                if user in run.users
            }
            for key in dict.fromkeys(key for known in values.values() for key in known):
                about = [
                    _linked(key, user, shown),
                    key[0],
                    labels[key],
                    user,
                    *([data] if has_several else []),
                ]
                found = [
                    values[name].get(key, math.nan) if name in values else math.nan
                    for name in names
                ]
                cells = [Value(mean=value, printed=value_text(statistic, value)) for value in found]
                rows.append(
                    (_hardness(statistic, found), (*about, *cells, *_difference(statistic, found)))
                )
    head = (
        Column(target.capitalize(), key="target"),
        Column("Sample", key="sample"),
        Column("Label", "words", key="label"),
        Column("User", key="user"),
        *([Column("Dataset", key="dataset")] if has_several else []),
        *(_column(name, statistic, runs[0]) for name in names),
        *_difference_columns(names),
    )
    return Sheet(
        name="targets",
        caption=f"{statistic.name} of every {target}, the mean over repeats, hardest first.",
        head=head,
        rows=tuple(row for _, row in sorted(rows, key=lambda row: row[0])),
    )


def _linked(key: TargetKey, user: str, shown: Mapping[DialogueId, str]) -> Link:
    anchors = [
        anchor for (sample, target, _, _), anchor in shown.items() if (sample, target) == key
    ]
    own = [
        anchor
        for (sample, target, other, _), anchor in shown.items()
        if (sample, target, other) == (*key, user)
    ]
    return Link.to(key[1], next(iter([*own, *anchors]), ""))


def _column(name: str, statistic: Statistic, run: Run) -> Column:
    about = statistic_definition(statistic, run)
    return Column(name, "number", name, about, statistic.higher_is_better)


def _difference_columns(names: Sequence[str]) -> list[Column]:
    if len(names) < 2:
        return []
    return [
        Column(
            f"{names[1]} − {names[0]}" if len(names) == 2 else "Most minus least",
            "number",
            "difference",
        )
    ]


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
    if size < 0:
        sign = "−"
    else:
        sign = "+" if size > 0 and len(found) == 2 else ""
    return [Value(mean=size, printed=sign + text)]


def _hardness(statistic: Statistic, found: Sequence[float]) -> float:
    known = [value for value in found if not math.isnan(value)]
    mean = math.fsum(known) / len(known)
    return mean if statistic.higher_is_better else -mean
