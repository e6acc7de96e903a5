"""HTML of a table, without the caption and the notes that a `Sheet` adds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TypeAlias

from markupsafe import Markup

from segarena.reports.cells import Cell, Column, Link, Value
from segarena.reports.html_document import templates

MAX_WRITTEN_ROWS = 500
"""Longer tables are stored as JSON, from which the page's script draws the visible rows."""

NOSCRIPT_ROWS = 100
"""Number of rows of a long table that are readable without the script."""

_JsonCell: TypeAlias = str | list[str | float | None]


def table_html(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    muted: Collection[int] = (),
    most_rows: int = MAX_WRITTEN_ROWS,
) -> Markup:
    """Render a table as HTML with all text escaped. The rows with indices in `muted` are in italics.

    A table with more than `most_rows` rows contains only the first ones as HTML, and all rows as
    JSON, from which the page's script draws those that are visible.
    """
    written = rows
    data: list[list[_JsonCell]] | None = None
    if len(rows) > most_rows:
        written = rows[:NOSCRIPT_ROWS]
        data = [_json_row(row) for row in rows]
    template = templates("segarena.reports").get_template("sheet.html")
    html = template.render(
        columns=columns,
        rows=written,
        muted=sorted(muted),
        data=data,
        sort_value=sort_value,
    )
    return Markup(html)  # noqa: S704 - the template has escaped it


def _json_row(row: Sequence[Cell]) -> list[_JsonCell]:
    return [_json_cell(cell) for cell in row]


def _json_cell(cell: Cell) -> _JsonCell:
    """Encode a cell in the JSON format that sorting.js draws."""
    match cell:
        case Value():
            # NaN is not valid JSON; the script sorts null last.
            number = None if math.isnan(cell.mean) else float(f"{cell.mean:.6g}")
            remarks = [text for text in (cell.bounds, cell.p_text) if text]
            return [number, cell.text, cell.mark, *remarks]
        case Link(note=""):
            return [cell.address, cell.text] if cell.address else cell.text
        case Link():
            return [cell.address, cell.text, "", cell.note]
        case int():
            return [cell, str(cell)]
        case str():
            return cell


def sort_value(number: float) -> str:
    """Return the sort key of a number for the page's script; empty for NaN."""
    return "" if math.isnan(number) else f"{number:.6g}"
