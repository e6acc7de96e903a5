"""Reports from recorded runs: `write_report` writes files, `terminal_table` a terminal summary."""

from __future__ import annotations

from segarena.reports.report_files import ReportFiles, write_report
from segarena.reports.terminal import terminal_of, terminal_table

__all__ = ["ReportFiles", "terminal_of", "terminal_table", "write_report"]
