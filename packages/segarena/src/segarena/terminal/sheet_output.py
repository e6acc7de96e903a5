"""Sheets on the terminal, and as CSV or LaTeX by the ending of a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_whole
from segarena.reports.renderers import sheet_csv, sheet_rows, sheet_tex
from segarena.reports.sheets import Sheet

SUFFIXES = (".csv", ".tex")

PIPED_WIDTH = 160
"""Columns of a table that is not shown in a terminal."""


def check_table_path(path: Path | None) -> None:
    """Refuse a path that no table can be written to, before the work is done.

    Raises:
        InvalidInput: another ending than .csv or .tex.
    """
    if path is not None and path.suffix not in SUFFIXES:
        raise InvalidInput(f"--out {path}: expected a name ending in {' or '.join(SUFFIXES)}")


def show_sheet(sheet: Sheet, out: Path | None = None) -> None:
    """Print a table with its caption above and its notes below; write it to `out` as well, if there is one."""
    console = Console()
    # What is piped or kept in a file has no width to keep to; words cut in two help nobody there.
    console = console if console.is_terminal else Console(width=PIPED_WIDTH)
    console.print(sheet_rows(sheet))
    if out is not None:
        write_sheet(sheet, out)


def write_sheet(sheet: Sheet, path: Path) -> None:
    """Write a table as CSV or LaTeX (booktabs).

    Raises:
        InvalidInput: another ending.
        StoreError: a place that cannot be written to.
    """
    check_table_path(path)
    text = sheet_csv(sheet) if path.suffix == ".csv" else sheet_tex(sheet)
    write_whole(path, text)
