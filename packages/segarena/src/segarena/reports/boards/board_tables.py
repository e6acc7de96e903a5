"""The tables of a board: the ranking for CSV and LaTeX, and values by target, sample and run."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from segarena.benchmark_rules import Statistic
from segarena.files.spreadsheets import escape_formula
from segarena.reports.boards.board import Board, Choice
from segarena.reports.boards.board_wording import range_text, statistic_of
from segarena.reports.boards.panels import BoardRank, PanelKey
from segarena.reports.cells import Cell, Column, Link, Value
from segarena.reports.renderers import latex_comment, sheet_csv, sheet_tex
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Sheet
from segarena.reports.wording import bounds_text, value_text
from segarena.statistics.intervals import Interval

_Judged: TypeAlias = tuple[float, tuple[Cell, ...]]
"""Sort key of a target, in ascending order, and its cells."""


def board_ranking_sheet(board: Board, key: PanelKey, choice: Choice = "all") -> Sheet:
    """Return the ranking of a panel, with the other statistics for the same data and user."""
    own, *others = _columns_of(board, key)
    other_means = [_means(board, key._replace(group="", statistic=one.name)) for one in others]
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows(key, choice):
        extract = board.entries[row.entry].extract
        cells = [_interval(own, row.mean)]
        for statistic, means in zip(others, other_means, strict=True):
            cells.append(_interval(statistic, means.get(row.entry)))
        rank = Value(
            mean=row.place or math.nan,
            low=row.first or math.nan,
            high=row.last or math.nan,
            printed=str(row.place) if row.place else "",
            printed_bounds=range_text(row),
        )
        names = (board.names[row.entry], board.participants[row.entry])
        failures = extract.failures.get(key.user, 0)
        rows.append((rank, *names, *cells, row.mean.n, failures))
    statistic_columns: list[Column] = []
    for statistic in (own, *others):
        column = Column(statistic.name, "interval", higher_is_better=statistic.higher_is_better)
        statistic_columns.append(column)
    known_parts = [text for text in (board.title, key.data, key.user, key.group) if text]
    where = ", ".join(known_parts)
    return Sheet(
        name="ranking",
        caption=f"{where}; below a rank, the range of ranks that tests of all pairs together leave open",
        head=(
            Column("Rank", "interval", "rank"),
            Column("Run", key="run"),
            Column("Participant", key="participant"),
            *statistic_columns,
            Column("Targets", "number", "targets"),
            Column("Failures", "number", "failures"),
        ),
        rows=tuple(rows),
    )


def board_csv(board: Board, key: PanelKey | None = None, choice: Choice = "all") -> str:
    """Return the ranking as CSV; an apostrophe precedes names that a spreadsheet would evaluate."""
    sheet = board_ranking_sheet(board, key or board.first_key, choice)
    rows = tuple(_spreadsheet_row(row) for row in sheet.rows)
    return sheet_csv(replace(sheet, rows=rows))


def _spreadsheet_row(row: Sequence[Cell]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for cell in row:
        if isinstance(cell, str):
            cell = escape_formula(cell)
        cells.append(cell)
    return tuple(cells)


def board_tex(board: Board, key: PanelKey | None = None, choice: Choice = "all") -> str:
    """Return the ranking as a LaTeX table for the booktabs package."""
    sheet = board_ranking_sheet(board, key or board.first_key, choice)
    return f"% {latex_comment('needs booktabs; brackets hold 95 % intervals')}\n{sheet_tex(sheet)}"


def board_targets_sheet(
    board: Board,
    key: PanelKey,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Return every target with the mean and the best value over the runs, the hardest first.

    `pages` holds the address of the page of each sample, `anchors` the anchor of a target on it.
    """
    statistic = statistic_of(board, key)
    sign = 1 if statistic.higher_is_better else -1

    def judge(_: TargetKey, values: Mapping[int, float]) -> _Judged:
        known = list(values.values())
        mean = math.fsum(known) / len(known)
        best = max(known, key=lambda value: sign * value)
        return sign * mean, (_value(statistic, mean), _value(statistic, best), len(known))

    _, word, _ = board.entries[0].extract.words
    return _sheet_of_targets(
        board,
        key,
        pages,
        anchors or {},
        judge,
        caption=f"{statistic.name}: mean and best value over the runs on {key.data}, hardest {word} first.",
        columns=(
            Column("Mean", "number", "mean", higher_is_better=statistic.higher_is_better),
            Column("Best", "number", "best", higher_is_better=statistic.higher_is_better),
            Column("Runs", "number", "runs"),
        ),
    )


def sample_sheet(board: Board, key: PanelKey, sample: str, choice: Choice = "all") -> Sheet:
    """Return one row per run with its values for the targets of a sample, in the order of the ranking."""
    statistic = statistic_of(board, key)
    values_of_targets: dict[str, Mapping[int, float]] = {}
    for (own_sample, target), values in values_by_target(board, key).items():
        if own_sample == sample:
            values_of_targets[target] = values
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows(key, choice):
        cells: list[Cell] = [row.place or "–"]
        cells += [board.names[row.entry], board.participants[row.entry]]
        for values in values_of_targets.values():
            cells.append(_value(statistic, values.get(row.entry, math.nan)))
        rows.append(tuple(cells))
    head = [
        Column("Rank", "number", "rank"),
        Column("Run", key="run"),
        Column("Participant", key="participant"),
    ]
    for target in values_of_targets:
        column = Column(target, "number", target, higher_is_better=statistic.higher_is_better)
        head.append(column)
    return Sheet(
        name="sample",
        caption=f"{statistic.name} with {key.user}.",
        head=tuple(head),
        rows=tuple(rows),
    )


def standing_sheet(board: Board, entry: int) -> Sheet:
    """Return mean and rank of a run in each statistic with each user, among all runs on its data."""
    rows: list[tuple[Cell, ...]] = []
    for key in _keys_on_data(board, board.data[entry]):
        every, ranked_count = _rows(board, key)
        row = every.get(entry)
        if row is None:
            continue
        value = _interval(statistic_of(board, key), row.mean)
        rank = f"{row.place} of {ranked_count}" if row.place else "–"
        rows.append((key.statistic, key.user, value, rank, range_text(row), row.mean.n))
    head = (
        Column("Statistic", "words", "statistic"),
        Column("User", key="user"),
        Column("Mean", "interval", "mean"),
        Column("Rank", key="place"),
        Column("Possible ranks", key="open"),
        Column("Targets", "number", "targets"),
    )
    caption = "Means over targets, with the rank among all runs and the range of possible ranks."
    return Sheet(name="standing", caption=caption, head=head, rows=tuple(rows))


def _keys_on_data(board: Board, data: str) -> list[PanelKey]:
    """Return the keys of the panels about all targets of some data in the board's statistics."""
    shown = {statistic.name for statistic in board.statistics}
    keys: list[PanelKey] = []
    for key in board.panels:
        if key.data == data and not key.group and key.statistic in shown:
            keys.append(key)
    return keys


def run_sheet(
    board: Board,
    key: PanelKey,
    entry: int,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Return every target of a run with its value and the best of the other runs.

    The targets with the largest gap come first.
    """
    statistic = statistic_of(board, key)
    rising = _rising(board, key)
    sign = 1 if statistic.higher_is_better else -1

    def judge(target: TargetKey, values: Mapping[int, float]) -> _Judged | None:
        if entry not in values:
            return None
        own = values[entry]
        every = rising[target]
        better = len(every) - bisect_right(every, sign * own)
        best = math.nan
        gap = 0.0
        if len(every) > 1:
            # The best of the *other* runs: the second highest if this run itself is the best.
            best = sign * (every[-2] if better == 0 else every[-1])
            gap = sign * (best - own)
        place = f"{1 + better} of {len(values)}"
        return -gap, (_value(statistic, own), _value(statistic, best), place)

    return _sheet_of_targets(
        board,
        key,
        pages,
        anchors or {},
        judge,
        caption=f"{statistic.name} on {key.data}, by the gap to the best of the other runs, largest first.",
        columns=(
            Column("This run", "number", "own", higher_is_better=statistic.higher_is_better),
            Column("Best other run", "number", "best", higher_is_better=statistic.higher_is_better),
            Column("Place", key="place"),
        ),
    )


def _sheet_of_targets(
    board: Board,
    key: PanelKey,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str],
    judge: Callable[[TargetKey, Mapping[int, float]], _Judged | None],
    *,
    caption: str,
    columns: Sequence[Column],
) -> Sheet:
    """Return one row per target.

    `judge` returns the sort key and cells of a target from its values by entry, or None to leave
    it out.
    """
    rows: list[_Judged] = []
    labels = _labels(board, key)
    for target, values in values_by_target(board, key).items():
        judged = judge(target, values)
        if judged is None:
            continue
        order, cells = judged
        sample, name = target
        page = pages.get(sample, "")
        target_link = Link(name, anchors.get(target, ""), page)
        sample_link = Link(sample, page=page)
        rows.append((order, (target_link, sample_link, labels[target], *cells)))
    _, word, _ = board.entries[0].extract.words
    head = (
        Column(word.capitalize(), key="target"),
        Column("Sample", key="sample"),
        Column("Label", "words", key="label"),
    )
    ordered = sorted(rows, key=lambda row: row[0])
    return Sheet(
        name="targets",
        caption=caption,
        head=(*head, *columns),
        rows=tuple(cells for _, cells in ordered),
    )


def hardest_targets(board: Board, key: PanelKey) -> list[TargetKey]:
    """Return the targets in the order of `board_targets_sheet`."""
    targets: list[TargetKey] = []
    for target, sample, *_ in board_targets_sheet(board, key, {}).rows:
        if isinstance(target, Link) and isinstance(sample, Link):
            targets.append((sample.text, target.text))
    return targets


@lru_cache(maxsize=2)
def values_by_target(board: Board, key: PanelKey) -> dict[TargetKey, dict[int, float]]:
    """Return the values of a statistic by target and entry, without missing values."""
    found: dict[TargetKey, dict[int, float]] = {}
    for number in board.panels[key._replace(group="")].entries:
        extract = board.entries[number].extract
        column = extract.values[key.user][key.statistic]
        targets = zip(extract.targets.sample, extract.targets.target, strict=True)
        for target, value in zip(targets, column, strict=True):
            if value is not None:
                found.setdefault(target, {})[number] = value
    return found


@lru_cache(maxsize=64)
def _rows(board: Board, key: PanelKey) -> tuple[dict[int, BoardRank], int]:
    """Return the rows of a panel by entry, and the number of ranked rows."""
    rows: dict[int, BoardRank] = {}
    ranked_count = 0
    for row in board.rows(key):
        rows[row.entry] = row
        ranked_count += row.place > 0
    return rows, ranked_count


@lru_cache(maxsize=2)
def _rising(board: Board, key: PanelKey) -> dict[TargetKey, list[float]]:
    """Return the values of each target, worst first, negated if lower is better."""
    sign = 1 if statistic_of(board, key).higher_is_better else -1
    rising: dict[TargetKey, list[float]] = {}
    for target, values in values_by_target(board, key).items():
        rising[target] = sorted(sign * value for value in values.values())
    return rising


@lru_cache(maxsize=2)
def _labels(board: Board, key: PanelKey) -> dict[TargetKey, str]:
    found: dict[TargetKey, str] = {}
    for number in board.panels[key].entries:
        targets = board.entries[number].extract.targets
        keys = zip(targets.sample, targets.target, strict=True)
        found.update(zip(keys, targets.label, strict=True))
    return found


def _columns_of(board: Board, key: PanelKey) -> Sequence[Statistic]:
    """Return the statistic of a panel followed by the others, of which groups have none."""
    own = statistic_of(board, key)
    if key.group:
        return [own]
    others = [statistic for statistic in board.statistics if statistic != own]
    return [own, *others]


def _means(board: Board, key: PanelKey) -> Mapping[int, Interval]:
    panel = board.panels[key]
    return dict(zip(panel.entries, panel.means, strict=True))


def _interval(statistic: Statistic, mean: Interval | None) -> Value:
    if mean is None:
        return Value(mean=math.nan)
    return Value(
        mean=mean.mean,
        low=mean.low,
        high=mean.high,
        printed=value_text(statistic, mean.mean),
        printed_bounds=bounds_text(statistic, mean.low, mean.high),
    )


def _value(statistic: Statistic, value: float) -> Value:
    return Value(mean=value, printed=value_text(statistic, value))
