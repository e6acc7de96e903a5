"""Means with their intervals as tables: on the terminal, and as CSV or LaTeX by the ending of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from segarena.reports.sheets import Cell, Sheet, Value
from segarena.terminal.tables import show_sheet, write_sheet

if TYPE_CHECKING:
    from segarena.statistics.intervals import Interval
    from segarena.systems.clicks.page.click_quality import MeanRow


def show_means(
    title: str,
    names: Sequence[str],
    rows: Sequence[MeanRow],
    formats: dict[str, str],
    out: Path | None = None,
) -> None:
    """Print means with their intervals, one column per metric of `formats`, each printed in its format.

    Files get the ends of the intervals in columns of their own.
    """
    shown: list[tuple[Cell, ...]] = []
    for row in rows:
        values = (_value(row.means[metric], form) for metric, form in formats.items())
        shown.append((*row.names, *values, row.instances))
    sheet = Sheet(
        name="means",
        caption=title,
        head=(*names, *map(str.upper, formats), "instances"),
        rows=tuple(shown),
    )
    show_sheet(sheet)
    if out is not None:
        write_sheet(_with_ends(sheet, rows, formats) if out.suffix == ".csv" else sheet, out)


def _with_ends(sheet: Sheet, rows: Sequence[MeanRow], formats: dict[str, str]) -> Sheet:
    names = sheet.head[: -len(formats) - 1]
    ends = chain.from_iterable((metric, f"{metric}_low", f"{metric}_high") for metric in formats)
    numbers: list[tuple[Cell, ...]] = []
    for row in rows:
        values = chain.from_iterable(_ends(row.means[metric]) for metric in formats)
        numbers.append(
            (
                *row.names,
                *("" if math.isnan(value) else f"{value:.10g}" for value in values),
                row.instances,
            )
        )
    return replace(sheet, head=(*names, *ends, "instances"), rows=tuple(numbers))


def _value(interval: Interval, form: str) -> Value:
    mean, low, high = (format(value, form) for value in _ends(interval))
    bounds = "" if math.isnan(interval.low) else f"[{low}, {high}]"
    return Value(
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        printed=mean,
        printed_bounds=bounds,
    )


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high
