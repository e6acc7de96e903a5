"""What a step of an evaluation is given, and what comes of it; small enough to travel between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from segarena.engine.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run of a participant.

    Attributes:
        id: of the run.
        phase: its name.
        name: what tables call it.
        samples: which it is about, in order; a place is a number in this list.
    """

    id: str
    phase: str
    name: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedTurn:
    """A turn as it came.

    Attributes:
        body: not trusted, and read where it is evaluated.
        charged_s: seconds since the reply before, see `segarena_server.challenges.time_charge`; of the first turn 0.
        spent_s: what all turns of the run, about other places too, had been charged before this one.
    """

    body: bytes = field(repr=False)
    charged_s: float = 0.0
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """The last of some turns is to be evaluated.

    Attributes:
        run: whose.
        place: about which of its samples.
        turns: all about that place, in order; those before the last were evaluated before. Or the last alone: that is
            enough as long as the place is still at hand.
        before: where the last is given alone, `StepDone.digest` of the one before.
        past: what `StepDone.given` said of the team's earlier runs about that sample, in order. Of a team only one run
            at a time may be about a sample.
    """

    run: RunInfo
    place: int
    turns: tuple[ChargedTurn, ...]
    before: str = ""
    past: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueStatus:
    """Where a dialogue stands after a step; for the organiser alone.

    Attributes:
        number: in the place.
        target, user, repeat: as in the records of the run.
        rounds: answered so far.
        replayed: of the rounds asked so far, those with prompts of an earlier run.
        values: of the last answer that was judged in this step.
        seconds: charged for it.
        is_over: no further prompts will come.
        is_late: it ended because its time was over.
        failure: why it ended otherwise before its end, else "".
        heard: rounds answered as the participant knows: also those that were asked again after it had ended by the
            rules, which count for nothing.
        repeated: of the rounds that the participant was asked, those with prompts of an earlier run.
        is_given_up: whether the participant had no answer, maybe to a round that counts for nothing.
    """

    number: int
    target: str
    user: str
    repeat: int
    rounds: int
    replayed: int
    values: Mapping[str, float]
    seconds: float
    is_over: bool
    is_late: bool
    failure: str
    heard: int = 0
    repeated: int = 0
    is_given_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """What came of a step.

    Attributes:
        reply: for the participant; the same turns give the same bytes.
        given: the prompts that the team got for the first time with it; b"" for none. Kept for the team and the sample,
            in the order in which they were given, whatever becomes of the run.
        judged: the dialogues that it was about.
        is_over: nothing more will be asked about this place.
        rows: what `RunFolder.write` takes when it is over.
        digest: of the turns so far.
    """

    reply: bytes = field(repr=False)
    given: bytes = field(default=b"", repr=False)
    judged: tuple[DialogueStatus, ...] = ()
    is_over: bool = False
    rows: Rows | None = field(default=None, repr=False)
    digest: str = ""
