"""Means with their intervals as tables: on the terminal, and as CSV or LaTeX by the ending of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from segarena.reports.sheets import Sheet, Value
from segarena.terminal.tables import show_sheet, write_sheet

if TYPE_CHECKING:
    from segarena.statistics.intervals import Interval
    from segarena.systems.clicks.page.click_quality import MeanRow


def show_means(
    title: str, names: Sequence[str], rows: Sequence[MeanRow], formats: dict[str, str], out: Path | None = None
) -> None:
    """Print means with their intervals, one column per metric of `formats`, each printed in its format.

    Files get the ends of the intervals in columns of their own.
    """
    shown = [
        (*row.names, *(_value(row.means[metric], form) for metric, form in formats.items()), row.instances)
        for row in rows
    ]
    sheet = Sheet(name="means", caption=title, head=(*names, *map(str.upper, formats), "instances"), rows=tuple(shown))
    show_sheet(sheet)
    if out is not None:
        write_sheet(_with_ends(sheet, rows, formats) if out.suffix == ".csv" else sheet, out)


def _with_ends(sheet: Sheet, rows: Sequence[MeanRow], formats: dict[str, str]) -> Sheet:
    names = sheet.head[: -len(formats) - 1]
    ends = [f"{metric}{end}" for metric in formats for end in ("", "_low", "_high")]
    numbers = [
        (*row.names, *(_number(value) for metric in formats for value in _ends(row.means[metric])), row.instances)
        for row in rows
    ]
    return replace(sheet, head=(*names, *ends, "instances"), rows=tuple(numbers))


def _value(interval: Interval, form: str) -> Value:
    mean, low, high = (format(value, form) for value in _ends(interval))
    bounds = "" if math.isnan(interval.low) else f"[{low}, {high}]"
    return Value(mean=interval.mean, low=interval.low, high=interval.high, printed=mean, printed_bounds=bounds)


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"
