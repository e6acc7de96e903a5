"""Page views of a run: the list of its samples, and one sample with all turns and rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segarena_server.challenges.description import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """A visitor's access rights to the details of a run.

    Attributes:
        is_organiser: whether the visitor may see everything.
        decimals: decimals of metrics, except for the organiser.
        has_truth: whether the visitor may see the ground truth.
    """

    is_organiser: bool
    decimals: int
    has_truth: bool

    @classmethod
    def of(cls, phase: Phase, *, is_organiser: bool) -> Visibility:
        """Return the access rights of the organiser, or of the run's participant."""
        is_open = phase.kind == "practice" and phase.shows != "prompts"
        return cls(
            is_organiser=is_organiser, decimals=phase.decimals, has_truth=is_organiser or is_open
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSummary:
    """A sample in the list of a run.

    Attributes:
        number: position in the run, from 1.
        sample: name of the sample; "" if the visitor may not see it.
        state: "open" or "over".
        turns: number of turns.
        charged_s: seconds charged for all turns, by the server's clock.
        client_s: the same by the participant's clock.
        apart: number of turns with a charge far above the participant's clock.
        faults: number of turns that were refused or could not be evaluated.
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
        evaluated_s: duration of its evaluation; None before its end, or if the visitor may not see it.
        is_apart: whether the charge is far above the participant's clock.
        is_late: whether a dialogue ended with it because its time was up.
        is_sure: whether a single monotonic clock measured its time, without an outage.
        failure: why it was refused or could not be evaluated; only organisers see server faults.
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
        number: number of the round, from 1.
        turn: number of the turn with its answer; None for a round without prompts.
        seconds: seconds charged for the answer.
        note: a remark on the round.
        prompts: descriptions of the prompts; None until the round is rendered.
        values: those metrics of the answer that may be shown.
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
        number: number of the dialogue, from 1.
        target: name of the target; its number if the visitor may not see the name.
        user: name of the user.
        repeat: repeat of the user, from 0.
        state: the state in a few words.
        rounds: the answered or dropped rounds.
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
        number: position in the run, from 1.
        sample: name of the sample; "" if the visitor may not see it.
        state: "open" or "over".
        turns: turns in order.
        dialogues: dialogues of this page.
        pages: number of pages of dialogues.
        columns: names of the metrics that are shown.
        has_truth: whether images show the target.
        is_drawing: whether images are being rendered.
        problem: why rendering failed; "" if it did not.
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
