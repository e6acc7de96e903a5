"""What a section of a report is made of. None of it is HTML yet: text stays text until a renderer escapes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from segarena.reports.chart_series import Figure
from segarena.reports.recorded_run import DialogueId
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
class FigureRow:
    """Figures side by side where the page is wide enough."""

    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Terms:
    """A list of sentences that say what words mean."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One dialogue of a gallery, in every run that has it.

    Attributes:
        anchor: what links lead to.
        name: of the target, in human words.
        where: sample and target.
        user: who took part; "" where nobody is to be told apart.
        viewers: HTML, one for each set of data that has the target.
        address: at which it can be looked at in the viewer; "" where there is none.
    """

    anchor: str
    name: str
    where: str
    user: str
    viewers: Sequence[str]
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Dialogues with pictures.

    Attributes:
        lead: HTML above the cards: how to read them.
        cards: one for each dialogue.
        told: how many of how many are shown.
        others: what is not shown is called, by its place in all that there is.
        shown: for each dialogue shown, the anchor of its card.
        notes: what could not be shown, and why; one line each.
    """

    lead: str
    cards: Sequence[Card]
    told: str
    others: Mapping[int, str] = field(default_factory=dict[int, str])
    shown: Mapping[DialogueId, str] = field(default_factory=dict[DialogueId, str])
    notes: Sequence[str] = ()


Part: TypeAlias = Sheet | Figure | FigureRow | Note | Terms | Fold | Gallery | Html | None
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


def part_type_name(part: Part) -> str:
    """Return the name of a part's class, by which the template chooses how to show it."""
    return type(part).__name__


def are_empty(parts: Sequence[Part]) -> bool:
    """Tell whether there is nothing in any of the parts to show."""
    return all(map(_is_nothing, parts))


def _is_nothing(part: Part) -> bool:
    match part:
        case None | Note(text="") | Html(html=""):
            return True
        case FigureRow():
            return not part.figures
        case Fold():
            return are_empty(part.parts)
        case Gallery():
            return not part.cards
        case _:
            return False
