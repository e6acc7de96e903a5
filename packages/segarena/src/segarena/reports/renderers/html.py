"""HTML renderer for the tables and sections of pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from markupsafe import Markup

from segarena.reports.page_parts import Section, are_empty, part_type_name
from segarena.reports.sheets import Sheet
from segarena.reports.table_html import MAX_WRITTEN_ROWS, table_html


def sheet_html(sheet: Sheet, *, most_rows: int = MAX_WRITTEN_ROWS) -> Markup:
    """Render a table as HTML without caption and notes; see `table_html` for `most_rows`."""
    return table_html(sheet.columns, sheet.rows, muted=sheet.muted, most_rows=most_rows)


class _PartNumbers:
    """Counters for tables and figures, in the order in which the template renders them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, kind: str) -> int:
        self._counts[kind] += 1
        return self._counts[kind]


def section_values(
    sections: Sequence[Section],
    *,
    most_rows: int = MAX_WRITTEN_ROWS,
    open_cards: int = 4,
) -> dict[str, Any]:
    """Return the values with which `templates/sections.html` renders the non-empty sections.

    Args:
        sections: the sections.
        most_rows: maximum number of table rows that the page contains as HTML; see `table_html`.
        open_cards: number of expanded cards in a gallery.
    """
    return {
        "open_cards": open_cards,
        "sections": [section for section in sections if not are_empty(section.parts)],
        "numbers": _PartNumbers(),
        "part_type_name": part_type_name,
        "are_empty": are_empty,
        "table": partial(sheet_html, most_rows=most_rows),
    }
