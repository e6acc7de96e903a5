"""Lookup of a published measure in the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping

from segarena.published.table_files import fill_placeholders
from segarena.published.table_types import Measure, Measurement, RowWords
from segarena.reports.cells import Cell, Link, Value
from segarena.reports.general_tables import summary_sheet
from segarena.reports.pages import Page
from segarena.reports.sheets import Sheet

SUMMARY_TABLE = "summary"
"""Name of the general summary; the tables of a page have the names that the page defines."""


def page_tables(own: Page) -> Mapping[str, Sheet]:
    """Return the tables of a page by name with all their columns."""
    return {SUMMARY_TABLE: summary_sheet(own.whole_runs), **own.sheets}


def look_up_measure(
    sheets: Mapping[str, Sheet], measure: Measure, words: RowWords
) -> Measurement | None:
    """Return the value of a measure in the tables of one run; None without a unique matching row.

    Args:
        sheets: tables of a page with one run.
        measure: measure of a published table.
        words: words of the row in the published table, which fill in the measure's placeholders.

    Raises:
        InvalidInput: a placeholder of the measure names a heading that the row does not have.
    """
    sheet = sheets.get(measure.sheet)
    column = fill_placeholders(measure.column, words)
    where = {key: fill_placeholders(text, words) for key, text in measure.row.items()}
    if sheet is None or not {column, *where} <= set(sheet.keys):
        return None
    places = {key: sheet.keys.index(key) for key in (column, *where)}
    cells = [
        row[places[column]]
        for row in sheet.rows
        if all(_text(row[places[key]]) == wanted for key, wanted in where.items())
    ]
    return _number(cells[0]) if len(cells) == 1 else None


def _text(cell: Cell) -> str:
    return cell.text if isinstance(cell, (Link, Value)) else str(cell)


def _number(cell: Cell) -> Measurement | None:
    match cell:
        case Value():
            if cell.mean != cell.mean:
                return None
            return Measurement(mean=cell.mean, low=cell.low, high=cell.high)
        case int():
            return Measurement(mean=float(cell))
        case _:
            return None
