"""The parts of a report's sections as data; renderers convert them to HTML and escape their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from segarena.reports.chart_series import Figure
from segarena.reports.round_table import DialogueId
from segarena.reports.sheets import Sheet


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph in small print, or in normal size if it introduces the parts below it (a lead)."""

    text: str
    is_lead: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts in a collapsible block with a title, collapsed initially."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Html:
    """Finished HTML, such as pictures; untrusted text in it must already be escaped."""

    html: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """Figures side by side if the page is wide enough."""

    figures: Sequence[Figure]


@dataclass(frozen=True, slots=True)
class Terms:
    """A list of definitions, one sentence each."""

    texts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Card of a gallery: one dialogue, in every run that contains it.

    Attributes:
        anchor: id of the card for links.
        name: readable name of the target.
        where: sample and target.
        user: name of the user; "" if it need not be shown.
        user_words: the prompts of the user in words; "" if unknown.
        viewers: one HTML viewer for each dataset that has the target.
        address: address of the dialogue in the viewer; "" if there is none.
    """

    anchor: str
    name: str
    where: str
    user: str
    viewers: Sequence[str]
    address: str = ""
    user_words: str = ""


def target_text(key: DialogueId) -> str:
    """Return "sample / target", or only the sample if it failed as a whole."""
    sample, target, _, _ = key
    return f"{sample} / {target}" if target else sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Gallery:
    """Dialogues with pictures.

    Attributes:
        lead: HTML above the cards that explains how to read them.
        cards: one card for each dialogue.
        count_note: text that states how many of all targets are shown.
        every: all dialogues that the page can show, with and without a card.
        shown: anchor of the card of each shown dialogue.
        notes: one line for each item that could not be shown, with the reason.
    """

    lead: str
    cards: Sequence[Card]
    count_note: str
    every: Sequence[DialogueId] = ()
    shown: Mapping[DialogueId, str] = field(default_factory=dict[DialogueId, str])
    notes: Sequence[str] = ()

    @property
    def others(self) -> Mapping[int, str]:
        """Names of the dialogues without a card, by their index in `every`."""
        names: dict[int, str] = {}
        for index, key in enumerate(self.every):
            if key not in self.shown:
                names[index] = target_text(key)
        return names


Part: TypeAlias = Sheet | Figure | FigureRow | Note | Terms | Fold | Gallery | Html | None
"""Parts of a section: a table with its notes, a figure, text or pictures. None and empty notes are omitted.

The page numbers tables and figures in the order of the parts.
"""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page; sections without content are omitted.

    Attributes:
        anchor: id of the section for links.
        title: heading, also used in the navigation.
        parts: content from top to bottom.
    """

    anchor: str
    title: str
    parts: Sequence[Part]


def part_type_name(part: Part) -> str:
    """Return the class name of a part, by which the template selects its markup."""
    return type(part).__name__


def are_empty(parts: Sequence[Part]) -> bool:
    """Return whether all of the parts are empty."""
    return all(_is_empty_part(part) for part in parts)


def _is_empty_part(part: Part) -> bool:
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
