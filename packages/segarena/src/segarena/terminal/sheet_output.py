"""Output of tables: on the terminal, or as CSV or LaTeX according to the suffix of a file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from segarena.errors import InvalidInput
from segarena.files.atomic_write import write_atomic
from segarena.reports.renderers.csv import sheet_csv
from segarena.reports.renderers.latex import sheet_tex
from segarena.reports.renderers.terminal import sheet_rows
from segarena.reports.sheets import Sheet

SUFFIXES = (".csv", ".tex")

PIPED_WIDTH = 160
"""Width of a table that is not printed to a terminal, in characters."""


def check_table_path(path: Path | None) -> None:
    """Check the suffix of a path for a table before the work starts.

    Raises:
        InvalidInput: the suffix is neither .csv nor .tex.
    """
    if path is not None and path.suffix not in SUFFIXES:
        raise InvalidInput(f"--out {path}: expected a name ending in {' or '.join(SUFFIXES)}")


def show_sheet(sheet: Sheet, out: Path | None = None) -> None:
    """Print a table with caption and notes; also write it to `out`, if given."""
    console = Console()
    # Output to a pipe or file has no width limit, and broken words would be hard to search.
    console = console if console.is_terminal else Console(width=PIPED_WIDTH)
    console.print(sheet_rows(sheet))
    if out is not None:
        write_sheet(sheet, out)


def write_sheet(sheet: Sheet, path: Path) -> None:
    """Write a table as CSV or LaTeX (booktabs).

    Raises:
        InvalidInput: the suffix is neither .csv nor .tex.
        StoreError: the file cannot be written.
    """
    check_table_path(path)
    text = sheet_csv(sheet) if path.suffix == ".csv" else sheet_tex(sheet)
    write_atomic(path, text)
