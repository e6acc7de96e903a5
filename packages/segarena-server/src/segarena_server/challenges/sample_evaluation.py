"""Evaluation of one sample of a run: its dialogues, advanced turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from math import isfinite, prod

from segarena.dialogue import as_prediction
from segarena.engine.lockstep_dialogues import (
    RunCast,
    open_sessions,
    prepare_shared_work,
    repeat_previous,
    request_prompts,
    submit_answer,
)
from segarena.engine.rows import Rows
from segarena.engine.session import Session
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidInput, PredictionInvalid
from segarena.files.hashes import sha256
from segarena.prompts import Prompt
from segarena.protocol.replies import DialogueReply, pack_reply
from segarena.protocol.turns import DialogueAnswer, TurnHeader, unpack_turn
from segarena.samples import Sample, Support
from segarena_server.challenges.description import Phase
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationResult,
)
from segarena_server.challenges.prompt_replay import (
    ReplayingUser,
    pack_prompts,
    unpack_history,
)
from segarena_server.challenges.turn_time_accounting import TimeBank
from segarena_server.dialogue_status import DialogueStatus

NO_ANSWER = "the participant had no answer"
OUR_FAULT = "the server cannot continue this dialogue; the organiser can see the reason"
"""Failures as reported to participants; the actual reason could reveal hidden data."""

_MAX_LISTED = 20
"""Maximum number of dialogues that an error message lists."""


class DialogueState(Enum):
    """The state of a dialogue as its participant sees it."""

    UNOPENED = auto()
    """The participant has not requested its first prompts."""
    WAITING = auto()
    """Prompts await an answer."""
    REPLAYING = auto()
    """The rules have ended the dialogue, but prompts of an earlier run await an answer that does not count."""
    FINISHED = auto()
    """No further prompts will follow."""
    LATE = auto()
    """The dialogue ended because its time was up."""
    GIVEN_UP = auto()
    """The dialogue ended because the participant had no answer."""
    SERVER_FAILED = auto()
    """The dialogue ended because a user or a metric failed."""


_AWAITS_ANSWER = (DialogueState.WAITING, DialogueState.REPLAYING)
_IS_ACTIVE = (DialogueState.UNOPENED, *_AWAITS_ANSWER)


class _Dialogue:
    """One dialogue about the sample.

    Attributes:
        past: prompts of earlier runs, by round.
        requested: number of rounds whose prompts were sent.
        replayed_answers: number of repeated rounds answered after the rules had ended the dialogue;
            they do not count.
        accrued_s: seconds charged since the last answer.
        seconds: seconds charged for the last answer.
        values: metrics of the last answer.
    """

    def __init__(
        self,
        number: int,
        session: Session,
        phase: Phase,
        past: Sequence[Sequence[Prompt]],
    ) -> None:
        self.number = number
        self.session = session
        self.objects = session.target.objects
        answer_s = phase.seconds_per_answer and self.objects * phase.seconds_per_answer
        self.bank = TimeBank(answer_s, phase.bank_s)
        self.past = past
        self.state = DialogueState.FINISHED if session.is_over else DialogueState.UNOPENED
        self.requested = 0
        self.replayed_answers = 0
        self.accrued_s = 0.0
        self.seconds = 0.0
        self.values: Mapping[str, float] = {}
        if past:
            session.user = ReplayingUser(session.user, past)

    @property
    def awaits_answer(self) -> bool:
        """Whether prompts await an answer."""
        return self.state in _AWAITS_ANSWER

    @property
    def is_over(self) -> bool:
        """Whether no further prompts will follow."""
        return self.state not in _IS_ACTIVE

    @property
    def has_replay(self) -> bool:
        """Whether the rules ended the dialogue although an earlier run received another round, which must be repeated.

        The end of a dialogue tells the participant that the answer is good enough. The evaluation
        hides it during rounds that an earlier run had already reached; otherwise each further run
        could query the ground truth.
        """
        session = self.session
        has_ended_by_rules = (
            session.is_over
            and not session.failure
            and not session.is_late
            and self.state not in (DialogueState.LATE, DialogueState.GIVEN_UP)
        )
        remaining = self.past[self.requested :]
        if not has_ended_by_rules or not remaining:
            return False
        # Each run chooses support examples anew, so they are not replayed.
        return not any(isinstance(prompt, Support) for prompt in remaining[0])

    def give_up(self, message: str) -> None:
        """End the dialogue without an answer. The reply does not show whether the rules had already ended it."""
        self.state = DialogueState.GIVEN_UP
        if not self.session.is_over:
            self.session.fail(message)

    def reported_failure(self) -> str:
        """Return the failure to report to the participant, or "" for none."""
        if self.state is DialogueState.SERVER_FAILED:
            return OUR_FAULT
        if self.session.failure or self.state is DialogueState.GIVEN_UP:
            return NO_ANSWER
        return ""

    def status(self) -> DialogueStatus:
        """Return the status of the dialogue for the organiser."""
        session = self.session
        return DialogueStatus(
            number=self.number,
            target=session.target.id,
            user=session.user_name,
            repeat=session.repeat,
            rounds=session.answered,
            replayed=min(len(self.past), len(session.dialogue.rounds)),
            values=dict(self.values),
            seconds=self.seconds,
            is_over=self.is_over,
            is_late=self.state is DialogueState.LATE,
            failure=session.failure,
            heard=session.answered + self.replayed_answers,
            repeated=min(len(self.past), self.requested),
            is_given_up=self.state is DialogueState.GIVEN_UP,
        )


_BYTES_PER_PIXEL = 8
"""Memory of a dialogue per pixel or voxel: the masks of the target, of the last prediction and of
the errors, and data that the benchmark derives from the target. Measured on photographs: 37 bytes
per pixel for four to five dialogues.
"""
_BYTES_PER_SAMPLE = 2**16
"""Memory of a sample independent of its shape, measured on photographs of 96 x 72 pixels."""


class SampleEvaluation:
    """All dialogues about one sample.

    Args:
        cast: users, metrics and rules of the run.
        sample: the sample with its truth.
        phase: the phase with its limits.
        past: prompts that the team received about this sample in earlier runs; used only in test phases.
        limit: time limit of each call of a user or a metric.

    Attributes:
        digest: hash of the turns taken so far.
        sample: the sample with its truth.
    """

    def __init__(
        self,
        cast: RunCast,
        sample: Sample,
        phase: Phase,
        past: Sequence[bytes],
        limit: TimeLimit,
    ) -> None:
        history = unpack_history(past, sample.shape) if phase.kind == "test" else {}
        # The sessions' clock stands still, because the charged seconds come with each turn.
        sessions = open_sessions(cast, sample, clock=lambda: 0.0)
        self.digest = ""
        self.sample = sample
        self._phase = phase
        self._limit = limit
        self._dialogues = [
            _Dialogue(number, session, phase, history.get(number, ()))
            for number, session in enumerate(sessions)
        ]

    @property
    def is_over(self) -> bool:
        """Whether all dialogues are over."""
        return all(dialogue.is_over for dialogue in self._dialogues)

    @property
    def size_bytes(self) -> int:
        """Estimated size in memory."""
        dialogue_bytes = prod(self.sample.shape) * _BYTES_PER_PIXEL
        return _BYTES_PER_SAMPLE + len(self._dialogues) * dialogue_bytes

    @property
    def dialogues(self) -> dict[int, tuple[str, str, str, int]]:
        """Sample, target, user and repeat of each dialogue, as in the records, by dialogue index."""
        keys: dict[int, tuple[str, str, str, int]] = {}
        for dialogue in self._dialogues:
            session = dialogue.session
            key = (self.sample.id, session.target.id, session.user_name, session.repeat)
            keys[dialogue.number] = key
        return keys

    def read(self, charged: ChargedTurn) -> tuple[TurnHeader, dict[int, DialogueAnswer]]:
        """Parse and validate a turn without applying it; return its header and its answers by dialogue.

        Raises:
            InvalidInput: the turn is damaged, or does not fit the state of the dialogues.
        """
        objects = {
            dialogue.number: dialogue.objects
            for dialogue in self._dialogues
            if dialogue.awaits_answer
        }
        header, answers = unpack_turn(charged.body, shape=self.sample.shape, objects=objects)
        self._check(header, answers)
        return header, answers

    def take(
        self,
        header: TurnHeader,
        answers: Mapping[int, DialogueAnswer],
        charged: ChargedTurn,
    ) -> EvaluationResult:
        """Apply a turn from `read`: evaluate its answers and request the next prompts."""
        # Computed before the answers are applied, because they change which dialogues wait.
        waiting = [dialogue for dialogue in self._dialogues if dialogue.awaits_answer]
        for dialogue in waiting:
            dialogue.accrued_s += charged.charged_s / len(waiting)
        touched = self._take_answers(header, answers, is_over_time=self._is_over_time(charged))
        for number in header.open:
            dialogue = self._dialogues[number]
            dialogue.state = DialogueState.WAITING
            touched.append(dialogue)
        replies = self._next_prompts(touched, stops_at_silence=header.silent)
        self.digest = digest_after(self.digest, charged)
        return EvaluationResult(
            reply=pack_reply(replies),
            given=self._pack_new_prompts(replies),
            judged=tuple(dialogue.status() for dialogue in touched),
            is_over=self.is_over,
            rows=self.rows() if self.is_over else None,
            digest=self.digest,
        )

    def leave(self, why: str) -> Rows:
        """Fail all unfinished dialogues and return the rows of all dialogues."""
        for dialogue in self._dialogues:
            session = dialogue.session
            if not session.is_over:
                session.fail(f"{why}; answered rounds: {session.answered}")
        return self.rows()

    def rows(self) -> Rows:
        """Return the rows of all dialogues."""
        rows = Rows()
        for dialogue in self._dialogues:
            rows.extend(dialogue.session.rows())
        return rows

    def _check(self, header: TurnHeader, answers: Mapping[int, DialogueAnswer]) -> None:
        """Raise `InvalidInput` if a turn is empty, an answer is invalid, or a dialogue cannot be opened."""
        unopened = [
            dialogue.number
            for dialogue in self._dialogues
            if dialogue.state is DialogueState.UNOPENED
        ]
        to_open = set(header.open)
        if len(to_open) < len(header.open) or not to_open <= set(unopened):
            raise InvalidInput(
                f"turn: expected to open some of dialogues {unopened[:_MAX_LISTED]}, each once"
            )
        if not (answers or header.open or header.failed):
            raise InvalidInput(
                "turn: expected answers, dialogues to open, or the reason why there are none"
            )
        for number, answer in answers.items():
            if isinstance(answer, str):
                continue
            objects = self._dialogues[number].objects
            name = f"the answer to dialogue {number}"
            try:
                as_prediction(answer, self.sample.shape, objects=objects, name=name)
            except PredictionInvalid as error:
                raise InvalidInput(str(error)) from error

    def _is_over_time(self, charged: ChargedTurn) -> bool:
        most_s = self._phase.seconds_per_run
        return most_s is not None and charged.spent_s + charged.charged_s > most_s

    def _take_answers(
        self,
        header: TurnHeader,
        answers: Mapping[int, DialogueAnswer],
        *,
        is_over_time: bool,
    ) -> list[_Dialogue]:
        """Evaluate the answers of a turn and return their dialogues.

        If the turn failed, give up all active dialogues and return them.
        """
        if header.failed:
            ended = [dialogue for dialogue in self._dialogues if not dialogue.is_over]
            for dialogue in ended:
                dialogue.give_up(header.failed)
            return ended
        answered: list[_Dialogue] = []
        for number, answer in answers.items():
            dialogue = self._dialogues[number]
            self._take_answer(dialogue, answer, is_over_time=is_over_time)
            answered.append(dialogue)
        return answered

    def _take_answer(
        self,
        dialogue: _Dialogue,
        answer: DialogueAnswer,
        *,
        is_over_time: bool,
    ) -> None:
        dialogue.seconds = dialogue.accrued_s
        dialogue.accrued_s = 0.0
        dialogue.values = {}
        if isinstance(answer, str):
            dialogue.give_up(answer)
            return
        session = dialogue.session
        is_paid = dialogue.bank.pays(dialogue.seconds) and not is_over_time
        if dialogue.state is DialogueState.REPLAYING:
            session.spend(dialogue.seconds)
            if is_paid and not session.is_late:
                dialogue.state = DialogueState.FINISHED
                dialogue.replayed_answers += 1
            else:
                dialogue.state = DialogueState.LATE
            return
        answered_before = session.answered
        if is_paid:
            submit_answer(session, self._limit, answer, dialogue.seconds)
        else:
            session.drop(dialogue.seconds)
        was_judged = session.answered > answered_before
        if was_judged:
            dialogue.values = session.last_values
        if session.failure:
            dialogue.state = DialogueState.SERVER_FAILED
        elif session.is_over:
            dialogue.state = DialogueState.FINISHED if was_judged else DialogueState.LATE

    def _next_prompts(
        self,
        touched: Sequence[_Dialogue],
        *,
        stops_at_silence: bool,
    ) -> list[DialogueReply]:
        """Return the replies to some dialogues."""
        going = [dialogue.session for dialogue in touched if not dialogue.session.is_over]
        prepare_shared_work(going, self._limit)
        return [self._reply_to(dialogue, stops_at_silence=stops_at_silence) for dialogue in touched]

    def _pack_new_prompts(self, replies: Sequence[DialogueReply]) -> bytes:
        """Encode the prompts in replies that the team did not receive in an earlier run."""
        new_prompts: list[DialogueReply] = []
        for reply in replies:
            dialogue = self._dialogues[reply.dialogue]
            requested_before = dialogue.requested - len(reply.rounds)
            repeated = max(0, len(dialogue.past) - requested_before)
            new_prompts.append(
                DialogueReply(dialogue=reply.dialogue, rounds=reply.rounds[repeated:])
            )
        return pack_prompts(new_prompts)

    def _reply_to(
        self,
        dialogue: _Dialogue,
        *,
        stops_at_silence: bool,
    ) -> DialogueReply:
        """Return the next rounds of a dialogue, up to the first one that the participant must answer.

        Args:
            dialogue: the dialogue.
            stops_at_silence: whether the participant also answers rounds without prompts.
        """
        rounds = self._request_rounds(dialogue, stops_at_silence=stops_at_silence)
        while dialogue.has_replay and dialogue.state is not DialogueState.REPLAYING:
            prompts = dialogue.past[dialogue.requested]
            rounds.append(prompts)
            dialogue.requested += 1
            if prompts or stops_at_silence:
                dialogue.state = DialogueState.REPLAYING
            else:
                dialogue.replayed_answers += 1
        return DialogueReply(
            dialogue=dialogue.number,
            rounds=tuple(rounds),
            over=dialogue.is_over,
            late=dialogue.state is DialogueState.LATE,
            failed=dialogue.reported_failure(),
            objects=dialogue.objects,
            lift=dialogue.session.dialogue.lift,
            values=self._public_values(dialogue.values),
        )

    def _request_rounds(
        self,
        dialogue: _Dialogue,
        *,
        stops_at_silence: bool,
    ) -> list[Sequence[Prompt]]:
        """Request prompts from the user and return them by round.

        Unless `stops_at_silence`, answer rounds without prompts with the previous mask.
        """
        session = dialogue.session
        rounds: list[Sequence[Prompt]] = []
        while not session.is_over:
            asked = request_prompts(session, self._limit)
            if asked is None:
                if session.failure:
                    dialogue.state = DialogueState.SERVER_FAILED
                break
            prompts = asked.rounds[-1]
            rounds.append(prompts)
            dialogue.requested += 1
            if prompts or stops_at_silence:
                break
            submit_answer(session, self._limit, repeat_previous(session), 0.0)
        if session.is_over and dialogue.state is DialogueState.WAITING:
            dialogue.state = DialogueState.FINISHED
        return rounds

    def _public_values(self, values: Mapping[str, float]) -> Mapping[str, float | None] | None:
        """Return the metrics that the participant may see, or None.

        Metrics reveal ground truth, so only practice phases show them, unless these show only
        prompts.
        """
        if self._phase.kind != "practice" or self._phase.shows == "prompts" or not values:
            return None
        decimals = self._phase.decimals
        return {
            name: round(value, decimals) if isfinite(value) else None
            for name, value in values.items()
        }


def digest_after(before: str, charged: ChargedTurn) -> str:
    """Return the digest of all turns up to this one; `before` is the digest of the earlier ones."""
    return sha256(f"{before} {charged.charged_s!r} {charged.spent_s!r} ", charged.body)
