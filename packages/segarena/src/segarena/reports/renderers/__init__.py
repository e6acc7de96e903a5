"""Renderers of a `Sheet`: HTML, CSV, LaTeX and terminal text."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segarena.reports.renderers.csv import sheet_csv
    from segarena.reports.renderers.html import sheet_html
    from segarena.reports.renderers.latex import escape_latex, latex_comment, sheet_tex, tabular
    from segarena.reports.renderers.terminal import sheet_rows, sheet_terminal

_HOMES = {
    "sheet_csv": "csv",
    "sheet_html": "html",
    "escape_latex": "latex",
    "latex_comment": "latex",
    "sheet_tex": "latex",
    "tabular": "latex",
    "sheet_rows": "terminal",
    "sheet_terminal": "terminal",
}
"""The module that defines each public name."""

__all__ = [
    "escape_latex",
    "latex_comment",
    "sheet_csv",
    "sheet_html",
    "sheet_rows",
    "sheet_terminal",
    "sheet_tex",
    "tabular",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; the terminal renderer does not need the charts of pages."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"segarena.reports.renderers.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'segarena.reports.renderers' has no attribute {name!r}")
