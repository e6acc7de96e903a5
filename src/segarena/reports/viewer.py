"""What a card of the gallery is made of: the same photograph, slices or frames for every run, and what each answered.

One page element shows all kinds of samples: stacks of plates, a pane for each run, outlines for each round. The page's
script moves through rounds and plates; without it the last round stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from segarena.reports.overlays import View
from segarena.reports.rendering import macros


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """One photograph, slice or frame.

    Attributes:
        label: what the caption calls it; "" where there is only one.
        picture: data URI.
        targets: SVG path data of each object's outline.
        ignored: of what is not scored.
    """

    label: str = ""
    picture: str
    targets: Sequence[str]
    ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a run predicted after a round.

    Attributes:
        value: what the caption says of it.
        outlines: for each plate, the SVG path data of each object.
        chart: shown with this round only.
    """

    value: str
    outlines: Sequence[Sequence[str]]
    chart: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Prompts of one round as SVG; on every plate, or on those listed."""

    round: int
    svg: str
    plates: Sequence[int] | None = None
    is_brief: bool = False  # shown with its own round only, not with later ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """One run: its kept answers by round, its prompts, and a small chart."""

    label: str
    answers: Mapping[int, Answer]
    marks: Sequence[Marks] = ()
    chart: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Plates of one size, one above the other, and the panes that show them.

    Attributes:
        name: what tells it from the others of a card, such as the axis of slices.
        first: the plate that is shown first.
        colours: CSS class of each object; one object needs none.
        levels: the values that black and white stand for, where window and level can be set.
        note: which plates there are, where some are left out.
        is_moving: whether it can be played.
    """

    name: str = ""
    view: View
    plates: Sequence[Plate]
    panes: Sequence[Pane]
    first: int = 0
    colours: Sequence[str] = field(default=("",))
    levels: tuple[float, float] | None = None
    note: str = ""
    is_moving: bool = False

    @property
    def has_ignored(self) -> bool:
        """Whether some pixels are not scored."""
        return any(plate.ignored for plate in self.plates)

    @property
    def rounds(self) -> list[int]:
        """The rounds after which a prediction was kept, of any run."""
        return sorted({number for pane in self.panes for number in pane.answers})


def viewer_html(anchor: str, stacks: Sequence[Stack], word: str) -> str:
    """Return stacks as HTML whose ids begin with `anchor`; `word` is what a round is called."""
    html: Any = macros("segarena.reports", "viewer.html")
    return str(html.viewer(anchor, stacks, word))
