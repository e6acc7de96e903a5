"""What a template needs to show sections: pages of runs and other pages show them by `templates/sections.html`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from segarena.reports.page_parts import Section, are_empty, part_type_name
from segarena.reports.renderers import sheet_html


class _Numbers:
    """Counts tables and figures in the order in which the template meets them."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, kind: str) -> int:
        self._counts[kind] += 1
        return self._counts[kind]


def section_values(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the values by which a template shows sections; those without anything in them are left out."""
    return {
        "sections": [section for section in sections if not are_empty(section.parts)],
        "numbers": _Numbers(),
        "kind_of": part_type_name,
        "is_empty": are_empty,
        "table": sheet_html,
    }
