"""Tables and sections as HTML for pages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from segarena.reports.html_document import templates
from segarena.reports.page_parts import Section, are_empty, part_type_name
from segarena.reports.sheets import Cell, Link, Sheet, Value

MAX_WRITTEN_ROWS = 500
"""The page's script draws the visible rows of a longer table from JSON."""

NOSCRIPT_ROWS = 100
"""Rows of a long table that are readable without the script."""


def sheet_html(sheet: Sheet, *, most_rows: int = MAX_WRITTEN_ROWS) -> Markup:
    """Return the table as HTML without caption and notes; all its texts are escaped.

    A table with more than `most_rows` rows holds only the first ones, and all rows as JSON, from
    which the page's script draws those that are visible.
    """
    rows = sheet.rows
    data: list[list[str | list[str | float | None]]] | None = None
    if len(sheet.rows) > most_rows:
        rows = sheet.rows[:NOSCRIPT_ROWS]
        data = [[_json_cell(cell) for cell in row] for row in sheet.rows]
    template = templates("segarena.reports").get_template("sheet.html")
    html = template.render(sheet=sheet, rows=rows, data=data, sort_value=sort_value)
    return Markup(html)  # noqa: S704 - the template has escaped it


def _json_cell(cell: Cell) -> str | list[str | float | None]:
    """Return a cell in the format that sorting.js draws."""
    match cell:
        case Value():
            number = None if math.isnan(cell.mean) else float(f"{cell.mean:.6g}")
            remarks = [text for text in (cell.bounds, cell.p_text) if text]
            return [number, cell.text, cell.mark, *remarks]
        case Link():
            return [cell.address, cell.text] if cell.address else cell.text
        case int():
            return [cell, str(cell)]
        case str():
            return cell


def sort_value(number: float) -> str:
    """Return the sort key of a number for the page's script; empty for NaN."""
    return "" if math.isnan(number) else f"{number:.6g}"


class _PartNumbers:
    """Counter of tables and figures in the order in which the template renders them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, kind: str) -> int:
        self._counts[kind] += 1
        return self._counts[kind]


def section_values(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the values with which `templates/sections.html` renders the sections with content."""
    return {
        "sections": [section for section in sections if not are_empty(section.parts)],
        "numbers": _PartNumbers(),
        "part_type_name": part_type_name,
        "are_empty": are_empty,
        "table": sheet_html,
    }
