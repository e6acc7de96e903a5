"""The content of a gallery card: a photograph, slices or frames, with the predictions of each run.

One page element shows all kinds of samples: stacks of plates, a pane for each run, and outlines for
each round. The page's script switches rounds and plates; without it, the last round is visible.
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
        label: name in the caption; "" for a single plate.
        picture: data URI of the image.
        targets: SVG path data of the outline of each object.
        ignored: SVG path data of the outline of ignored pixels.
    """

    label: str = ""
    picture: str
    targets: Sequence[str]
    ignored: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A separate photograph next to the target with an outline, such as a support example."""

    label: str
    view: View
    picture: str
    outline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundMarks:
    """Prompts of one round as SVG, on all plates or on the listed ones."""

    round: int
    svg: str
    plates: Sequence[int] | None = None
    is_brief: bool = False  # shown with its own round only, not with later ones


Outlines: TypeAlias = Sequence[Sequence[str]]
"""SVG path data of each object for each plate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """The predictions of one run, or another view of the plates.

    Attributes:
        label: name in the caption.
        values: text of the caption after each round, from the first on.
        kept: the stored predictions by round.
        marks: the prompts.
        charts: one chart for each round, visible only with its round; or none.
        chart: chart that is always visible.
        heat: SVG of a heat map in place of the predicted area.
        is_grey: whether the plates are grey, so that the heat map is readable.
        is_run: whether the gallery can be filtered by its label.
        state: "solved", "unsolved" or "failed"; "" without a threshold.
        failure: error message of a failed dialogue.
        colour: colour of the run in every figure; None for a single run.
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
        """CSS classes of the colour."""
        return "" if self.colour is None else colour_class(self.colour)

    @property
    def sign(self) -> str:
        """Line sample of the run, as in the legends of figures."""
        return "" if self.colour is None else swatch(self.colour)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return max([len(self.values), *self.kept, *(marks.round for marks in self.marks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A stack of plates of equal size, and the panes that show them.

    Attributes:
        name: name within the card, such as the axis of the slices.
        view: crop and scale of the plates.
        plates: the photographs, slices or frames.
        panes: one pane per run or view.
        first: index of the initial plate.
        beside: examples between the target and the panes.
        colours: CSS class of each object; empty for a single object.
        levels: intensities of black and white, if window and level are adjustable.
        note: note about plates that are left out.
        is_moving: whether the stack can be played as a video.
        has_truth: whether the target is known; without it, the first pane shows only the sample.
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
        """Whether any plate has ignored pixels."""
        return any(plate.ignored for plate in self.plates)

    @property
    def rounds(self) -> int:
        """Maximum number of rounds of any run."""
        return max((pane.rounds for pane in self.panes), default=0)


def viewer_html(anchor: str, stacks: Sequence[Stack], word: str) -> str:
    """Return stacks as HTML whose ids begin with `anchor`; `word` is the word for a round."""
    html: Any = macros("segarena.reports", "viewer.html")
    return str(html.viewer(anchor, stacks, word))
