"""What a section of a report is made of. None of it is HTML yet: text stays text until a renderer escapes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from segarena.reports.series import Figure
from segarena.reports.sheets import Sheet


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph of text in small print; as a lead it stands above what it explains, in the size of the text."""

    text: str
    is_lead: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that are folded away under a title."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Html:
    """Finished HTML, such as pictures; what came from outside is escaped in it already."""

    html: str


@dataclass(frozen=True, slots=True)
class Row:
    """Figures side by side where the page is wide enough."""

    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is HTML already."""

    caption: str
    html: str


Part: TypeAlias = Sheet | Table | Figure | Row | Note | Fold | Html | None
"""A table with its notes, a figure, text, or pictures; None, or a note without words, is nothing.

Tables and figures are numbered in the order in which they stand.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page; one without parts is left out.

    Attributes:
        anchor: what links lead to.
        title: above it and in the navigation.
        parts: from top to bottom.
    """

    anchor: str
    title: str
    parts: Sequence[Part]
