"""Renderers of a `Sheet`: HTML, CSV, LaTeX and the terminal."""

from __future__ import annotations

from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.html import sheet_html
from segarena.reports.renderers.latex import escape_latex, latex_comment, sheet_tex, tabular
from segarena.reports.renderers.terminal import sheet_rows, sheet_terminal

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
