"""One dialogue with a server: the same calls as `segarena.engine.session.Session`, without the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from segarena.client.sample_exchange import SampleExchange
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.round_recorder import RecordedDialogue
from segarena.engine.rows import Rows
from segarena.errors import PredictionInvalid, ProtocolViolation
from segarena.protocol.participant_dialogue import ParticipantDialogue
from segarena.protocol.turns import DialogueAnswer
from segarena.readonly import settled
from segarena.samples import Sample
from segarena.work.deadline import pause_deadline

LONGEST_WAIT_S = 6 * 3600.0
"""So long a server may take to judge one turn before the processes of a run are thought to hang."""


class RemoteSession(ParticipantDialogue):
    """The rounds of one dialogue, with a server as user and judge.

    Args:
        place: the sample's turns.
        number: of the dialogue there.
        sample: without truth.
        about: what records say of it.
        keep_rounds: after which rounds masks are kept.
        clock: seconds since some fixed moment; measures the time to answer when nobody else does. The server goes by
            its own.

    Attributes:
        dialogue: all prompts so far and the last answer.
        is_over: no further prompts will come.
        is_late: the last answer came when the time was over, and was dropped.
    """

    judges = "the server"

    def __init__(
        self,
        place: SampleExchange,
        number: int,
        sample: Sample,
        about: RecordedDialogue,
        *,
        keep_rounds: tuple[int, ...] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(
            about, sample.shape, lift=place.told.dialogues[number].lift, keep_rounds=keep_rounds
        )
        self.sample = sample
        self.user_name = about.key["user"]
        self._place = place
        self._number = number
        self._clock = clock
        self._is_asked = False
        self._asked_at = self._seconds = 0.0

    @property
    def name(self) -> str:
        """What errors call it."""
        return self._recorder.about.name

    @property
    def objects(self) -> int:
        """How many objects are judged together."""
        return self._recorder.about.objects

    @property
    def repeat(self) -> int:
        """The number of this dialogue among its user's about the target, from 0."""
        return self._recorder.about.key["repeat"]

    @property
    def was_sent(self) -> bool:
        """Whether the next question was asked before, by a run that was stopped."""
        return self._place.was_sent

    def said_before(self) -> Prediction | None:
        """Return what was answered to these prompts before, by a run that was stopped; None when nothing was."""
        answer = self._place.said_before(self._number)
        return None if answer is None else answer.prediction

    @property
    def answered(self) -> int:
        """Rounds that have been answered, and judged."""
        return self._recorder.answered

    def next(self) -> Dialogue | None:
        """Ask the server for the next prompts; return the dialogue to answer, None at the end.

        What was answered about the other dialogues of this sample is sent with the question.

        Raises:
            ProtocolViolation: the round before has not been answered.
            RemoteError: the server is not reached, or refuses. The same run goes on later where it was.
        """
        if self._is_asked:
            raise ProtocolViolation(
                f"round {len(self.dialogue.rounds)} is not answered yet; call submit() first"
            )
        if self.is_over:
            return None
        with pause_deadline(LONGEST_WAIT_S):
            heard = self._place.ask(self._number)
        self.receive(heard.asked, heard.answered, self._seconds)
        if self.is_over:
            return None
        self._is_asked = True
        self._asked_at = self._clock()
        return self.dialogue

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Take the answer to the last prompts; it is sent and judged with the next question, so nothing is returned.

        Raises:
            ProtocolViolation: no prompts are waiting for an answer.
            PredictionInvalid: the answer has the wrong shape, type or content. The round stays open.
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
        prediction = replace(prediction, mask=settled(prediction.mask))
        self._place.answer(DialogueAnswer(dialogue=self._number, prediction=prediction), elapsed_s)
        self.dialogue = self.dialogue.answer(prediction)
        self._seconds = elapsed_s
        self._is_asked = False
        return {}

    def fail(self, message: str) -> None:
        """Tell the server that there is no answer, with the next question; that ends this dialogue."""
        if not self._is_asked:
            self.dialogue = self.dialogue.ask(())
        self._place.answer(DialogueAnswer(dialogue=self._number, failed=message or "no answer"))
        self._recorder.failure(self.dialogue, message)
        self._is_asked = False
        self.is_over = True

    def spend(self, seconds: float) -> None:
        """Do nothing: the server's clock decides."""

    def rows(self) -> Rows:
        """Return what this dialogue leaves, once the server has all answers about the sample.

        Raises:
            RemoteError: as `next`.
        """
        with pause_deadline(LONGEST_WAIT_S):
            self._place.settle()
        return super().rows()
