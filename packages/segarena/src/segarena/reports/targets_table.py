"""Table of every target with its value in each run, for finding individual cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
from numpy.typing import NDArray

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
    limit: int | None = None,
) -> Sheet:
    """Tabulate the statistic of each run, one row per dataset, user and target, hardest target first.

    For two runs, the last column is the second value minus the first; for more runs, the maximum
    minus the minimum. A target links to its dialogue if `shown` contains it. `target` is the word
    for a target. The table has at most `limit` rows, or all of them if it is None.
    """
    columns = run_column_names(runs)
    names = list(dict.fromkeys(columns.values()))
    datasets = list(dict.fromkeys(run.data for run in runs))
    groups: list[_TargetGroup] = []
    for data in datasets:
        own_runs = [run for run in runs if run.data == data]
        labels = _target_labels(own_runs)
        for user in user_names(runs):
            of_runs = {columns[run]: run for run in own_runs if user in run.users}
            groups.append(
                _target_group(data, user, [of_runs.get(name) for name in names], statistic, labels)
            )
    head = [
        Column(target.capitalize(), key="target"),
        Column("Sample", key="sample"),
        Column("Label", "words", key="label"),
        Column("User", key="user"),
    ]
    if len(datasets) > 1:
        head.append(Column("Dataset", key="dataset"))
    head += [_column(name, statistic, runs[0]) for name in names]
    head += _difference_columns(names)
    rows = _TargetRows(groups, statistic, _Links(shown), len(datasets) > 1, limit)
    caption = f"{statistic.name} of every {target}, averaged over repeats, hardest first."
    if len(rows) < rows.total:
        caption = (
            f"{statistic.name} averaged over repeats, hardest first: {len(rows):,} of {rows.total:,} rows. "
            "The file targets.csv has all of them."
        )
    return Sheet(name="targets", caption=caption, head=tuple(head), rows=rows)


@dataclass(frozen=True, slots=True)
class _TargetGroup:
    """The targets of one dataset and user.

    Attributes:
        labels: label of each target; targets without a label have an empty one.
        values: one row per key, one column per run; NaN where the run has no value.
    """

    data: str
    user: str
    keys: Sequence[TargetKey]
    labels: Sequence[str]
    values: NDArray[np.float64]


def _target_group(
    data: str,
    user: str,
    runs: Sequence[Run | None],
    statistic: Statistic,
    labels: Mapping[TargetKey, str],
) -> _TargetGroup:
    """Return the targets of a dataset and user, with a column for each run; None for runs without this user."""
    # In a function of its own, because these mappings of a large run take more memory than the result.
    values: list[Mapping[TargetKey, float]] = []
    for run in runs:
        values.append({} if run is None else target_values(run, user, statistic))
    keys = tuple(dict.fromkeys(chain.from_iterable(values)))
    found = np.full((len(keys), len(runs)), math.nan)
    for column, known in enumerate(values):
        found[:, column] = [known.get(key, math.nan) for key in keys]
    return _TargetGroup(data, user, keys, [labels[key] for key in keys], found)


class _TargetRows(Sequence[tuple[Cell, ...]]):
    """Rows of the table, built when they are read, because large runs have hundreds of thousands of rows.

    Attributes:
        total: number of rows without a limit.
    """

    def __init__(
        self,
        groups: Sequence[_TargetGroup],
        statistic: Statistic,
        links: _Links,
        has_datasets: bool,
        limit: int | None,
    ) -> None:
        self._groups = groups
        self._statistic = statistic
        self._links = links
        self._has_datasets = has_datasets
        self._starts = np.cumsum([0, *(len(group.keys) for group in groups)])
        self.total = int(self._starts[-1])
        rows = chain.from_iterable(group.values for group in groups)
        hardness = np.fromiter((_hardness(statistic, row) for row in rows), np.float64, self.total)
        # NaN comes last, and targets of equal hardness stay in the order of the run.
        self._order = np.argsort(hardness, kind="stable")[:limit]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> tuple[Cell, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Cell, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Cell, ...] | Sequence[tuple[Cell, ...]]:
        """Build a row, or several."""
        if isinstance(index, slice):
            return [self._row(int(number)) for number in self._order[index]]
        return self._row(int(self._order[index]))

    def _row(self, number: int) -> tuple[Cell, ...]:
        position = int(np.searchsorted(self._starts, number, side="right")) - 1
        group = self._groups[position]
        index = number - int(self._starts[position])
        key = group.keys[index]
        found = group.values[index].tolist()
        row: list[Cell] = [
            self._links.of(key, group.user),
            key[0],
            group.labels[index],
            group.user,
        ]
        if self._has_datasets:
            row.append(group.data)
        for value in found:
            row.append(Value(mean=value, printed=value_text(self._statistic, value)))
        row += _difference(self._statistic, found)
        return tuple(row)


def _target_labels(runs: Iterable[Run]) -> dict[TargetKey, str]:
    labels: dict[TargetKey, str] = {}
    for run in runs:
        for dialogue in run.finished():
            labels[dialogue.sample, dialogue.target] = dialogue.label
    return labels


class _Links:
    """Links from targets to shown dialogues about them.

    Args:
        shown: anchor or address of each shown dialogue.
    """

    def __init__(self, shown: Mapping[DialogueId, str]) -> None:
        self._of_users: dict[tuple[str, str, str], str] = {}
        self._of_targets: dict[TargetKey, str] = {}
        for (sample, target, user, _), anchor in shown.items():
            self._of_users.setdefault((sample, target, user), anchor)
            self._of_targets.setdefault((sample, target), anchor)

    def of(self, key: TargetKey, user: str) -> Link:
        """Return a link to the first shown dialogue about a target, preferably one of the given user."""
        of_target = self._of_targets.get(key, "")
        return Link.to(key[1], self._of_users.get((*key, user), of_target))


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


def _hardness(statistic: Statistic, found: Iterable[float]) -> float:
    """Return the sort key of a row: the mean over runs, negated if lower is better."""
    known = [value for value in found if not math.isnan(value)]
    mean = math.fsum(known) / len(known)
    return mean if statistic.higher_is_better else -mean
