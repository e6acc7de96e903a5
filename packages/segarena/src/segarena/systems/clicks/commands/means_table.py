"""Tables of means with confidence intervals, for the terminal and for CSV or LaTeX files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from segarena.reports.cells import Cell, Value
from segarena.reports.sheets import Sheet
from segarena.statistics.intervals import Interval
from segarena.systems.clicks.page.click_comparisons import MeanRow
from segarena.terminal.sheet_output import show_sheet, write_sheet


def show_means(
    title: str,
    names: Sequence[str],
    rows: Sequence[MeanRow],
    formats: dict[str, str],
    out: Path | None = None,
) -> None:
    """Print means with their intervals, and write them to a file if `out` is given.

    CSV files have separate columns for the low and high end of each interval.

    Args:
        title: title of the table.
        names: headings of the key columns.
        rows: one entry per table row.
        formats: number format for each metric; each metric is one column.
        out: the output file, .csv or .tex.
    """
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        values = [_value(row.means[metric], form) for metric, form in formats.items()]
        cells.append((*row.names, *values, row.instances))
    metric_headings = [metric.upper() for metric in formats]
    sheet = Sheet(
        name="means",
        caption=title,
        head=(*names, *metric_headings, "instances"),
        rows=tuple(cells),
    )
    show_sheet(sheet)
    if out is None:
        return
    if out.suffix == ".csv":
        sheet = _csv_sheet(sheet, names, rows, list(formats))
    write_sheet(sheet, out)


def _csv_sheet(
    sheet: Sheet,
    names: Sequence[str],
    rows: Sequence[MeanRow],
    metrics: Sequence[str],
) -> Sheet:
    """Return the table with three columns per metric: mean, low end and high end."""
    columns: list[str] = []
    for metric in metrics:
        columns += [metric, f"{metric}_low", f"{metric}_high"]
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        numbers: list[str] = []
        for metric in metrics:
            interval = row.means[metric]
            numbers += map(_number_text, (interval.mean, interval.low, interval.high))
        cells.append((*row.names, *numbers, row.instances))
    return replace(sheet, head=(*names, *columns, "instances"), rows=tuple(cells))


def _number_text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"


def _value(interval: Interval, form: str) -> Value:
    bounds = ""
    if not math.isnan(interval.low):
        bounds = f"[{interval.low:{form}}, {interval.high:{form}}]"
    return Value(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        printed=f"{interval.mean:{form}}",
        printed_bounds=bounds,
    )
