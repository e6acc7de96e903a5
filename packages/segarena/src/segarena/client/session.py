"""A dialogue with a server, with the interface of `segarena.engine.session.Session` but without ground truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from segarena.client.turn_exchange import SampleExchange
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.round_recorder import RecordedDialogue
from segarena.engine.rows import Rows
from segarena.errors import PredictionInvalid, ProtocolViolation
from segarena.protocol.participant_dialogue import ParticipantDialogue
from segarena.readonly import freeze_mask
from segarena.samples import Sample
from segarena.tracebacks import without_location
from segarena.work.deadline import pause_deadline

LONGEST_WAIT_S = 6 * 3600.0
"""Maximum duration of a turn's evaluation; after it, the run considers the process to be hanging."""


class RemoteSession(ParticipantDialogue):
    """One dialogue in which a server gives the prompts and evaluates the answers.

    Args:
        exchange: the turns about the sample.
        number: index of the dialogue in the exchange.
        sample: the sample, without ground truth.
        record: description of the dialogue for the records.
        keep_rounds: rounds whose masks are stored.
        clock: seconds since a fixed moment; measures the time to answer if the caller does not. The server
            uses its own clock.

    Attributes:
        dialogue: all prompts so far, and the last answer.
        is_over: whether the dialogue has ended.
        is_late: whether the last answer exceeded the time limit and was dropped.
    """

    judges = "the server"

    def __init__(
        self,
        exchange: SampleExchange,
        number: int,
        sample: Sample,
        record: RecordedDialogue,
        *,
        keep_rounds: tuple[int, ...] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(
            record, sample.shape, lift=exchange.info.dialogues[number].lift, keep_rounds=keep_rounds
        )
        self.sample = sample
        self.user_name = record.key["user"]
        self._exchange = exchange
        self._number = number
        self._clock = clock
        self._is_asked = False
        self._asked_at = 0.0
        self._seconds = 0.0

    @property
    def name(self) -> str:
        """Name for error messages."""
        return self._recorder.about.name

    @property
    def objects(self) -> int:
        """Number of objects evaluated together."""
        return self._recorder.about.objects

    @property
    def repeat(self) -> int:
        """Index among the dialogues of its user about the target, from 0."""
        return self._recorder.about.key["repeat"]

    @property
    def has_stored_turn(self) -> bool:
        """Whether an interrupted run has already stored the next turn."""
        return self._exchange.has_stored_turn

    def stored_answer(self) -> Prediction | None:
        """Return the answer that an interrupted run stored for the current prompts, or None."""
        answer = self._exchange.stored_answer(self._number)
        return answer if isinstance(answer, Prediction) else None

    @property
    def answered(self) -> int:
        """Number of rounds that were answered and evaluated."""
        return self._recorder.answered

    def next(self) -> Dialogue | None:
        """Request the next prompts; return the dialogue, or None once it is over.

        The request also sends the answers to the other dialogues about this sample.

        Raises:
            ProtocolViolation: the previous round has no answer.
            RemoteError: the server is unreachable or rejects the request. The run can resume later.
        """
        if self._is_asked:
            raise ProtocolViolation(
                f"round {len(self.dialogue.rounds)} is not answered yet; call submit() first"
            )
        if self.is_over:
            return None
        with pause_deadline(LONGEST_WAIT_S):
            received = self._exchange.ask(self._number)
        self.receive(received.reply, received.answer, self._seconds)
        if self.is_over:
            return None
        self._is_asked = True
        self._asked_at = self._clock()
        return self.dialogue

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Queue the answer to the last prompts for the next request; returns no scores.

        Raises:
            ProtocolViolation: no prompts are waiting for an answer.
            PredictionInvalid: the answer has a wrong shape, type or content. The round stays open.
        """
        if not self._is_asked:
            raise ProtocolViolation("there are no prompts to answer; call next() first")
        elapsed_s = self._clock() - self._asked_at if seconds is None else seconds
        objects = self._recorder.about.objects
        prediction = as_prediction(
            answer, self.sample.shape, objects=objects, name=f"answer for {self.name}"
        )
        if not all(0 <= frame < self.sample.shape[0] for frame in prediction.candidates or ()):
            raise PredictionInvalid(
                f"answer for {self.name}: candidates must be frames, got {prediction.candidates}"
            )
        prediction = replace(prediction, mask=freeze_mask(prediction.mask))
        self._exchange.answer(self._number, prediction, elapsed_s)
        self.dialogue = self.dialogue.answer(prediction)
        self._seconds = elapsed_s
        self._is_asked = False
        return {}

    def fail(self, message: str) -> None:
        """End this dialogue without an answer; the next request reports this to the server."""
        if not self._is_asked:
            self.dialogue = self.dialogue.ask(())
        # File names and code of the participant are nobody else's business.
        told = without_location(message) or "no answer"
        self._exchange.answer(self._number, told)
        self._recorder.failure(self.dialogue, message)
        self._is_asked = False
        self.is_over = True

    def spend(self, seconds: float) -> None:
        """Do nothing, because the server measures the time."""

    def rows(self) -> Rows:
        """Return the records of this dialogue, after sending all answers about the sample.

        Raises:
            RemoteError: see `next`.
        """
        with pause_deadline(LONGEST_WAIT_S):
            self._exchange.settle()
        return super().rows()
