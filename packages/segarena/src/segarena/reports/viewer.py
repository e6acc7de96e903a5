"""What a card of the gallery is made of: the same photograph, slices or frames for every run, and what each answered.

One page element shows all kinds of samples: stacks of plates, a pane for each run, outlines for each round. The page's
script moves through rounds and plates; without it the last round stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from segarena.reports.charts import colour_class, swatch
from segarena.reports.html_document import macros
from segarena.reports.overlays import View


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
class Example:
    """A photograph of its own beside the target, such as what a segmenter was shown: with what is outlined on it."""

    label: str
    view: View
    picture: str
    outline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundMarks:
    """Prompts of one round as SVG; on every plate, or on those listed."""

    round: int
    svg: str
    plates: Sequence[int] | None = None
    is_brief: bool = False  # shown with its own round only, not with later ones


Outlines: TypeAlias = Sequence[Sequence[str]]
"""For each plate, the SVG path data of each object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """What one run answered, or another picture of the plates.

    Attributes:
        label: what the caption calls it.
        values: what the caption says after each round, from the first on.
        kept: the predictions that were kept, by round.
        marks: the prompts.
        charts: one for each round, shown with this round only; or none.
        chart: shown always.
        heat: SVG in the place of the predicted area.
        is_grey: whether the plates lose their colours, so that the heat can be read.
        is_run: whether the gallery can be filtered by its label.
        state: "solved", "unsolved" or "failed"; "" where nothing says what is solved.
        failure: why the dialogue ended before its time.
        colour: of the run in every figure; None where there is one run only.
    """

    label: str
    values: Sequence[str]
    kept: Mapping[int, Outlines]
    marks: Sequence[RoundMarks] = ()
    charts: Sequence[str] = ()
    chart: str = ""
    heat: str = ""
    is_grey: bool = False
    is_run: bool = True
    state: str = ""
    failure: str = ""
    colour: int | None = None

    @property
    def css(self) -> str:
        """The CSS classes of its colour."""
        return "" if self.colour is None else colour_class(self.colour)

    @property
    def sign(self) -> str:
        """A piece of the line that the run is in every figure."""
        return "" if self.colour is None else swatch(self.colour)

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return max([len(self.values), *self.kept, *(marks.round for marks in self.marks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Plates of one size, one above the other, and the panes that show them.

    Attributes:
        name: what tells it from the others of a card, such as the axis of slices.
        first: the plate that is shown first.
        beside: what stands between the target and the panes.
        colours: CSS class of each object; one object needs none.
        levels: the values that black and white stand for, where window and level can be set.
        note: which plates there are, where some are left out.
        is_moving: whether it can be played.
        has_truth: whether the target is known; without it the first pane is the sample alone.
    """

    name: str = ""
    view: View
    plates: Sequence[Plate]
    panes: Sequence[Pane]
    first: int = 0
    beside: Sequence[Example] = ()
    colours: Sequence[str] = field(default=("",))
    levels: tuple[float, float] | None = None
    note: str = ""
    is_moving: bool = False
    has_truth: bool = True

    @property
    def has_ignored(self) -> bool:
        """Whether some pixels are not scored."""
        return any(plate.ignored for plate in self.plates)

    @property
    def rounds(self) -> int:
        """The most rounds that any run had."""
        return max((pane.rounds for pane in self.panes), default=0)


def viewer_html(anchor: str, stacks: Sequence[Stack], word: str) -> str:
    """Return stacks as HTML whose ids begin with `anchor`; `word` is what a round is called."""
    html: Any = macros("segarena.reports", "viewer.html")
    return str(html.viewer(anchor, stacks, word))
