"""Reports from recorded runs: `write_report` writes files, `terminal_table` returns a summary for the terminal."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segarena.reports.report_files import ReportFiles, write_report
    from segarena.reports.terminal import terminal_of, terminal_table

_HOMES = {
    "ReportFiles": "report_files",
    "write_report": "report_files",
    "terminal_of": "terminal",
    "terminal_table": "terminal",
}
"""The module that defines each public name."""

__all__ = ["ReportFiles", "terminal_of", "terminal_table", "write_report"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; charts and pages take a third of a second to import."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"segarena.reports.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'segarena.reports' has no attribute {name!r}")
