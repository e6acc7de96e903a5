"""Tables of a board: the ranking, also as CSV and LaTeX, and values by target, sample and run."""

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
from segarena.reports.boards.board_wording import (
    RANK_DEFINITION,
    is_control,
    median_seconds,
    range_text,
    run_remarks,
    time_text,
)
from segarena.reports.boards.statistic_rankings import BoardRank, PanelKey, score_sign
from segarena.reports.cells import Cell, Column, Link, Value
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import latex_comment, sheet_tex
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Sheet
from segarena.reports.wording import bounds_text, seconds_text, value_text
from segarena.statistics.intervals import Interval

_Judged: TypeAlias = tuple[float, tuple[Cell, ...]]
"""Sort key (ascending) and cells of a target."""


def board_ranking_sheet(
    board: Board,
    key: PanelKey,
    choice: Choice = "all",
    pages: Sequence[str] = (),
) -> Sheet:
    """Tabulate the ranking of a panel, with the other statistics for the same dataset and user.

    `pages` contains the page address of each entry; empty if there are no pages. See `Sheet.pick`
    for selecting the columns that a file or a page needs.
    """
    own, *others = _columns_of(board, key)
    other_means: list[Mapping[int, Interval]] = []
    for statistic in others:
        other_key = key._replace(group="", statistic=statistic.name)
        other_means.append(board.panels[other_key].mean_by_entry)
    rows: list[tuple[Cell, ...]] = []
    muted: set[int] = set()
    for row in board.rows(key, choice):
        entry = board.entries[row.entry]
        extract = entry.extract
        if is_control(extract):
            muted.add(len(rows))
        page = pages[row.entry] if pages else ""
        run = Link(board.names[row.entry], page=page, note=run_remarks(board, row.entry))
        means = [_interval(own, row.mean)]
        for statistic, means_of_entries in zip(others, other_means, strict=True):
            means.append(_interval(statistic, means_of_entries.get(row.entry)))
        failures = extract.failures.get(key.user, 0)
        seconds = median_seconds(extract, key.user)
        cells: tuple[Cell, ...] = (
            _rank(row),
            run,
            board.participants[row.entry],
            *means,
            row.mean.n,
            Value(mean=failures, decimals=0, mark="alarm" if failures else ""),
            Value(mean=seconds, printed=seconds_text(seconds)),
            time_text(entry.time, "%Y-%m-%d"),
        )
        rows.append(cells)
    return Sheet(
        name="ranking",
        caption=_ranking_caption(board, key),
        head=(
            Column("Rank", "interval", "rank", RANK_DEFINITION),
            Column("Run", key="run"),
            Column("Participant", key="participant"),
            *_statistic_columns(board, (own, *others)),
            Column("Targets", "number", "targets"),
            Column("Failures", "number", "failures"),
            Column(f"Time / {board.entries[0].extract.words[0]}", "number", "seconds"),
            Column("Finished", key="finished", is_latest_first=True),
        ),
        rows=tuple(rows),
        muted=frozenset(muted),
    )


def _rank(row: BoardRank) -> Value:
    return Value(
        mean=row.place or math.nan,
        low=row.first or math.nan,
        high=row.last or math.nan,
        printed=str(row.place) if row.place else "",
        printed_bounds=range_text(row),
    )


def _statistic_columns(board: Board, statistics: Sequence[Statistic]) -> list[Column]:
    definitions = board.entries[0].extract.definitions
    columns: list[Column] = []
    for statistic in statistics:
        column = Column(
            statistic.name,
            "interval",
            key=statistic.name,
            definition=definitions[statistic.name],
            higher_is_better=statistic.higher_is_better,
        )
        columns.append(column)
    return columns


def _ranking_caption(board: Board, key: PanelKey) -> str:
    parts = (board.title, key.data, key.user, key.group)
    where = ", ".join(filter(None, parts))
    return f"{where}; below a rank, the range of ranks that is consistent with tests of all pairs together"


def board_csv(
    board: Board,
    key: PanelKey | None = None,
    choice: Choice = "all",
) -> str:
    """Return the ranking as CSV; names that a spreadsheet would evaluate are prefixed with an apostrophe."""
    sheet = _file_sheet(board, key or board.first_key, choice)
    rows = tuple(map(_spreadsheet_row, sheet.rows))
    return sheet_csv(replace(sheet, rows=rows))


def _file_sheet(
    board: Board,
    key: PanelKey,
    choice: Choice,
) -> Sheet:
    """Return the ranking without seconds and dates, which differ between runs with equal results."""
    sheet = board_ranking_sheet(board, key, choice)
    columns = list(sheet.keys)
    columns.remove("seconds")
    columns.remove("finished")
    return sheet.pick(*columns)


def _spreadsheet_row(row: Sequence[Cell]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for cell in row:
        if isinstance(cell, Link):
            cell = cell.text
        if isinstance(cell, str):
            cell = escape_formula(cell)
        cells.append(cell)
    return tuple(cells)


def board_tex(
    board: Board,
    key: PanelKey | None = None,
    choice: Choice = "all",
) -> str:
    """Return the ranking as a LaTeX table for the booktabs package."""
    sheet = _file_sheet(board, key or board.first_key, choice)
    return f"% {latex_comment('needs booktabs; brackets hold 95 % intervals')}\n{sheet_tex(sheet)}"


def board_targets_sheet(
    board: Board,
    key: PanelKey,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Tabulate the mean and the best value of every target over the runs, hardest target first.

    `pages` contains the page address of each sample, `anchors` the anchor of a target on that page.
    """
    statistic = board.statistic_of(key)
    sign = score_sign(statistic)

    def judge(_: TargetKey, values: Mapping[int, float]) -> _Judged:
        known = list(values.values())
        mean = math.fsum(known) / len(known)
        best = max(known) if statistic.higher_is_better else min(known)
        cells = (_value(statistic, mean), _value(statistic, best), len(known))
        return sign * mean, cells

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


def sample_sheet(
    board: Board,
    key: PanelKey,
    sample: str,
    choice: Choice = "all",
) -> Sheet:
    """Tabulate the values of each run for the targets of a sample, in the order of the ranking."""
    statistic = board.statistic_of(key)
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
    """Tabulate a run's mean and rank among all runs on its dataset, for each statistic and user."""
    rows: list[tuple[Cell, ...]] = []
    for key in _keys_on_data(board, board.data[entry]):
        every, ranked_count = _rows(board, key)
        row = every.get(entry)
        if row is None:
            continue
        value = _interval(board.statistic_of(key), row.mean)
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
    return Sheet(
        name="standing",
        caption=caption,
        head=head,
        rows=tuple(rows),
    )


def _keys_on_data(board: Board, data: str) -> list[PanelKey]:
    """Return the keys of the board's panels that cover all targets of a dataset, in the order of the board."""
    keys: list[PanelKey] = []
    for key in board.shown_keys:
        if key.data == data and not key.group:
            keys.append(key)
    return keys


def run_sheet(
    board: Board,
    key: PanelKey,
    entry: int,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Tabulate a run's value for every target, next to the best value of the other runs.

    The targets with the largest gap come first.
    """
    statistic = board.statistic_of(key)
    rising = _rising(board, key)
    sign = score_sign(statistic)

    def judge(target: TargetKey, values: Mapping[int, float]) -> _Judged | None:
        if entry not in values:
            return None
        own = values[entry]
        every = rising[target]
        better = len(every) - bisect_right(every, sign * own)
        best = math.nan
        gap = 0.0
        if len(every) > 1:
            # Best of the *other* runs: this is the second best value if the run itself has the best
            # one.
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
    """Build a table with one row per target.

    `judge` computes the sort key and cells of a target from its values by entry; None omits the
    target.
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
    """Return the targets, hardest first, as in `board_targets_sheet`."""
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
        for target, value in zip(extract.targets.keys, column, strict=True):
            if value is not None:
                value_by_entry = found.setdefault(target, {})
                value_by_entry[number] = value
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
    """Return the values of each target from worst to best, negated if lower is better."""
    sign = score_sign(board.statistic_of(key))
    rising: dict[TargetKey, list[float]] = {}
    for target, value_by_entry in values_by_target(board, key).items():
        values = [sign * value for value in value_by_entry.values()]
        values.sort()
        rising[target] = values
    return rising


@lru_cache(maxsize=2)
def _labels(board: Board, key: PanelKey) -> dict[TargetKey, str]:
    found: dict[TargetKey, str] = {}
    for number in board.panels[key].entries:
        targets = board.entries[number].extract.targets
        found.update(zip(targets.keys, targets.label, strict=True))
    return found


def _columns_of(board: Board, key: PanelKey) -> Sequence[Statistic]:
    """Return the statistic of a panel, followed by the other statistics; groups of targets have no others."""
    own = board.statistic_of(key)
    if key.group:
        return [own]
    columns = list(board.statistics)
    columns.remove(own)
    return [own, *columns]


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
