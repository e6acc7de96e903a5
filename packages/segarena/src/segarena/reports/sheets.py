"""Tables with typed columns and cells; `segarena.reports.renderers` writes them in four formats."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape

import polars as pl

from segarena.reports.cells import Cell, Column, ColumnKind, Link, Value
from segarena.reports.table_html import table_html


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
        texts = [text for text in (self.caption, *self.notes) if text]
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in texts)
        return f"{table_html(self.columns, self.rows)}{paragraphs}"

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
        cells: list[Cell] = []
        for title, value in row.items():
            cells.append(_cell(value, decimals, is_share=title in shares))
        rows.append(tuple(cells))
    return Sheet(name=name, caption=caption, head=tuple(frame.columns), rows=tuple(rows))


def _cell(value: str | int | float | None, decimals: int, *, is_share: bool) -> Cell:
    if isinstance(value, float):
        return Value(mean=value, decimals=decimals, is_share=is_share)
    return "" if value is None else value
