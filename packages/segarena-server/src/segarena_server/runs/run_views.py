"""What pages show of a run: its samples in a list, and one of them with every turn and round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segarena_server.challenges.description import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """What somebody who looks at a run may see.

    Attributes:
        is_organiser: all there is.
        decimals: to which values are rounded; for the organiser they are not.
        has_truth: whether the truth is open to them.
    """

    is_organiser: bool
    decimals: int
    has_truth: bool

    @classmethod
    def of(cls, phase: Phase, *, is_organiser: bool) -> Visibility:
        """Return the eyes of the organiser, or of the participant whose run it is."""
        is_open = phase.kind == "practice" and phase.shows != "prompts"
        return cls(
            is_organiser=is_organiser, decimals=phase.decimals, has_truth=is_organiser or is_open
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    """A sample of a run in a list.

    Attributes:
        number: from 1.
        sample: its name; "" for whoever may not know it.
        state: "open" or "over".
        turns: so many came.
        charged_s, client_s: for all of them, by the server's clock and by the participant's.
        apart: of them, those for which the server charged much more than the participant's clock says.
        faults: of them, those that were refused or could not be evaluated.
    """

    number: int
    sample: str
    state: str
    turns: int
    charged_s: float
    client_s: float
    apart: int
    faults: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """A turn of a place, with its times; `evaluated_s` and the reason of a fault of ours are for the organiser."""

    number: int
    state: str
    received_at: float
    charged_s: float
    client_s: float
    round_trip_s: float
    evaluated_s: float | None
    is_apart: bool
    is_late: bool
    is_sure: bool
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundView:
    """A round of a dialogue.

    Attributes:
        number: from 1.
        turn: with which it was answered; None for one in which the user said nothing.
        seconds: charged for the answer.
        note: what must be known of it.
        prompts: in words; None until they are drawn.
        values: what was measured, as far as that is shown.
    """

    number: int
    turn: int | None
    seconds: float | None
    note: str
    prompts: Sequence[str] | None
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueView:
    """A dialogue of a place.

    Attributes:
        number: from 1.
        target: its name, or its number for whoever may not know it.
        user, repeat: whose prompts.
        state: how it stands, in a few words.
        rounds: those that were answered, or dropped.
        viewer: HTML of the pictures; "" while there are none.
    """

    number: int
    target: str
    user: str
    repeat: int
    state: str
    rounds: Sequence[RoundView]
    viewer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleView:
    """A sample of a run: its turns, and a page of its dialogues.

    Attributes:
        number: from 1.
        sample: its name; "" for whoever may not know it.
        state: "open" or "over".
        turns: in order.
        dialogues: of this page.
        pages: how many pages of dialogues there are.
        columns: names of the values that are shown.
        has_truth: whether pictures have the target.
        is_drawing: whether pictures are on their way.
        problem: why there are none.
    """

    number: int
    sample: str
    state: str
    turns: Sequence[TurnView]
    dialogues: Sequence[DialogueView]
    pages: int
    columns: Sequence[str]
    has_truth: bool
    is_drawing: bool = False
    problem: str = ""
