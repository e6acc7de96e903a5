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
    statistics = _columns_of(board, key)
    means = {
        s.name: _means(board, key._replace(group="", statistic=s.name)) for s in statistics[1:]
    }
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows(key, choice):
        extract = board.entries[row.entry].extract
        values = [row.mean, *(means[s.name].get(row.entry) for s in statistics[1:])]
        cells = [
            _interval(statistic, mean) for statistic, mean in zip(statistics, values, strict=True)
        ]
        names = (board.names[row.entry], board.participants[row.entry])
        rank = Value(
            mean=row.place or math.nan,
            low=row.first or math.nan,
            high=row.last or math.nan,
            printed=f"{row.place or ''}",
            printed_bounds=range_text(row),
        )
        rows.append((rank, *names, *cells, row.mean.n, extract.failures.get(key.user, 0)))
    where = ", ".join(filter(None, [board.title, key.data, key.user, key.group]))
    return Sheet(
        name="ranking",
        caption=f"{where}; below a rank, the range of ranks that tests of all pairs together leave open",
        head=(
            Column("Rank", "interval", "rank"),
            Column("Run", key="run"),
            Column("Participant", key="participant"),
            *(Column(s.name, "interval", higher_is_better=s.higher_is_better) for s in statistics),
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
    return tuple(escape_formula(cell) if isinstance(cell, str) else cell for cell in row)


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

    def judged(_: TargetKey, values: Mapping[int, float]) -> _Judged:
        known = list(values.values())
        mean = math.fsum(known) / len(known)
        best = max(known, key=lambda value: sign * value)
        return sign * mean, (_value(statistic, mean), _value(statistic, best), len(known))

    _, word, _ = board.entries[0].extract.words
    return _sheet_of_targets(
        board, key, pages, anchors or {}, judged,
        caption=f"{statistic.name}: mean and best value over the runs on {key.data}, hardest {word} first.",
        columns=(
            Column("Mean", "number", "mean", higher_is_better=statistic.higher_is_better),
            Column("Best", "number", "best", higher_is_better=statistic.higher_is_better),
            Column("Runs", "number", "runs"),
        ),
    )  # fmt: skip


def sample_sheet(board: Board, key: PanelKey, sample: str, choice: Choice = "all") -> Sheet:
    """Return one row per run with its values for the targets of a sample, in the order of the ranking."""
    statistic = statistic_of(board, key)
    every = values_by_target(board, key)
    targets = {target: every[of, target] for of, target in every if of == sample}
    rows: list[tuple[Cell, ...]] = []
    for row in board.rows(key, choice):
        values = (_value(statistic, values.get(row.entry, math.nan)) for values in targets.values())
        rows.append(
            (row.place or "–", board.names[row.entry], board.participants[row.entry], *values)
        )
    head = (
        Column("Rank", "number", "rank"),
        Column("Run", key="run"),
        Column("Participant", key="participant"),
    )
    columns = (Column(name, "number", name, "", statistic.higher_is_better) for name in targets)
    return Sheet(
        name="sample",
        caption=f"{statistic.name} with {key.user}.",
        head=(*head, *columns),
        rows=tuple(rows),
    )


def standing_sheet(board: Board, entry: int) -> Sheet:
    """Return mean and rank of a run in each statistic with each user, among all runs on its data."""
    rows: list[tuple[Cell, ...]] = []
    statistic_names = {statistic.name for statistic in board.statistics}
    for key in board.panels:
        if key.group or key.data != board.data[entry] or key.statistic not in statistic_names:
            continue
        every, placed = _rows(board, key)
        row = every.get(entry)
        if row is None:
            continue
        value = _interval(statistic_of(board, key), row.mean)
        place = f"{row.place} of {placed}" if row.place else "–"
        rows.append((key.statistic, key.user, value, place, range_text(row), row.mean.n))
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

    def judged(target: TargetKey, values: Mapping[int, float]) -> _Judged | None:
        if entry not in values:
            return None
        own = values[entry]
        every = rising[target]
        better = len(every) - bisect_right(every, sign * own)
        if len(every) > 1:
            best = sign * every[-2 if better == 0 else -1]
        else:
            best = math.nan
        lost = sign * (best - own) if len(every) > 1 else 0.0
        return -lost, (
            _value(statistic, own),
            _value(statistic, best),
            f"{1 + better} of {len(values)}",
        )

    return _sheet_of_targets(
        board, key, pages, anchors or {}, judged,
        caption=f"{statistic.name} on {key.data}, by the gap to the best of the other runs, largest first.",
        columns=(
            Column("This run", "number", "own", higher_is_better=statistic.higher_is_better),
            Column("Best other run", "number", "best", higher_is_better=statistic.higher_is_better),
            Column("Place", key="place"),
        ),
    )  # fmt: skip


def _sheet_of_targets(
    board: Board,
    key: PanelKey,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str],
    judged: Callable[[TargetKey, Mapping[int, float]], _Judged | None],
    *,
    caption: str,
    columns: Sequence[Column],
) -> Sheet:
    """Return one row per target.

    `judged` returns the sort key and cells of a target from its values by entry, or None to leave
    it out.
    """
    rows: list[_Judged] = []
    labels = _labels(board, key)
    for target, values in values_by_target(board, key).items():
        if (found := judged(target, values)) is None:
            continue
        order, cells = found
        sample, name = target
        page = pages.get(sample, "")
        links = Link(name, anchors.get(target, ""), page), Link(sample, page=page)
        rows.append((order, (*links, labels[target], *cells)))
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
        rows=tuple(row for _, row in ordered),
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
        keys = zip(extract.targets.sample, extract.targets.target, strict=True)
        for target, value in zip(keys, extract.values[key.user][key.statistic], strict=True):
            if value is not None:
                found.setdefault(target, {})[number] = value
    return found


@lru_cache(maxsize=64)
def _rows(board: Board, key: PanelKey) -> tuple[dict[int, BoardRank], int]:
    """Return the rows of a panel by entry, and the number of ranked rows."""
    rows = {row.entry: row for row in board.rows(key)}
    return rows, sum(bool(row.place) for row in rows.values())


@lru_cache(maxsize=2)
def _rising(board: Board, key: PanelKey) -> dict[TargetKey, list[float]]:
    """Return the values of each target, worst first, negated if lower is better."""
    sign = 1 if statistic_of(board, key).higher_is_better else -1
    every = values_by_target(board, key)
    return {
        target: sorted(sign * value for value in values.values())
        for target, values in every.items()
    }


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
    return [own, *(one for one in board.statistics if one != own and not key.group)]


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
