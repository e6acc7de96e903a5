"""Request and result of an evaluation, exchanged between the server and its worker processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from segarena.engine.rows import Rows
from segarena_server.dialogue_status import DialogueStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Data of a participant's run that its evaluation needs.

    Attributes:
        id: run id.
        phase: name of the phase.
        name: name of the run in tables.
        samples: samples of the run, in order; `place` is an index into them.
    """

    id: str
    phase: str
    name: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedTurn:
    """A participant's turn and the time charged for it.

    Attributes:
        body: the received bytes, which are untrusted and parsed only during the evaluation.
        charged_s: seconds since the previous reply; 0 for the first turn. See
            `segarena_server.challenges.turn_time_accounting`.
        spent_s: seconds charged for all earlier turns of the run, also those about other samples.
    """

    body: bytes = field(repr=False)
    charged_s: float = 0.0
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """A request to evaluate a participant's last turn about a sample, with the turns before it.

    Attributes:
        run: the run of the turns.
        place: index of the sample in the run.
        turns: all turns about the sample in order; all but the last have been evaluated before. The last one alone is
            enough while the evaluator has the dialogues in memory.
        before: `EvaluationResult.digest` of the previous turn, if only the last turn is given.
        past: `EvaluationResult.given` of the team's earlier runs about the sample, in order. A team never has two
            unfinished runs about one sample.
        challenge: description of the challenge as JSON; may be "" if the evaluator is known, as within one process.
    """

    run: RunInfo
    place: int
    turns: tuple[ChargedTurn, ...]
    before: str = ""
    past: tuple[bytes, ...] = ()
    challenge: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """The result of evaluating a turn.

    Attributes:
        reply: reply to the participant; equal turns give equal bytes.
        given: prompts that the team received for the first time; b"" for none. The server stores them for the team
            and the sample in this order, whatever happens to the run.
        judged: status of each dialogue in the turn.
        is_over: whether all dialogues about the sample are over.
        rows: rows for `RunFolder.write`, once all dialogues are over.
        digest: hash of all turns about the sample so far.
    """

    reply: bytes = field(repr=False)
    given: bytes = field(default=b"", repr=False)
    judged: tuple[DialogueStatus, ...] = ()
    is_over: bool = False
    rows: Rows | None = field(default=None, repr=False)
    digest: str = ""
