"""Tables and sections as HTML for pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from segarena.reports.page_parts import Section, are_empty, part_type_name
from segarena.reports.sheets import Sheet
from segarena.reports.table_html import MAX_WRITTEN_ROWS, table_html


def sheet_html(sheet: Sheet, *, most_rows: int = MAX_WRITTEN_ROWS) -> Markup:
    """Return a table as HTML without caption and notes; see `table_html` for `most_rows`."""
    return table_html(sheet.columns, sheet.rows, most_rows=most_rows)


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
