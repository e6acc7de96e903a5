"""The summary in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from segarena.reports.pages import page_of
from segarena.reports.reading import Run, read_runs
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.reports.tables import direction, paired_rows, summary_rows, timing_rows
from segarena.reports.wording import (
    bounds_text,
    difference_bounds_text,
    difference_text,
    empty_text,
    pairing_text,
    partial_text,
    protocol_text,
    seconds_text,
    value_text,
)

COLUMNS = 4
"""So many segmenters x users stand side by side; more go below."""


def terminal_table(runs: Sequence[str | Path], *, thresholds: Sequence[float] = ()) -> RenderableType:
    """Return the summary of run folders, with paired differences to the first when there are several.

    What the page of their benchmark shows in a terminal stands before it.

    Raises:
        InvalidInput: a further threshold that the runs cannot answer for.
        RunMissing, RunConflict: see `segarena.reports.reading.read_runs`.
    """
    own = page_of(read_runs(runs, thresholds=thresholds))
    read = own.usual_runs
    parts: list[RenderableType] = [Text(f"{read[0].config.benchmark.name}, {protocol_text(read[0])}")]
    parts += [Text(text, style="bold yellow") for run in read for text in (partial_text(run), empty_text(run)) if text]
    parts += own.terminal()
    parts.append(_summary(read))
    if len(read) > 1:
        parts += [Text(text, style="yellow") for text in [pairing_text(read)] if text]
        parts += [_paired(read)] if paired_rows(read) else []
    parts.append(Text("[low, high]: 95 % interval over targets, images resampled", style="dim"))
    return Group(*parts)


def _summary(runs: Sequence[Run]) -> Group:
    statistics = runs[0].summary
    grid = [_texts("segmenter", "user", *(s.name for s in statistics), "time/round", "targets", "failures", "encodes")]
    for row, timing in zip(summary_rows(runs), timing_rows(runs), strict=True):
        cells = [
            Text.assemble(value_text(s, c.mean), "\n", (bounds_text(s, c.low, c.high), "dim"))
            for s in statistics
            for c in [row.cells[s.name]]
        ]
        failures = Text(str(row.failures), style="bold red" if row.failures else "")
        ends = [*_texts(seconds_text(timing.median_s), str(row.targets)), failures, Text(str(timing.encodes))]
        grid.append([*_texts(row.label, row.user), *cells, *ends])
    return columns_of(grid, len(runs))


def _paired(runs: Sequence[Run]) -> Group:
    statistics = runs[0].summary
    grid = [_texts("difference", "user", *(s.name for s in statistics), "matched", "unmatched")]
    colours = {"better": "green", "worse": "red", "unclear": ""}
    for row in paired_rows(runs):
        cells = [
            Text.assemble(
                (difference_text(s, c), colours[direction(c, s)]), "\n", (difference_bounds_text(s, c), "dim")
            )
            for s in statistics
            for c in [row.cells[s.name]]
        ]
        names = _texts(f"{row.label} − {row.baseline}", row.user)
        grid.append([*names, *cells, *_texts(str(row.matched), str(row.unmatched))])
    return columns_of(grid, len(runs) - 1)


def _texts(*words: str) -> list[Text]:
    return [Text(word) for word in words]


def sheet_terminal(sheet: Sheet, *, together: int = 1) -> Group:
    """Return a sheet whose rows are columns; see `columns_of`."""
    rows = [[_cell(cell) for cell in row] for row in sheet.rows]
    return columns_of([_texts(*sheet.head), *rows], together)


def _cell(cell: Cell) -> Text:
    if not isinstance(cell, Value):
        return Text(str(cell))
    bounds = [("\n" + cell.bounds, "dim")] if cell.bounds else []
    return Text.assemble((cell.text, "bold" if cell.is_best else ""), *bounds)


def columns_of(grid: Sequence[Sequence[Text]], together: int = 1) -> Group:
    """Return the rows of the grid as columns, a few to a table, so that they fit a terminal; the first one leads.

    `together` rows, those of one user, stay in one table if they can.
    """
    tables: list[RenderableType] = []
    columns = max(1, COLUMNS // together) * together if together <= COLUMNS else COLUMNS
    for start in range(1, len(grid), columns):
        lines = [list(line) for line in zip(grid[0], *grid[start : start + columns], strict=True)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for place, title in enumerate(lines[0]):
            table.add_column(title, justify="right" if place else "left")
        for line in lines[1:]:
            table.add_row(*line)
        tables += [table, Text()]
    return Group(*tables)
