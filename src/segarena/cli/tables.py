"""Small tables: on the terminal, and as CSV or LaTeX by the ending of a file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from segarena.errors import InvalidInput

if TYPE_CHECKING:
    from segarena.metrics.intervals import Interval
    from segarena.reports.click_quality import MeanRow

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


def show_means(
    title: str, names: Sequence[str], rows: Sequence[MeanRow], formats: dict[str, str], out: Path | None = None
) -> None:
    """Print means with their intervals, one column per metric of `formats`, each printed in its format.

    Files get the ends of the intervals in columns of their own.
    """
    shown = [
        [*row.names, *(_interval_text(row.means[metric], form) for metric, form in formats.items()), str(row.instances)]
        for row in rows
    ]
    show_table(title, [*names, *map(str.upper, formats), "instances"], shown)
    if out is not None and out.suffix != ".csv":
        write_table(out, [*names, *map(str.upper, formats), "instances"], shown)
    elif out is not None:
        bounds = [f"{metric}{end}" for metric in formats for end in ("", "_low", "_high")]
        numbers = [
            [
                *row.names,
                *(_number(value) for metric in formats for value in _ends(row.means[metric])),
                str(row.instances),
            ]
            for row in rows
        ]
        write_table(out, [*names, *bounds, "instances"], numbers)


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


def _interval_text(interval: Interval, form: str) -> str:
    mean, low, high = (format(value, form) for value in _ends(interval))
    return mean if math.isnan(interval.low) else f"{mean} [{low}, {high}]"


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"
