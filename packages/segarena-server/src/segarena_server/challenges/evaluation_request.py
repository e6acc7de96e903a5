"""Request and result of an evaluation, which travel between the server and its worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from segarena.engine.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The data of a participant's run that an evaluation needs.

    Attributes:
        id: of the run.
        phase: its name.
        name: under which tables list the run.
        samples: of the run, in order; `place` is an index into them.
    """

    id: str
    phase: str
    name: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedTurn:
    """A turn of a participant and the time charged for it.

    Attributes:
        body: as received. It is not trusted, and parsed only where it is evaluated.
        charged_s: seconds since the previous reply, see `segarena_server.challenges.time_charge`; 0 for the first turn.
        spent_s: seconds charged for all turns of the run before this one, those about other samples included.
    """

    body: bytes = field(repr=False)
    charged_s: float = 0.0
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """The request to evaluate the last of some turns about one sample.

    Attributes:
        run: to which the turns belong.
        place: index of the sample in the run.
        turns: all turns about the sample in order, all but the last of which were evaluated before. The last one alone
            is enough as long as the evaluator has the dialogues in memory.
        before: where the last turn comes alone, `EvaluationResult.digest` of the previous turn.
        past: `EvaluationResult.given` of the team's earlier runs about the sample, in order. A team has no two
            unfinished runs about one sample.
    """

    run: RunInfo
    place: int
    turns: tuple[ChargedTurn, ...]
    before: str = ""
    past: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueStatus:
    """The status of a dialogue after a turn. It is for the organiser alone.

    Attributes:
        number: of the dialogue among those about the sample.
        target, user, repeat: as in the records of the run.
        rounds: answered so far.
        replayed: how many of the requested rounds have prompts of an earlier run.
        values: metrics of the last answer that was judged in this turn.
        seconds: charged for it.
        is_over: whether no further prompts will come.
        is_late: whether it ended because its time was over.
        failure: why it ended early otherwise; else "".
        heard: answered rounds as the participant counts them. Rounds of an earlier run that are asked again after the
            rules have ended the dialogue are included, although they count for nothing.
        repeated: number of requested rounds, as the participant counts them, with prompts of an
            earlier run.
        is_given_up: whether the participant had no answer, perhaps to a round that counts for nothing.
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
    """The result of evaluating a turn.

    Attributes:
        reply: to the participant; the same turns give the same bytes.
        given: prompts that the team received for the first time; b"" for none. They are kept for the team and the
            sample in the order in which they were given, whatever becomes of the run.
        judged: status of each dialogue that the turn was about.
        is_over: whether all dialogues about the sample are over.
        rows: for `RunFolder.write`, once all dialogues are over.
        digest: of all turns about the sample so far.
    """

    reply: bytes = field(repr=False)
    given: bytes = field(default=b"", repr=False)
    judged: tuple[DialogueStatus, ...] = ()
    is_over: bool = False
    rows: Rows | None = field(default=None, repr=False)
    digest: str = ""
