"""Tables with typed columns and cells; `segarena.reports.renderers` writes them in four formats."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from segarena.errors import InvalidInput
from segarena.options import suggest_names
from segarena.reports.cells import Cell, Column, ColumnKind, Link, Value
from segarena.reports.table_html import table_html
from segarena.reports.table_text import table_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table.

    Attributes:
        name: name of its CSV file.
        caption: text above the table; a table without a caption is not numbered.
        head: the columns; for a bare heading, the kind follows from the cells.
        rows: one cell per column; a column holds either names or numbers.
        notes: remarks below the table.
        muted: numbers of the rows in italics on the page and dim in the terminal, such as controls.
    """

    name: str
    caption: str
    head: tuple[str | Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    notes: tuple[str, ...] = field(default=())
    muted: frozenset[int] = frozenset()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns; for those given as a bare heading, the kind is inferred from the cells."""
        columns: list[Column] = []
        for index, title in enumerate(self.head):
            if isinstance(title, Column):
                columns.append(title)
            else:
                columns.append(Column(title, self._infer_kind(index)))
        return tuple(columns)

    def pick(self, *keys: str) -> Sheet:
        """Return the table with only the columns that have these keys, in this order.

        Raises:
            ValueError: the table has no such column.
        """
        own_keys = self.keys
        indices = [own_keys.index(key) for key in keys]
        head = tuple(self.columns[index] for index in indices)
        rows = tuple(_pick_cells(row, indices) for row in self.rows)
        return replace(self, head=head, rows=rows)

    def with_remarks(self, keys: Collection[str], remarks: Mapping[str, str]) -> Sheet:
        """Return the table with remarks in small print below names, on pages only.

        Args:
            keys: keys of the columns with the names.
            remarks: remark by name; a row that contains the remark in another cell does not repeat
                it.
        """
        indices = [index for index, key in enumerate(self.keys) if key in keys]
        rows: list[tuple[Cell, ...]] = []
        for row in self.rows:
            cells = list(row)
            for index in indices:
                cell = row[index]
                remark = remarks.get(cell, "") if isinstance(cell, str) else ""
                if isinstance(cell, str) and remark and remark not in row:
                    cells[index] = Link(cell, note=remark)
            rows.append(tuple(cells))
        return replace(self, rows=tuple(rows))

    def __getitem__(self, key: str) -> float | int | str:
        """Return the number or text in the only row of the column `key`; shares are fractions of 1.

        Raises:
            InvalidInput: the column does not exist, or the table has several rows.
        """
        if key not in self.keys:
            known = ", ".join(self.keys)
            raise InvalidInput(f"no column {key!r}; {suggest_names(key, self.keys) or known}")
        if len(self.rows) != 1:
            raise InvalidInput(
                f"{key!r} has {len(self.rows)} rows; to_polars() returns them all as a data frame"
            )
        return _plain_value(self.rows[0][self.keys.index(key)])

    def to_polars(self) -> pl.DataFrame:
        """Return the numbers as a data frame.

        An interval adds the columns "KEY low" and "KEY high". Shares are fractions of 1, and
        missing numbers are NaN.
        """
        # Imported here, because importing polars takes longer than all that `segarena list` does to
        # show its tables.
        import polars as pl

        found: dict[str, list[float | int | str]] = {}
        for index, (key, column) in enumerate(zip(self.keys, self.columns, strict=True)):
            cells = [row[index] for row in self.rows]
            found[key] = [_plain_value(cell) for cell in cells]
            if column.kind == "interval":
                for end in ("low", "high"):
                    found[f"{key} {end}"] = [getattr(cell, end, math.nan) for cell in cells]
        return pl.DataFrame(found, strict=False)

    def __repr__(self) -> str:
        """Return the caption and the table as plain text."""
        return f"{self.caption}\n{table_text(self.columns, self.rows)}".strip()

    def _repr_html_(self) -> str:
        """Return the HTML of the table with its caption and notes, for notebooks."""
        texts = [text for text in (self.caption, *self.notes) if text]
        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in texts)
        return f"{table_html(self.columns, self.rows, muted=self.muted)}{paragraphs}"

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


def _plain_value(cell: Cell) -> float | int | str:
    match cell:
        case Value():
            return cell.mean
        case Link():
            return cell.text
        case _:
            return cell


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
    return Sheet(
        name=name,
        caption=caption,
        head=tuple(frame.columns),
        rows=tuple(rows),
    )


def _cell(
    value: str | int | float | None,
    decimals: int,
    *,
    is_share: bool,
) -> Cell:
    if isinstance(value, float):
        return Value(mean=value, decimals=decimals, is_share=is_share)
    return "" if value is None else value
