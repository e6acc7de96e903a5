"""Small tables: on the terminal, and as CSV or LaTeX by the ending of a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from segarena.errors import InvalidInput

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


def show_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], out: Path | None = None) -> None:
    """Print a table; write it to `out` as well, if there is one."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in head:
        table.add_column(name, justify="left" if _is_text(rows, head.index(name)) else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    # What is piped or kept in a file has no width to keep to; words cut in two help nobody there.
    (console if console.is_terminal else Console(width=PIPED_WIDTH)).print(table)
    if out is not None:
        write_table(out, head, rows)


def write_table(path: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Write a table as CSV or LaTeX (booktabs)."""
    check_table_path(path)
    if path.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([head, *rows])
        content = text.getvalue()
    else:
        from segarena.reports.latex import escape_latex  # here, so that the command line starts without tables

        lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in (head, *rows)]
        columns = "".join("l" if _is_text(rows, index) else "r" for index in range(len(head)))
        content = "\n".join(
            [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule",
             r"\end{tabular}", ""]
        )  # fmt: skip
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error


def _is_text(rows: Sequence[Sequence[str]], column: int) -> bool:
    return any(row[column][:1].isalpha() for row in rows)
