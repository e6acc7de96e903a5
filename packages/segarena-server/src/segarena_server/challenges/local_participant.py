"""A participant within this process: the engine's sessions on one side, an evaluator on the other."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.lockstep import repeat_previous
from segarena.engine.rows import Rows
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.turns import Answer, Turn, pack_turn
from segarena.samples import Sample
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator


class LocalExchange:
    """The turns of a place.

    Args:
        evaluator: judges them.
        run: whose.
        place: in the run.
        dialogues: how many there are.
        past: what the team was given before about this sample.
        spent_s: what the run was charged before, about other samples.

    Attributes:
        turns: as they were sent.
        steps: what came of each.
        charged_s: for them.
        bytes_up, bytes_down: what has travelled, the sample apart.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        run: RunInfo,
        place: int,
        dialogues: int,
        past: tuple[bytes, ...] = (),
        spent_s: float = 0.0,
    ) -> None:
        self.turns: list[ChargedTurn] = []
        self.steps: list[EvaluationResult] = []
        self.charged_s = 0.0
        self.bytes_up = self.bytes_down = 0
        self._evaluator = evaluator
        self._run = run
        self._place = place
        self._past = past
        self._unopened = list(range(dialogues))
        self._queued: list[Answer] = []
        self._told: dict[int, DialogueReply] = {}
        self._sent_at = time.perf_counter()
        self._spent_before_s = spent_s

    def answer(self, answer: Answer) -> None:
        """Take an answer; it is sent with the next question."""
        self._queued.append(answer)

    def ask(self, number: int, sample: Sample) -> DialogueReply:
        """Return what comes next about a dialogue."""
        if number not in self._told:
            self.send(sample)
        return self._told.pop(number)

    def send(self, sample: Sample) -> None:
        """Send what waits, and let dialogues begin that did not."""
        answers = [answer for answer in self._queued if answer.dialogue not in self._unopened]
        turn = Turn(id=str(uuid.uuid4()), answers=answers, open=self._unopened)
        self._queued = [answer for answer in self._queued if answer not in answers]
        self._unopened = []
        body = pack_turn(turn)
        charged_s = time.perf_counter() - self._sent_at if self.steps else 0.0
        given = ChargedTurn(
            body=body, charged_s=charged_s, spent_s=self._spent_before_s + self.charged_s
        )
        before = self.steps[-1].digest if self.steps else ""
        job = EvaluationRequest(
            run=self._run, place=self._place, turns=(given,), before=before, past=self._past
        )
        done = self._evaluator.step(job)
        self.turns.append(given)
        self.steps.append(done)
        self.bytes_up = self.bytes_up + len(body)
        self.bytes_down = self.bytes_down + len(done.reply)
        self.charged_s += charged_s
        self._told |= {
            asked.dialogue: asked for asked in unpack_reply(done.reply, sample.shape).dialogues
        }
        self._sent_at = time.perf_counter()

    def settle(self, sample: Sample) -> None:
        """Send what still waits."""
        while self._queued:
            self.send(sample)


class LocalSession:
    """One dialogue, as an engine holds it that has no truth; see `segarena.engine.session_protocol.SessionLike`."""

    judges = "the evaluator"

    def __init__(
        self, exchange: LocalExchange, number: int, sample: Sample, told: Mapping[str, Any]
    ) -> None:
        self.sample = sample
        self.user_name = str(told["user"])
        self.name = f"sample {sample.id}, target {told['target']}"
        self.dialogue = Dialogue()
        self.is_over = False
        self.answered = 0
        self._objects = int(told["objects"])
        self._exchange = exchange
        self._number = number

    def next(self) -> Dialogue | None:
        """Return the dialogue with the next prompts, None at the end."""
        if self.is_over:
            return None
        asked = self._exchange.ask(self._number, self.sample)
        self.is_over = asked.over
        if self.dialogue.lift is None:
            self.dialogue = Dialogue(
                rounds=self.dialogue.rounds, previous=self.dialogue.previous, lift=asked.lift
            )
        for _ in asked.rounds if asked.over else asked.rounds[:-1]:  # nothing was said
            self.dialogue = self.dialogue.ask(()).answer(repeat_previous(self))
        if self.is_over:
            return None
        self.dialogue = self.dialogue.ask(tuple(asked.rounds[-1]))
        return self.dialogue

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Take the answer to the last prompts; what it measures is not known here."""
        prediction = as_prediction(
            answer, self.sample.shape, objects=self._objects, name=f"answer for {self.name}"
        )
        sent = Prediction(prediction.mask, candidates=prediction.candidates)
        self._exchange.answer(Answer(dialogue=self._number, prediction=sent))
        self.dialogue = self.dialogue.answer(prediction)
        self.answered += 1
        return {}

    def fail(self, message: str) -> None:
        """Say that there is no answer."""
        self._exchange.answer(Answer(dialogue=self._number, failed=message))
        self.is_over = True

    def spend(self, seconds: float) -> None:
        """Do nothing: another clock decides."""

    def rows(self) -> Rows:
        """Send what still waits; the rows are the evaluator's."""
        self._exchange.settle(self.sample)
        return Rows()
