"""A board as tables: for CSV and LaTeX, of every target, and of one sample."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from segarena.files.spreadsheets import plain_cell
from segarena.reports.boards.board import Board, Choice
from segarena.reports.boards.board_wording import range_text, statistic_of
from segarena.reports.boards.panels import BoardRank, PanelKey
from segarena.reports.renderers import latex_comment, sheet_csv, sheet_tex
from segarena.reports.run_statistics import TargetKey
from segarena.reports.sheets import Cell, Column, Link, Sheet, Value
from segarena.reports.wording import bounds_text, value_text
from segarena.roles import Statistic
from segarena.statistics.intervals import Interval

_Judged: TypeAlias = tuple[float, tuple[Cell, ...]]
"""Of a target: what it is ordered by, the least first, and cells."""


def board_ranking_sheet(board: Board, key: PanelKey, choice: Choice = "all") -> Sheet:
    """Return the rows of a panel, with the values of the benchmark's other statistics for the same data and user."""
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
        caption=f"{where}; places below a rank are those that tests of all pairs together leave open",
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
    """Return the ranking as CSV; a name that a spreadsheet would compute has an apostrophe before it."""
    sheet = board_ranking_sheet(board, key or board.first_key, choice)
    rows = (
        tuple(plain_cell(cell) if isinstance(cell, str) else cell for cell in row)
        for row in sheet.rows
    )
    return sheet_csv(replace(sheet, rows=tuple(rows)))


def board_tex(board: Board, key: PanelKey | None = None, choice: Choice = "all") -> str:
    """Return the ranking as a tabular for booktabs."""
    sheet = board_ranking_sheet(board, key or board.first_key, choice)
    return f"% {latex_comment('needs booktabs; brackets hold 95 % intervals')}\n{sheet_tex(sheet)}"


def board_targets_sheet(
    board: Board,
    key: PanelKey,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Return every target with the mean and the best of all runs, the hardest first.

    `pages` are the addresses of the samples' pages, `anchors` where a target stands on its own.
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
        caption=f"{statistic.name}: mean and best over the runs on {key.data}, the hardest {word} first.",
        columns=(
            Column("Mean", "number", "mean", higher_is_better=statistic.higher_is_better),
            Column("Best", "number", "best", higher_is_better=statistic.higher_is_better),
            Column("Runs", "number", "runs"),
        ),
    )  # fmt: skip


def sample_sheet(board: Board, key: PanelKey, sample: str, choice: Choice = "all") -> Sheet:
    """Return a row for each run, in the order of the ranking, with its value for each target of a sample."""
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
    """Return where a run stands in each statistic, with each user, among all runs on its data."""
    rows: list[tuple[Cell, ...]] = []
    for key in board.panels:
        if (
            key.group
            or key.data != board.data[entry]
            or key.statistic not in {one.name for one in board.statistics}
        ):
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
        Column("Place", key="place"),
        Column("Open places", key="open"),
        Column("Targets", "number", "targets"),
    )
    caption = (
        "Means over targets, with the place among all runs and the places that chance leaves open."
    )
    return Sheet(name="standing", caption=caption, head=head, rows=tuple(rows))


def run_sheet(
    board: Board,
    key: PanelKey,
    entry: int,
    pages: Mapping[str, str],
    anchors: Mapping[TargetKey, str] | None = None,
) -> Sheet:
    """Return every target of a run with its value beside the best of the others; those first at which it loses most."""
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
        caption=f"{statistic.name} on {key.data}; first where it is furthest behind the best of the others.",
        columns=(
            Column("This run", "number", "own", higher_is_better=statistic.higher_is_better),
            Column("Best of the others", "number", "best", higher_is_better=statistic.higher_is_better),
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
    """Return a row for each target, by what `judged` makes of its values by entry; None leaves it out."""
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
    """Return the targets in the order of `targets_sheet`."""
    rows = board_targets_sheet(board, key, {}).rows
    return [
        (row[1].text, row[0].text)
        for row in rows
        if isinstance(row[0], Link) and isinstance(row[1], Link)
    ]


@lru_cache(maxsize=2)
def values_by_target(board: Board, key: PanelKey) -> dict[TargetKey, dict[int, float]]:
    """Return for each target the values of a statistic by entry; those without one are left out."""
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
    """Return the rows of a panel by entry, and how many of them have a place."""
    rows = {row.entry: row for row in board.rows(key)}
    return rows, sum(bool(row.place) for row in rows.values())


@lru_cache(maxsize=2)
def _rising(board: Board, key: PanelKey) -> dict[TargetKey, list[float]]:
    """Return the values of each target, the worst first; those of which less is better with their sign turned."""
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
        found |= dict(
            zip(zip(targets.sample, targets.target, strict=True), targets.label, strict=True)
        )
    return found


def _columns_of(board: Board, key: PanelKey) -> Sequence[Statistic]:
    """Return the statistic of a panel, and behind it the others; of a group there are none."""
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
