"""One dialogue as its participant knows it: prompts, answers, and values where a phase shows them."""

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
    """What was said in one dialogue, by turns and replies.

    Args:
        about: what records say of it.
        shape: of the sample.
        lift: how the user means prompts to be spread over slices.
        keep_rounds: after which rounds masks are kept.

    Attributes:
        dialogue: all prompts so far and the last answer.
        is_over: no further prompts will come.
        is_late: the last answer came when the time was over, and was dropped.
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
        self.is_over = self.is_late = False
        self._shape = shape
        self._kept = RoundRecorder(about, keep_rounds)

    def hear(
        self, asked: DialogueReply, answered: DialogueAnswer | None, seconds: float = 0.0
    ) -> None:
        """Take what came back, the answer that was sent before it, None when it was opened, and what that took."""
        values = _values(asked)
        self.is_over = asked.over
        self.is_late = asked.late
        if answered is not None:
            self._keep(answered, asked, values, seconds)
        for _ in asked.rounds if asked.over else asked.rounds[:-1]:  # the user had nothing to say
            before = self.dialogue.previous or Prediction(self.dialogue.previous_mask(self._shape))
            self.dialogue = self.dialogue.ask(()).answer(before)
            self._kept.answer(self.dialogue, 0.0, values)
        if not asked.over:
            self.dialogue = self.dialogue.ask(tuple(asked.rounds[-1]))
            for prompt in self.dialogue.rounds[-1]:
                if isinstance(prompt, MaskPrompt | Support):
                    freeze(prompt.mask)

    def heard_rows(self) -> Rows:
        """Return what records have of it so far."""
        return self._kept.rows(self.dialogue)

    def _keep(
        self,
        answered: DialogueAnswer,
        asked: DialogueReply,
        values: Mapping[str, float],
        seconds: float,
    ) -> None:
        """Keep the round that was answered, by what was sent: before a kill that may have been another mask."""
        if answered.prediction is None or (asked.failed and asked.over):
            self._kept.failure(self.dialogue, asked.failed or answered.failed)
            self.is_over = True
            return
        if asked.late:
            self._kept.drop(seconds)
            return
        sent = answered.prediction
        now = self.dialogue.previous
        if now is None or not _is_same(sent, now):
            self.dialogue = self.dialogue.answer(
                sent if now is None else replace(now, mask=sent.mask)
            )
        self._kept.answer(self.dialogue, seconds, values)


def _values(asked: DialogueReply) -> dict[str, float]:
    return {
        name: float("nan") if value is None else value
        for name, value in (asked.values or {}).items()
    }


def _is_same(one: Prediction, other: Prediction) -> bool:
    return one.mask.dtype == other.mask.dtype and bool((one.mask == other.mask).all())
