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
"""Name of the general summary table; a page's own tables have the names that the page defines."""


def page_tables(own: Page) -> Mapping[str, Sheet]:
    """Return the tables of a page with all their columns, by name."""
    return {SUMMARY_TABLE: summary_sheet(own.whole_runs), **own.sheets}


def look_up_measure(
    sheets: Mapping[str, Sheet],
    measure: Measure,
    words: RowWords,
) -> Measurement | None:
    """Look up a measure in the tables of one run; None unless exactly one row matches and has a number.

    Args:
        sheets: tables of a page with one run.
        measure: measure of a published table.
        words: words of the row in the published table, which replace the measure's placeholders.

    Raises:
        InvalidInput: a placeholder of the measure names a heading that the row lacks.
    """
    column = fill_placeholders(measure.column, words)
    wanted = {key: fill_placeholders(text, words) for key, text in measure.row.items()}
    sheet = sheets.get(measure.sheet)
    if sheet is None or not {column, *wanted} <= set(sheet.keys):
        return None
    value_index = sheet.keys.index(column)
    wanted_by_index = {sheet.keys.index(key): text for key, text in wanted.items()}
    matching: list[Cell] = []
    for row in sheet.rows:
        if all(_text(row[index]) == text for index, text in wanted_by_index.items()):
            matching.append(row[value_index])
    return _number(matching[0]) if len(matching) == 1 else None


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
