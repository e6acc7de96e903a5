"""A participant in this process that exchanges turns with an evaluator directly instead of over the network."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.lockstep_dialogues import repeat_previous
from segarena.engine.rows import Rows
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.turns import DialogueAnswer, TurnHeader, pack_turn
from segarena.samples import Sample
from segarena_server.challenges.evaluation_request import (
    ChargedTurn,
    EvaluationRequest,
    EvaluationResult,
    RunInfo,
)
from segarena_server.challenges.evaluator import Evaluator


class LocalExchange:
    """Turns about one sample, each encoded and decoded as for the network.

    Args:
        evaluator: evaluates the turns.
        run: run of the turns.
        place: index of the sample in the run.
        dialogues: number of dialogues.
        past: prompts that the team received about this sample in earlier runs.
        spent_s: seconds charged for other samples of the run.

    Attributes:
        turns: the sent turns.
        results: result of each turn.
        charged_s: seconds charged for all turns.
        bytes_up, bytes_down: total size of all turns and of all replies.
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
        self.results: list[EvaluationResult] = []
        self.charged_s = 0.0
        self.bytes_up = 0
        self.bytes_down = 0
        self._evaluator = evaluator
        self._run = run
        self._place = place
        self._past = past
        self._unopened = list(range(dialogues))
        self._queued: dict[int, DialogueAnswer] = {}
        self._replies: dict[int, DialogueReply] = {}
        self._sent_at = time.perf_counter()
        self._spent_before_s = spent_s

    def answer(self, dialogue: int, answer: DialogueAnswer) -> None:
        """Queue the answer to a dialogue; the next turn sends it."""
        self._queued[dialogue] = answer

    def next_reply(self, number: int, sample: Sample) -> DialogueReply:
        """Return the next reply to a dialogue; send a turn if necessary."""
        if number not in self._replies:
            self.send(sample)
        return self._replies.pop(number)

    def send(self, sample: Sample) -> None:
        """Send the queued answers, and open all dialogues that are not open yet."""
        # An answer to a dialogue that this turn opens must wait for the next turn.
        to_send = {
            number: answer
            for number, answer in self._queued.items()
            if number not in self._unopened
        }
        body = pack_turn(TurnHeader(id=str(uuid.uuid4()), open=self._unopened), to_send)
        for number in to_send:
            del self._queued[number]
        self._unopened = []
        charged_s = time.perf_counter() - self._sent_at if self.results else 0.0
        spent_s = self._spent_before_s + self.charged_s
        charged = ChargedTurn(body=body, charged_s=charged_s, spent_s=spent_s)
        request = EvaluationRequest(
            run=self._run,
            place=self._place,
            turns=(charged,),
            before=self.results[-1].digest if self.results else "",
            past=self._past,
        )
        result = self._evaluator.evaluate(request)
        self.turns.append(charged)
        self.results.append(result)
        self.bytes_up += len(body)
        self.bytes_down += len(result.reply)
        self.charged_s += charged_s
        for reply in unpack_reply(result.reply, sample.shape):
            self._replies[reply.dialogue] = reply
        self._sent_at = time.perf_counter()

    def flush(self, sample: Sample) -> None:
        """Send all queued answers."""
        while self._queued:
            self.send(sample)


class LocalSession:
    """One dialogue without the ground truth, with the interface `segarena.engine.session_protocol.SessionLike`.

    Args:
        exchange: sends the turns of the dialogue.
        number: index of the dialogue.
        sample: the sample without truth.
        described: the dialogue as `PackedSample.dialogues` describes it.
    """

    judges = "the evaluator"

    def __init__(
        self,
        exchange: LocalExchange,
        number: int,
        sample: Sample,
        described: Mapping[str, Any],
    ) -> None:
        self.sample = sample
        self.user_name = str(described["user"])
        self.name = f"sample {sample.id}, target {described['target']}"
        self.dialogue = Dialogue()
        self.is_over = False
        self.answered = 0
        self._objects = int(described["objects"])
        self._exchange = exchange
        self._number = number

    def next(self) -> Dialogue | None:
        """Return the dialogue with the next prompts, or None at the end."""
        if self.is_over:
            return None
        reply = self._exchange.next_reply(self._number, self.sample)
        self.is_over = reply.over
        if self.dialogue.lift is None:
            self.dialogue = Dialogue(
                rounds=self.dialogue.rounds, previous=self.dialogue.previous, lift=reply.lift
            )
        # The evaluator answered the rounds without prompts with the previous mask.
        silent = reply.rounds if reply.over else reply.rounds[:-1]
        for _ in silent:
            self.dialogue = self.dialogue.ask(()).answer(repeat_previous(self))
        if self.is_over:
            return None
        self.dialogue = self.dialogue.ask(tuple(reply.rounds[-1]))
        return self.dialogue

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Queue the answer to the last prompts; return no metrics, because the evaluator does not reveal them."""
        name = f"answer for {self.name}"
        prediction = as_prediction(answer, self.sample.shape, objects=self._objects, name=name)
        sent = Prediction(prediction.mask, candidates=prediction.candidates)
        self._exchange.answer(self._number, sent)
        self.dialogue = self.dialogue.answer(prediction)
        self.answered += 1
        return {}

    def fail(self, message: str) -> None:
        """Report that the participant has no answer."""
        self._exchange.answer(self._number, message)
        self.is_over = True

    def spend(self, seconds: float) -> None:
        """Do nothing, because the exchange measures the time itself."""

    def rows(self) -> Rows:
        """Send all queued answers; return no rows, because the evaluator has them."""
        self._exchange.flush(self.sample)
        return Rows()
