"""Views of a run on pages: the list of its samples, and one sample with all turns and rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segarena_server.challenges.description import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """Access rights of a visitor to the details of a run.

    Attributes:
        is_organiser: whether they may see everything.
        decimals: to which values are rounded, except for the organiser.
        has_truth: whether they may see the truth.
    """

    is_organiser: bool
    decimals: int
    has_truth: bool

    @classmethod
    def of(cls, phase: Phase, *, is_organiser: bool) -> Visibility:
        """Return the visibility for the organiser, or for the participant to whom the run belongs."""
        is_open = phase.kind == "practice" and phase.shows != "prompts"
        return cls(
            is_organiser=is_organiser, decimals=phase.decimals, has_truth=is_organiser or is_open
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    """A sample in the list of a run.

    Attributes:
        number: from 1.
        sample: its name; "" where the visitor may not see it.
        state: "open" or "over".
        turns: their number.
        charged_s: for all turns, by the server's clock.
        client_s: the same by the participant's clock.
        apart: turns that were charged much more than the participant's clock says.
        faults: turns that were refused or could not be evaluated.
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
    """A turn about a sample with its times.

    Attributes:
        evaluated_s: duration of its evaluation; None where the visitor may not see it.
        is_apart: whether it was charged much more than the participant's clock says.
        is_late: whether a dialogue ended with it because its time was over.
        is_sure: whether its time was measured by one monotonic clock.
        failure: why it was refused or could not be evaluated; server faults are for the organiser alone.
    """

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
        turn: number of the turn with its answer; None for a round without prompts.
        seconds: charged for the answer.
        note: a remark on the round.
        prompts: in words; None until the round is rendered.
        values: metrics of the answer, as far as they are shown.
    """

    number: int
    turn: int | None
    seconds: float | None
    note: str
    prompts: Sequence[str] | None
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueView:
    """A dialogue about a sample.

    Attributes:
        number: from 1.
        target: its name; its number where the visitor may not see the name.
        user: of the prompts.
        repeat: of the user, from 0.
        state: in a few words.
        rounds: those that were answered or dropped.
        viewer: HTML of its images; "" while there are none.
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
    """A sample of a run with its turns and one page of its dialogues.

    Attributes:
        number: from 1.
        sample: its name; "" where the visitor may not see it.
        state: "open" or "over".
        turns: in order.
        dialogues: of this page.
        pages: the number of pages of dialogues.
        columns: names of the metrics that are shown.
        has_truth: whether images show the target.
        is_drawing: whether images are being rendered.
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
