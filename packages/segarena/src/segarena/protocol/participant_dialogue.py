"""The participant's copy of a dialogue: prompts, answers, and scores if the phase shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from segarena.dialogue import Dialogue, Lift, Prediction
from segarena.engine.round_recorder import RecordedDialogue, RoundRecorder
from segarena.engine.rows import Rows
from segarena.prompts import MaskPrompt
from segarena.protocol.replies import DialogueReply
from segarena.protocol.turns import DialogueAnswer
from segarena.readonly import freeze
from segarena.samples import Shape, Support


class ParticipantDialogue:
    """A dialogue reconstructed from the sent turns and the received replies.

    Args:
        about: the columns that identify the dialogue in records.
        shape: shape of the sample.
        lift: rules for extending the user's prompts to other slices.
        keep_rounds: rounds whose masks are stored.

    Attributes:
        dialogue: all prompts so far and the last answer.
        is_over: whether the dialogue has ended.
        is_late: whether the last answer exceeded the time limit and was dropped.
    """

    def __init__(
        self,
        about: RecordedDialogue,
        shape: Shape,
        *,
        lift: Lift | None = None,
        keep_rounds: tuple[int, ...] = (),
    ) -> None:
        self.dialogue = Dialogue(lift=lift)
        self.is_over = False
        self.is_late = False
        self._shape = shape
        self._recorder = RoundRecorder(about, keep_rounds)

    def receive(
        self,
        reply: DialogueReply,
        sent: DialogueAnswer | None,
        seconds: float = 0.0,
    ) -> None:
        """Add a reply and the answer that was sent before it.

        Args:
            reply: reply of the server.
            sent: the answer; None if the turn opened the dialogue.
            seconds: duration of the answer.
        """
        values = _values(reply)
        self.is_over = reply.over
        self.is_late = reply.late
        if sent is not None:
            self._record(sent, reply, values, seconds)
        silent_rounds = reply.rounds if reply.over else reply.rounds[:-1]
        for _ in silent_rounds:
            # The user gave no prompt, so the previous answer counts for this round, too.
            previous = self.dialogue.previous
            if previous is None:
                previous = Prediction(self.dialogue.previous_mask(self._shape))
            self.dialogue = self.dialogue.ask(()).answer(previous)
            self._recorder.answer(self.dialogue, 0.0, values)
        if not reply.over:
            self._ask(reply)

    def rows(self) -> Rows:
        """Return the records so far."""
        return self._recorder.rows(self.dialogue)

    def _ask(self, reply: DialogueReply) -> None:
        prompts = tuple(reply.rounds[-1])
        self.dialogue = self.dialogue.ask(prompts)
        for prompt in prompts:
            if isinstance(prompt, MaskPrompt | Support):
                freeze(prompt.mask)

    def _record(
        self,
        sent: DialogueAnswer,
        reply: DialogueReply,
        values: Mapping[str, float],
        seconds: float,
    ) -> None:
        if isinstance(sent, str) or (reply.failed and reply.over):
            self._recorder.failure(self.dialogue, reply.failed or str(sent))
            self.is_over = True
            return
        if reply.late:
            self._recorder.drop(seconds)
            return
        # Record the mask that was sent. Before an interruption the dialogue may have had another
        # one.
        current = self.dialogue.previous
        if current is None:
            self.dialogue = self.dialogue.answer(sent)
        elif not _is_same(sent, current):
            self.dialogue = self.dialogue.answer(replace(current, mask=sent.mask))
        self._recorder.answer(self.dialogue, seconds, values)


def _values(reply: DialogueReply) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, value in (reply.values or {}).items():
        values[name] = float("nan") if value is None else value
    return values


def _is_same(one: Prediction, other: Prediction) -> bool:
    if one.mask.dtype != other.mask.dtype:
        return False
    return bool((one.mask == other.mask).all())
