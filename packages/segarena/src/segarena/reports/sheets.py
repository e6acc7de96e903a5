"""A table, made once: typed columns and cells. `segarena.reports.renderers` writes it four ways."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any, Literal, TypeAlias

import polars as pl

ColumnKind: TypeAlias = Literal["text", "words", "number", "interval"]
"""Names cut when they are long, words that may take several lines, numbers, numbers with an interval."""

CellMark: TypeAlias = Literal["", "best", "better", "worse", "unclear", "alarm"]
"""What a number is to stand out for. The best of a column is underlined; bold is what a paired test says is better or
worse than what it is compared with."""

BOLD: frozenset[CellMark] = frozenset({"better", "worse"})


def p_value_text(p_value: float) -> str:
    """Return a p-value as printed; nothing for NaN.

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
        mean: NaN where there is none.
        low, high: ends of the interval; NaN where no spread can be seen.
        decimals: how many are printed.
        note: printed below where there is no interval.
        is_signed: a difference, printed with its sign.
        is_share: printed in per cent, in CSV as it is.
        printed, printed_bounds: number and interval as printed where these rules do not give them, as "3 of 4".
        p_value: of the test whose interval it is; NaN where nothing was tested.
        mark: what it stands out for.
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
        """The number as printed; "–" for NaN."""
        return self.printed or ("–" if math.isnan(self.mean) else self._print(self.mean))

    @property
    def bounds(self) -> str:
        """The interval as printed, else the note."""
        if self.printed:
            return self.printed_bounds
        if math.isnan(self.low):
            return self.note
        return f"[{self._print(self.low)}, {self._print(self.high)}]"

    @property
    def p_text(self) -> str:
        """The p-value as printed; nothing where nothing was tested."""
        return p_value_text(self.p_value)

    def _print(self, value: float) -> str:
        text = f"{abs(100 * value if self.is_share else value):.{self.decimals}f}"
        is_zero = not any(digit in text for digit in "123456789")
        if is_zero:
            sign = ""
        else:
            sign = "−" if value < 0 else "+" if self.is_signed else ""
        return sign + text


@dataclass(frozen=True, slots=True)
class Link:
    """A name that leads to another place, if there is one: an anchor on the page, or on one beside it."""

    text: str
    anchor: str = ""
    page: str = ""

    @classmethod
    def to(cls, text: str, place: str) -> Link:
        """Return a name that leads to an anchor on the page, or to an address, which has a "/" in it."""
        return cls(text, page=place) if "/" in place else cls(text, place)

    @property
    def address(self) -> str:
        """Where it leads, as links have it; nothing where it leads nowhere."""
        return self.page + (f"#{self.anchor}" if self.anchor else "")


Cell: TypeAlias = str | Link | int | Value
"""A name, a count, or a number with its interval."""


@dataclass(frozen=True, slots=True)
class Column:
    """What a column of a table holds.

    Attributes:
        heading: above it on the page and in print.
        kind: what its cells are.
        key: its name for programs and for `Sheet.pick`; the heading if it has none of its own.
        definition: what the numbers are, in one sentence; shown while the heading has the pointer or the focus.
        higher_is_better: which way is good, printed as an arrow; None where neither is.
    """

    heading: str
    kind: ColumnKind = "text"
    key: str = ""
    definition: str = ""
    higher_is_better: bool | None = None

    @property
    def arrow(self) -> str:
        """Which way is better, as what follows the heading; nothing where neither is."""
        if self.higher_is_better is None:
            return ""
        return " ↑" if self.higher_is_better else " ↓"


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table.

    Attributes:
        name: of its CSV file.
        caption: what it shows; a table without one is not numbered.
        head: the columns; where only a heading is given, the cells below tell the kind.
        rows: a cell for each column; a column holds names or numbers throughout.
        notes: what must be known to read it.
    """

    name: str
    caption: str
    head: tuple[str | Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns, with the kinds that their cells have."""
        return tuple(
            title if isinstance(title, Column) else Column(title, self._kind(place))
            for place, title in enumerate(self.head)
        )

    def pick(self, *keys: str) -> Sheet:
        """Return the table with only the columns of these keys, in this order."""
        places = [self.keys.index(key) for key in keys]
        columns = list(zip(*self.rows, strict=True))
        rows = zip(*(columns[place] for place in places), strict=True) if columns else ()
        return replace(self, head=tuple(self.columns[place] for place in places), rows=tuple(rows))

    def _repr_html_(self) -> str:
        """Show the table in a notebook, as the page has it."""
        from segarena.reports.renderers.html import sheet_html  # renderers stand above sheets

        said = (f"<p>{escape(text)}</p>" for text in (self.caption, *self.notes) if text)
        return f"{sheet_html(self)}{''.join(said)}"

    @property
    def keys(self) -> list[str]:
        """The keys of the columns."""
        return [column.key or column.heading for column in self.columns]

    def _kind(self, place: int) -> ColumnKind:
        cells = [row[place] for row in self.rows]
        if all(isinstance(cell, (str, Link)) for cell in cells):
            return "text"
        if any(isinstance(c, Value) and not math.isnan(c.low) for c in cells):
            return "interval"
        return "number"


def frame_sheet(
    caption: str,
    frame: pl.DataFrame,
    *,
    name: str = "table",
    shares: Collection[str] = (),
    decimals: int = 2,
) -> Sheet:
    """Return a table of numbers and words as a sheet; `shares` are its columns that are printed in per cent."""

    def cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
        return tuple(
            _cell(value, decimals, is_share=title in shares) for title, value in row.items()
        )

    rows = tuple(map(cells, frame.iter_rows(named=True)))
    return Sheet(name=name, caption=caption, head=tuple(frame.columns), rows=rows)


def _cell(value: str | int | float | None, decimals: int, *, is_share: bool) -> Cell:
    if isinstance(value, float):
        return Value(mean=value, decimals=decimals, is_share=is_share)
    return "" if value is None else value
