"""Query of a table: search words, conditions on columns, and an order, all of which fit into an address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from segarena.errors import InvalidInput

_CONDITION = re.compile(r"\s*([^<>=!~]+?)\s*(<=|>=|!=|<|>|=|~)\s*(.*?)\s*", re.DOTALL)
MOST_CONDITIONS = 20


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition `column sign value`; "~" means "contains, ignoring case" on text, and "=" on numbers."""

    column: str
    sign: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse `iou<0.5` or `label=cat`.

        Raises:
            InvalidInput: the text does not have this form.
        """
        found = _CONDITION.fullmatch(text)
        if found is None:
            raise InvalidInput(
                f"{text[:80]!r}: expected COLUMN and one of < <= > >= = != ~ and a value, like iou<0.5"
            )
        return cls(*found.groups())

    def __str__(self) -> str:
        return f"{self.column}{self.sign}{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """Filter and order of the rows to show.

    Attributes:
        words: text that some text column must contain, ignoring case.
        where: conditions, all of which must hold.
        sort: a column, with "-" in front for descending order; "" keeps the order of the dataset.
    """

    words: str = ""
    where: tuple[Condition, ...] = ()
    sort: str = ""

    @classmethod
    def of(
        cls,
        words: str,
        where: Sequence[str],
        sort: str,
    ) -> TableQuery:
        """Return the query of an address.

        Raises:
            InvalidInput: a condition is malformed, or there are too many.
        """
        if len(where) > MOST_CONDITIONS:
            raise InvalidInput(
                f"where: expected at most {MOST_CONDITIONS} conditions, got {len(where)}"
            )
        conditions = tuple(Condition.parse(text) for text in where if text.strip())
        return cls(words=words.strip(), where=conditions, sort=sort.strip())

    def apply(self, rows: pl.LazyFrame, kinds: Mapping[str, str]) -> pl.LazyFrame:
        """Apply the query; rows without a value in the sort column come last.

        Args:
            rows: a table.
            kinds: "text" or "number" for each of its columns.

        Raises:
            InvalidInput: a column is unknown, or a value is not a number.
        """
        texts = [name for name, kind in kinds.items() if kind == "text"]
        if self.words:
            words = self.words.lower()
            matches = [
                pl.col(name).str.to_lowercase().str.contains(words, literal=True) for name in texts
            ]
            rows = rows.filter(pl.any_horizontal(matches))
        for condition in self.where:
            _check_column(condition.column, kinds)
            rows = rows.filter(_holds(condition, kinds[condition.column]))
        if self.sort:
            column = self.sort.removeprefix("-")
            _check_column(column, kinds)
            rows = rows.sort(
                column, descending=self.sort != column, nulls_last=True, maintain_order=True
            )
        return rows


def _check_column(column: str, kinds: Mapping[str, str]) -> None:
    if column not in kinds:
        raise InvalidInput(f"expected one of the columns {', '.join(kinds)}, got {column!r}")


def _holds(condition: Condition, kind: str) -> pl.Expr:
    column = pl.col(condition.column)
    sign = condition.sign
    value = condition.value
    if not value and sign in ("=", "!="):
        is_empty = column.is_null()
        if kind == "text":
            is_empty |= column == ""
        return is_empty if sign == "=" else ~is_empty
    if kind == "text":
        return _text_holds(column, sign, value)
    try:
        number = float(value)
    except ValueError:
        raise InvalidInput(f"{condition}: expected a number after {sign}, got {value!r}") from None
    return _compared(column, "=" if sign == "~" else sign, number)


def _text_holds(
    column: pl.Expr,
    sign: str,
    value: str,
) -> pl.Expr:
    column = column.fill_null("")
    if sign == "~":
        return column.str.to_lowercase().str.contains(value.lower(), literal=True)
    return _compared(column, sign, value)


def _compared(
    column: pl.Expr,
    sign: str,
    value: float | str,
) -> pl.Expr:
    match sign:
        case "<":
            return column < value
        case "<=":
            return column <= value
        case ">":
            return column > value
        case ">=":
            return column >= value
        case "!=":
            return column != value
        case _:
            return column == value
