"""Tables made once and written three ways: on the page, as CSV, as LaTeX."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeAlias

import polars as pl

from segarena.reports.export import csv_number, csv_text
from segarena.reports.latex import latex_cell, latex_comment, tabular
from segarena.reports.sections import number_cell, table, text_cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number with its interval.

    Attributes:
        mean: NaN where there is none.
        low, high: ends of the interval; NaN where no spread can be seen.
        decimals: how many are printed.
        note: printed below where there is no interval.
        is_signed: a difference, printed with its sign.
        is_share: printed in per cent, in CSV as it is.
        is_best: set in bold.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan
    decimals: int = 3
    note: str = ""
    is_signed: bool = False
    is_share: bool = False
    is_best: bool = False

    @property
    def text(self) -> str:
        """The number as printed; "–" for NaN."""
        return "–" if math.isnan(self.mean) else self._print(self.mean)

    @property
    def bounds(self) -> str:
        """The interval as printed, else the note."""
        return self.note if math.isnan(self.low) else f"[{self._print(self.low)}, {self._print(self.high)}]"

    def _print(self, value: float) -> str:
        text = f"{abs(100 * value if self.is_share else value):.{self.decimals}f}"
        is_zero = not any(digit in text for digit in "123456789")
        sign = "" if is_zero else "−" if value < 0 else "+" if self.is_signed else ""
        return sign + text


Cell: TypeAlias = str | int | Value
"""A name, a count, or a number with its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table.

    Attributes:
        name: of its CSV file.
        caption: what it shows.
        head: titles of the columns.
        rows: names first, then values; a column holds one or the other throughout.
        notes: what must be known to read it.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def names(self) -> int:
        """How many columns hold names."""
        first = self.rows[0] if self.rows else ()
        return next((k for k, cell in enumerate(first) if not isinstance(cell, str)), len(self.head))


def frame_sheet(
    caption: str, frame: pl.DataFrame, *, name: str = "table", shares: Collection[str] = (), decimals: int = 2
) -> Sheet:
    """Return a table of numbers and words as a sheet; `shares` are its columns that are printed in per cent."""
    rows = [
        tuple(_cell(value, decimals, is_share=title in shares) for title, value in row.items())
        for row in frame.iter_rows(named=True)
    ]
    return Sheet(name=name, caption=caption, head=tuple(frame.columns), rows=tuple(rows))


def _cell(value: str | int | float | None, decimals: int, *, is_share: bool) -> Cell:
    if isinstance(value, float):
        return Value(mean=value, decimals=decimals, is_share=is_share)
    return "" if value is None else value


def sheet_html(sheet: Sheet) -> str:
    """Return the table for the page."""
    head = [("text" if column < sheet.names else "num", title) for column, title in enumerate(sheet.head)]
    return table(head, ["".join(map(_html, row)) for row in sheet.rows])


def sheet_csv(sheet: Sheet) -> str:
    """Return CSV; a column whose values have intervals becomes three: the mean and both ends."""
    spread = [
        any(isinstance(cell, Value) and not math.isnan(cell.low) for cell in column) for column in _columns(sheet)
    ]
    ends = [("", " low", " high") if has else ("",) for has in spread]
    head = [f"{title}{end}" for title, them in zip(sheet.head, ends, strict=True) for end in them]
    lines = [[text for cell, has in zip(row, spread, strict=True) for text in _csv(cell, has)] for row in sheet.rows]
    return csv_text(head, lines)


def sheet_tex(sheet: Sheet) -> str:
    """Return a tabular for booktabs, with the caption as a comment."""
    lines = [[_tex(cell) for cell in row] for row in sheet.rows]
    return f"% {latex_comment(sheet.caption)}\n{tabular(sheet.head, lines, names=sheet.names)}"


def _columns(sheet: Sheet) -> list[list[Cell]]:
    return [[row[column] for row in sheet.rows] for column in range(len(sheet.head))]


def _html(cell: Cell) -> str:
    if isinstance(cell, Value):
        return number_cell(cell.mean, cell.text, cell.bounds, css="best" if cell.is_best else "")
    return text_cell(cell) if isinstance(cell, str) else number_cell(cell, str(cell))


def _csv(cell: Cell, has_ends: bool) -> list[str]:
    if not isinstance(cell, Value):
        return [str(cell)]
    return [csv_number(x) for x in ((cell.mean, cell.low, cell.high) if has_ends else (cell.mean,))]


def _tex(cell: Cell) -> str:
    return latex_cell(cell.text, cell.bounds, is_bold=cell.is_best) if isinstance(cell, Value) else str(cell)
