"""A table with typed columns and cells; `segarena.reports.renderers` writes it in four formats."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Literal, TypeAlias

import polars as pl

ColumnKind: TypeAlias = Literal["text", "words", "number", "interval"]
"""Names that are truncated, words that wrap, numbers, or numbers with an interval."""

CellMark: TypeAlias = Literal["", "best", "better", "worse", "unclear", "alarm"]
"""Emphasis of a number: the best of a column is underlined; bold marks a significantly better or
worse number in a paired test."""

BOLD: frozenset[CellMark] = frozenset({"better", "worse"})


def p_value_text(p_value: float) -> str:
    """Return a p-value as text; empty for NaN.

    >>> p_text(0.0312), p_text(0.0005)
    ('p = 0.031', 'p < 0.001')
    """
    if math.isnan(p_value):
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A number with its interval.

    Attributes:
        mean: the number; NaN if there is none.
        low, high: ends of the interval; NaN if there is none.
        decimals: number of printed decimals.
        note: text below a number without an interval.
        is_signed: whether a plus sign is printed, as for a difference.
        is_share: whether the number is a share, printed in per cent but unscaled in CSV.
        printed, printed_bounds: text of the number and the interval if it differs from these rules,
            such as "3 of 4".
        p_value: p-value of the test that the interval belongs to; NaN without a test.
        mark: emphasis of the number.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan
    decimals: int = 3
    note: str = ""
    is_signed: bool = False
    is_share: bool = False
    printed: str = ""
    printed_bounds: str = ""
    p_value: float = math.nan
    mark: CellMark = ""

    @property
    def text(self) -> str:
        """Text of the number; "–" for NaN."""
        if self.printed:
            return self.printed
        return "–" if math.isnan(self.mean) else self._print(self.mean)

    @property
    def bounds(self) -> str:
        """Text of the interval, or the note if there is no interval."""
        if self.printed:
            return self.printed_bounds
        if math.isnan(self.low):
            return self.note
        return f"[{self._print(self.low)}, {self._print(self.high)}]"

    @property
    def p_text(self) -> str:
        """Text of the p-value; empty without a test."""
        return p_value_text(self.p_value)

    def _print(self, value: float) -> str:
        size = abs(100 * value) if self.is_share else abs(value)
        text = f"{size:.{self.decimals}f}"
        # A number that rounds to zero has no sign.
        is_zero = not any(digit in text for digit in "123456789")
        if is_zero:
            return text
        if value < 0:
            return f"−{text}"
        return f"+{text}" if self.is_signed else text


@dataclass(frozen=True, slots=True)
class Link:
    """A name with a link to an anchor on this page or to another page; without both, plain text."""

    text: str
    anchor: str = ""
    page: str = ""

    @classmethod
    def to(cls, text: str, place: str) -> Link:
        """Return a link to an address if `place` contains a "/", else to an anchor on this page."""
        return cls(text, page=place) if "/" in place else cls(text, place)

    @property
    def address(self) -> str:
        """Target of the link for `href`; empty for plain text."""
        return f"{self.page}#{self.anchor}" if self.anchor else self.page


Cell: TypeAlias = str | Link | int | Value
"""A name, a count, or a number with its interval."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: text above the column on the page and in print.
        kind: kind of its cells.
        key: name for programs and for `Sheet.pick`; defaults to the heading.
        definition: definition of the numbers in one sentence, shown as a tooltip of the heading.
        higher_is_better: direction of improvement, printed as an arrow; None if there is none.
    """

    heading: str
    kind: ColumnKind = "text"
    key: str = ""
    definition: str = ""
    higher_is_better: bool | None = None

    @property
    def arrow(self) -> str:
        """Suffix of the heading that shows the direction of improvement; empty if there is none."""
        if self.higher_is_better is None:
            return ""
        return " ↑" if self.higher_is_better else " ↓"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table.

    Attributes:
        name: name of its CSV file.
        caption: text above the table; a table without a caption is not numbered.
        head: the columns; for a bare heading, the kind follows from the cells.
        rows: one cell per column; a column holds either names or numbers.
        notes: remarks below the table.
    """

    name: str
    caption: str
    head: tuple[str | Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns; those given as a bare heading get their kind from the cells."""
        columns: list[Column] = []
        for index, title in enumerate(self.head):
            if isinstance(title, Column):
                columns.append(title)
            else:
                columns.append(Column(title, self._infer_kind(index)))
        return tuple(columns)

    def pick(self, *keys: str) -> Sheet:
        """Return the table with only the columns of these keys, in this order.

        Raises:
            ValueError: the table has no such column.
        """
        own_keys = self.keys
        indices = [own_keys.index(key) for key in keys]
        head = tuple(self.columns[index] for index in indices)
        rows = tuple(_pick_cells(row, indices) for row in self.rows)
        return replace(self, head=head, rows=rows)

    def _repr_html_(self) -> str:
        """Return the HTML of the table with its caption and notes, for notebooks."""
        # Renderers import sheets, and only this method needs the templates.
        from segarena.reports.renderers.html import sheet_html

        texts = [text for text in (self.caption, *self.notes) if text]
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in texts)
        return f"{sheet_html(self)}{paragraphs}"

    @property
    def keys(self) -> list[str]:
        """The keys of the columns."""
        return [column.key or column.heading for column in self.columns]

    def _infer_kind(self, index: int) -> ColumnKind:
        cells = [row[index] for row in self.rows]
        if all(isinstance(cell, (str, Link)) for cell in cells):
            return "text"
        for cell in cells:
            if isinstance(cell, Value) and not math.isnan(cell.low):
                return "interval"
        return "number"


def _pick_cells(row: tuple[Cell, ...], indices: Sequence[int]) -> tuple[Cell, ...]:
    return tuple(row[index] for index in indices)


def frame_sheet(
    caption: str,
    frame: pl.DataFrame,
    *,
    name: str = "table",
    shares: Collection[str] = (),
    decimals: int = 2,
) -> Sheet:
    """Return a data frame of numbers and words as a sheet.

    The columns named in `shares` are printed in per cent.
    """
    rows: list[tuple[Cell, ...]] = []
    for row in frame.iter_rows(named=True):
        cells = (_cell(row[title], decimals, is_share=title in shares) for title in frame.columns)
        rows.append(tuple(cells))
    return Sheet(name=name, caption=caption, head=tuple(frame.columns), rows=tuple(rows))


def _cell(value: str | int | float | None, decimals: int, *, is_share: bool) -> Cell:
    if isinstance(value, float):
        return Value(mean=value, decimals=decimals, is_share=is_share)
    return "" if value is None else value
