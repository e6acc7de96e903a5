"""Terminal renderer for tables, with optional transposition for tables of many statistics."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from segarena.reports.cells import Cell, Link, Value
from segarena.reports.sheets import Sheet

ROWS_PER_TABLE = 4
"""Maximum number of rows that a transposed table shows side by side."""

MARK_STYLES = {
    "best": "underline",
    "better": "bold green",
    "worse": "bold red",
    "alarm": "bold red",
}


def sheet_rows(sheet: Sheet) -> Group:
    """Render a sheet with its caption above and its notes below."""
    table = Table(box=None, pad_edge=False)
    for column in sheet.columns:
        justify = "left" if column.kind in ("text", "words") else "right"
        table.add_column(column.heading + column.arrow, justify=justify, overflow="fold")
    for number, row in enumerate(sheet.rows):
        table.add_row(*_texts(row, " "), style="dim" if number in sheet.muted else "")
    caption = Text(sheet.caption.removesuffix("."), style="bold")
    notes = [Text(note, style="dim") for note in sheet.notes]
    return Group(caption, table, *notes)


def sheet_terminal(sheet: Sheet, *, together: int = 1) -> Group:
    """Render a transposed sheet, split into tables of a few columns with the keys at the left.

    Args:
        sheet: the table.
        together: number of consecutive rows, those of one user, that are kept in one table if
            possible.
    """
    columns = ROWS_PER_TABLE
    if together <= ROWS_PER_TABLE:
        # Put as many complete groups into a table as fit.
        columns = max(1, ROWS_PER_TABLE // together) * together
    headings: list[str] = []
    for key, column in zip(sheet.keys, sheet.columns, strict=True):
        headings.append(key + column.arrow)
    tables: list[RenderableType] = []
    for start in range(0, len(sheet.rows), columns):
        tables.append(_table(headings, sheet.rows[start : start + columns]))
        tables.append(Text())
    return Group(*tables)


def _table(keys: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    titles, *lines = zip(keys, *rows, strict=True)
    for index, title in enumerate(_texts(titles, "\n")):
        table.add_column(title, justify="left" if index == 0 else "right")
    for line in lines:
        table.add_row(*_texts(line, "\n"))
    return table


def _texts(cells: Sequence[Cell], between: str) -> list[Text]:
    return [_text(cell, between) for cell in cells]


def _text(cell: Cell, between: str) -> Text:
    """Format a cell; `between` separates a number from its interval."""
    match cell:
        case Value():
            small = [(between + text, "dim") for text in (cell.bounds, cell.p_text) if text]
            return Text.assemble((cell.text, MARK_STYLES.get(cell.mark, "")), *small)
        case Link():
            return Text(cell.text)
        case _:
            return Text(str(cell))
