"""Cells and columns of tables; the text of a cell is the same in every format but CSV, which has plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

ColumnKind: TypeAlias = Literal["text", "words", "number", "interval"]
"""Kind of a column: names that are truncated, words that wrap, numbers, or numbers with an interval."""

CellMark: TypeAlias = Literal["", "best", "better", "worse", "unclear", "alarm"]
"""Emphasis of a number: the best of a column is underlined; bold marks a number that is
significantly better or worse in a paired test; "alarm" marks a number of failures."""

BOLD: frozenset[CellMark] = frozenset({"better", "worse"})


def p_value_text(p_value: float) -> str:
    """Format a p-value; empty for NaN.

    >>> p_value_text(0.0312), p_value_text(0.0005)
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
        low, high: bounds of the interval; NaN if there is none.
        decimals: number of printed decimals.
        note: text below a number without an interval.
        is_signed: whether a plus sign is printed, as for a difference.
        is_share: whether the number is a share, which is printed in per cent but unscaled in CSV.
        printed, printed_bounds: replacement texts for the number and the interval, such as
            "3 of 4".
        p_value: p-value of the test that belongs to the interval; NaN without a test.
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
        # Shares are printed in per cent.
        size = abs(100 * value) if self.is_share else abs(value)
        text = f"{size:.{self.decimals}f}"
        # A number that rounds to zero gets no sign.
        is_zero = not any(digit in text for digit in "123456789")
        if is_zero:
            return text
        if value < 0:
            return f"−{text}"
        return f"+{text}" if self.is_signed else text


@dataclass(frozen=True, slots=True)
class Link:
    """A name that links to an anchor on this page or to another page; plain text if it has neither.

    `note` is a remark in small print below the name, on pages only.
    """

    text: str
    anchor: str = ""
    page: str = ""
    note: str = ""

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
        key: name for programs and for `Sheet.pick`; the heading by default.
        definition: definition of the numbers in one sentence, shown as a tooltip of the heading.
        higher_is_better: direction of improvement, shown as an arrow; None if there is none.
        is_latest_first: whether the first click on the heading sorts in descending order, as for
            dates; columns in which higher is better always do so.
    """

    heading: str
    kind: ColumnKind = "text"
    key: str = ""
    definition: str = ""
    higher_is_better: bool | None = None
    is_latest_first: bool = False

    @property
    def arrow(self) -> str:
        """Arrow after the heading: the direction of improvement; empty if there is none."""
        if self.higher_is_better is None:
            return ""
        return " ↑" if self.higher_is_better else " ↓"
