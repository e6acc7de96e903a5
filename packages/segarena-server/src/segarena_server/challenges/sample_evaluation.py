"""A place of a run: the sessions about one sample, moved on turn by turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from segarena.dialogue import as_prediction
from segarena.engine.lockstep import (
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
from segarena.protocol.replies import DialogueReply, Reply, pack_reply
from segarena.protocol.turns import Answer, Turn, unpack_turn
from segarena.samples import Sample, Support
from segarena_server.challenges.description import Phase
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    DialogueStatus,
    EvaluationResult,
)
from segarena_server.challenges.prompt_replay import (
    PromptHistory,
    ReplayingUser,
    pack_history,
    unpack_history,
)
from segarena_server.challenges.time_charge import TimeBank

NO_ANSWER = "there was no answer"
OUR_FAULT = "this dialogue cannot go on for a reason on this side; the organiser sees which"
"""What participants are told of a failure. The reason may name what is hidden."""


class _Held:
    """One dialogue of a place."""

    def __init__(
        self, number: int, session: Session, phase: Phase, past: Sequence[Sequence[Prompt]]
    ) -> None:
        self.number = number
        self.session = session
        self.objects = session.target.objects
        self.bank = TimeBank(
            phase.seconds_per_answer and self.objects * phase.seconds_per_answer, phase.bank_s
        )
        self.past = past
        self.said = self.echoed = 0
        self.is_open = False
        self.is_late = False
        self.is_echoing = False
        self.is_given_up = False
        self.accrued_s = 0.0
        self.seconds = 0.0
        self.values: Mapping[str, float] = {}
        self.is_ours = False
        if past:
            session.user = ReplayingUser(session.user, past)

    @property
    def is_waiting(self) -> bool:
        """Whether prompts wait for an answer."""
        return self.is_open and not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be said."""
        return self.session.is_over and not self.is_echoing

    @property
    def has_echo(self) -> bool:
        """Whether it ended by the rules before a round that an earlier run was asked, and that comes again.

        That a dialogue ends tells that the answer is good enough. Of rounds that were held before nobody is told that
        again: otherwise each further run would be a question about the truth.
        """
        session = self.session
        is_early = session.failure or self.is_given_up or self.is_late or session.is_late
        is_by_rule = session.is_over and not is_early
        rounds = self.past[self.said :]
        return (
            is_by_rule and bool(rounds) and not any(isinstance(each, Support) for each in rounds[0])
        )


class SampleEvaluation:
    """The sessions about one sample.

    Args:
        cast: of the run.
        sample: with its truth.
        phase: its limits.
        past: what the team was given before about this sample.
        limit: of each call of a user or a metric.

    Attributes:
        digest: of the turns taken so far.
        sample: with its truth.
    """

    def __init__(
        self, cast: RunCast, sample: Sample, phase: Phase, past: Sequence[bytes], limit: TimeLimit
    ) -> None:
        given = unpack_history(past, sample.shape) if phase.kind == "test" else {}
        # Judging takes no time here: what is charged comes with each turn.
        sessions = open_sessions(cast, sample, clock=lambda: 0.0)
        self.digest = ""
        self.sample = sample
        self._phase = phase
        self._limit = limit
        self._held = [
            _Held(n, session, phase, given.get(n, ())) for n, session in enumerate(sessions)
        ]

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be asked."""
        return all(held.is_over for held in self._held)

    @property
    def dialogues(self) -> dict[int, tuple[str, str, str, int]]:
        """By number, the sample, target, user and repeat that the records call a dialogue by."""
        sessions = ((held.number, held.session) for held in self._held)
        return {
            number: (self.sample.id, one.target.id, one.user_name, one.repeat)
            for number, one in sessions
        }

    def read(self, given: ChargedTurn) -> Turn:
        """Return a turn that can be taken; nothing changes.

        Raises:
            InvalidInput: it cannot be.
        """
        objects = {held.number: held.objects for held in self._held if held.is_waiting}
        turn = unpack_turn(given.body, shape=self.sample.shape, objects=objects)
        self._check(turn)
        return turn

    def take(self, turn: Turn, given: ChargedTurn) -> EvaluationResult:
        """Take what was read of a turn."""
        waiting = [held for held in self._held if held.is_waiting]
        for held in waiting:
            held.accrued_s += given.charged_s / len(waiting)
        touched = self._answered(turn, is_over_time=self._is_over_time(given))
        for number in turn.open:
            held = self._held[number]
            held.is_open = True
            touched.append(held)
        new: PromptHistory = {}
        asked = self._asked(touched, new, is_told_silence=turn.silent)
        self.digest = digest_after(self.digest, given)
        return EvaluationResult(
            reply=pack_reply(Reply(dialogues=asked, charged_s=given.charged_s)),
            given=pack_history(new),
            judged=tuple(map(_judged, touched)),
            is_over=self.is_over,
            rows=self.rows() if self.is_over else None,
            digest=self.digest,
        )

    def leave(self, why: str) -> Rows:
        """End the dialogues that go on; return what all of them leave."""
        for held in self._held:
            if not held.session.is_over:
                held.session.fail(f"{why} after {held.session.answered} answered rounds")
        return self.rows()

    def rows(self) -> Rows:
        """Return what the dialogues leave."""
        rows = Rows()
        for held in self._held:
            rows.extend(held.session.rows())
        return rows

    def _check(self, turn: Turn) -> None:
        """Raise unless every answer can be judged, and every dialogue to be opened is there and not open yet."""
        closed = {
            held.number for held in self._held if not held.is_open and not held.session.is_over
        }
        if len({*turn.open}) < len(turn.open) or not {*turn.open} <= closed:
            raise InvalidInput(
                f"turn: expected to open some of dialogues {sorted(closed)[:20]}, each once"
            )
        if not (turn.answers or turn.open or turn.failed):
            raise InvalidInput(
                "turn: expected answers, dialogues to open, or why there is nothing to say"
            )
        for answer in turn.answers:
            if answer.prediction is not None:
                held = self._held[answer.dialogue]
                name = f"the answer to dialogue {answer.dialogue}"
                try:
                    as_prediction(
                        answer.prediction, self.sample.shape, objects=held.objects, name=name
                    )
                except PredictionInvalid as error:
                    raise InvalidInput(str(error)) from error

    def _is_over_time(self, given: ChargedTurn) -> bool:
        most_s = self._phase.seconds_per_run
        return most_s is not None and given.spent_s + given.charged_s > most_s

    def _answered(self, turn: Turn, *, is_over_time: bool) -> list[_Held]:
        """Let the sessions judge what a turn answers; return these."""
        if turn.failed:
            ended = [held for held in self._held if not held.is_over]
            for held in ended:
                _give_up(held, turn.failed)
            return ended
        for answer in turn.answers:
            self._judge(self._held[answer.dialogue], answer, is_over_time=is_over_time)
        return [self._held[answer.dialogue] for answer in turn.answers]

    def _judge(self, held: _Held, answer: Answer, *, is_over_time: bool) -> None:
        session = held.session
        held.seconds = held.accrued_s
        held.accrued_s = 0.0
        held.values = {}
        before = session.answered
        if answer.prediction is None:
            _give_up(held, answer.failed)
            return
        is_paid = held.bank.pays(held.seconds) and not is_over_time
        if held.is_echoing:
            session.spend(held.seconds)
            held.is_echoing = False
            held.is_late = not is_paid or session.is_late
            held.echoed += not held.is_late
            return
        if not is_paid:
            session.drop(held.seconds)
        else:
            submit_answer(session, self._limit, answer.prediction, held.seconds)
            held.is_ours = bool(session.failure)
            held.values = session.last_values if session.answered > before else {}
        held.is_late = session.is_over and not session.failure and session.answered == before

    def _asked(
        self, touched: Sequence[_Held], new: PromptHistory, *, is_told_silence: bool
    ) -> list[DialogueReply]:
        """Return what is said to dialogues; prompts that were never given before are put into `new`."""
        going = [held.session for held in touched if not held.session.is_over]
        prepare_shared_work(going, self._limit)
        return [self._say(held, new, is_told_silence=is_told_silence) for held in touched]

    def _say(self, held: _Held, new: PromptHistory, *, is_told_silence: bool) -> DialogueReply:
        session = held.session
        rounds = list[Sequence[Prompt]]()
        while not session.is_over:
            dialogue = request_prompts(session, self._limit)
            if dialogue is None:
                held.is_ours = bool(session.failure)
                break
            rounds.append(dialogue.rounds[-1])
            held.said += 1
            if len(dialogue.rounds) > len(held.past):
                new.setdefault(held.number, []).append(dialogue.rounds[-1])
            if dialogue.rounds[-1] or is_told_silence:
                break
            submit_answer(session, self._limit, repeat_previous(session), 0.0)
        while held.has_echo and not held.is_echoing:
            rounds.append(held.past[held.said])
            held.said += 1
            held.is_echoing = bool(rounds[-1]) or is_told_silence
            held.echoed += not held.is_echoing
        return DialogueReply(
            dialogue=held.number,
            rounds=tuple(rounds),
            over=held.is_over,
            late=held.is_late,
            failed=_told_failure(held),
            objects=held.objects,
            lift=session.dialogue.lift,
            values=self._shown(held.values),
        )

    def _shown(self, values: Mapping[str, float]) -> Mapping[str, float | None] | None:
        """Return values as participants of a practice see them; in a test each of them would tell of the truth."""
        if self._phase.kind != "practice" or self._phase.shows == "prompts" or not values:
            return None
        decimals = self._phase.decimals
        return {
            name: round(value, decimals) if isfinite(value) else None
            for name, value in values.items()
        }


def _judged(held: _Held) -> DialogueStatus:
    session = held.session
    return DialogueStatus(
        number=held.number,
        target=session.target.id,
        user=session.user_name,
        repeat=session.repeat,
        rounds=session.answered,
        replayed=min(len(held.past), len(session.dialogue.rounds)),
        values=dict(held.values),
        seconds=held.seconds,
        is_over=held.is_over,
        is_late=held.is_late,
        failure=session.failure,
        heard=session.answered + held.echoed,
        repeated=min(len(held.past), held.said),
        is_given_up=held.is_given_up,
    )


def _give_up(held: _Held, message: str) -> None:
    """End a dialogue without an answer; what is said of it is the same when it had ended by the rules before."""
    held.is_given_up = True
    held.is_echoing = False
    held.is_late = False
    if not held.session.is_over:
        held.session.fail(message)


def _told_failure(held: _Held) -> str:
    if held.is_ours:
        return OUR_FAULT
    return NO_ANSWER if held.session.failure or held.is_given_up else ""


def digest_after(before: str, given: ChargedTurn) -> str:
    """Return what tells turns apart, taken one after the other: `before` is that of those before."""
    return sha256(f"{before} {given.charged_s!r} {given.spent_s!r} ", given.body)
