"""Tables for the page."""

from __future__ import annotations

import math

from markupsafe import Markup

from segarena.reports.html_document import templates
from segarena.reports.sheets import Cell, Link, Sheet, Value

MAX_WRITTEN_ROWS = 500
"""A longer table is drawn by the page's script from JSON, as far as somebody looks at it."""

NOSCRIPT_ROWS = 100
"""Rows of a long table that can be read without the script."""


def sheet_html(sheet: Sheet, *, most_rows: int = MAX_WRITTEN_ROWS) -> Markup:
    """Return the table, without caption and notes; every name in it is escaped.

    Of more than `most_rows` the page's script draws those that are looked at.
    """
    is_long = len(sheet.rows) > most_rows
    written = (
        templates("segarena.reports")
        .get_template("sheet.html")
        .render(
            sheet=sheet,
            rows=sheet.rows[:NOSCRIPT_ROWS] if is_long else sheet.rows,
            data=[list(map(_plain, row)) for row in sheet.rows] if is_long else None,
            sort_value=sort_value,
        )
    )
    return Markup(written)  # noqa: S704 - the template has escaped it


def _plain(cell: Cell) -> str | list[str | float | None]:
    """Return a cell as sorting.js draws it."""
    match cell:
        case Value():
            number = None if math.isnan(cell.mean) else float(f"{cell.mean:.6g}")
            return [number, cell.text, cell.mark, *filter(None, (cell.bounds, cell.p_text))]
        case Link():
            return [cell.address, cell.text] if cell.address else cell.text
        case int():
            return [cell, str(cell)]
        case str():
            return cell


def sort_value(number: float) -> str:
    """Return what sorting by a column of numbers reads; nothing for NaN."""
    return "" if math.isnan(number) else f"{number:.6g}"
