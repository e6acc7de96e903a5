"""Recording of one dialogue's rows, round by round, for local and remote evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from segarena.arrays.rle import encode_rle
from segarena.dialogue import Dialogue
from segarena.engine.rows import Rows
from segarena.records.prompts import prompts_text
from segarena.records.row_types import MaskRow, PartValues, RoundRecord, Timing, attributes_text


class DialogueKey(TypedDict):
    """The columns that identify a dialogue in every table."""

    sample: str
    target: str
    user: str
    repeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDialogue:
    """Columns of a dialogue that are the same in all its rounds; `objects` is the object count of its target."""

    benchmark: str
    dataset: str
    key: DialogueKey
    label: str = ""
    attributes: Mapping[str, str | float] = field(default_factory=dict[str, str | float])
    objects: int = 1

    @property
    def name(self) -> str:
        """Name of the dialogue in error messages."""
        return f"sample {self.key['sample']}, target {self.key['target']}"


class RoundRecorder:
    """Rows of one dialogue, collected round by round.

    Args:
        about: the dialogue.
        keep_rounds: rounds after which masks are stored; the mask of the last round is always stored.

    Attributes:
        answered: number of answered rounds.
    """

    def __init__(self, about: RecordedDialogue, keep_rounds: tuple[int, ...] = ()) -> None:
        self.about = about
        self.answered = 0
        self._keep_rounds = keep_rounds
        self._attributes = attributes_text(about.attributes)
        self._rows = Rows()

    def answer(
        self,
        dialogue: Dialogue,
        seconds: float,
        values: Mapping[str, float],
        parts: Iterable[tuple[int, int, Mapping[str, float]]] = (),
    ) -> None:
        """Record an answered round: its duration, its metric values and `dialogue`, whose `previous` is the answer."""
        self.answered += 1
        key = self.about.key
        round_ = self.answered
        self._record(dialogue, values)
        self._rows.timings.append(Timing(**key, round=round_, predict_s=seconds))
        for number, frame, found in parts:
            self._rows.parts.append(
                PartValues(
                    **key,
                    round=round_,
                    object=number,
                    frame=frame,
                    values=found,
                )
            )
        if round_ in self._keep_rounds:
            self._rows.masks.extend(self._masks(dialogue))

    def drop(self, seconds: float) -> None:
        """Record only the duration in seconds of a late answer."""
        self._rows.timings.append(
            Timing(**self.about.key, round=self.answered + 1, predict_s=seconds)
        )

    def failure(self, dialogue: Dialogue, message: str) -> None:
        """Record why the last prompts have no answer, or why there are no prompts."""
        self._record(dialogue, {}, failure=" ".join(message.split()))

    def rows(self, dialogue: Dialogue) -> Rows:
        """Return all rows; the mask of the last answered round is always among them."""
        rows = Rows()
        rows.extend(self._rows)
        if self.answered and self.answered not in self._keep_rounds:
            rows.masks.extend(self._masks(dialogue))
        return rows

    def _masks(self, dialogue: Dialogue) -> list[MaskRow]:
        """Return the rows of the last prediction, one per object."""
        if dialogue.previous is None:
            return []
        last = dialogue.previous.mask
        is_single = last.dtype == np.bool_
        objects = 1 if is_single else self.about.objects
        rows: list[MaskRow] = []
        # Compare and encode object by object: the masks of ten objects of a long video take more memory than the video.
        for number in range(1, objects + 1):
            mask = last.view(np.bool_) if is_single else last == number
            row = MaskRow(
                **self.about.key,
                round=self.answered,
                object=number,
                rle=encode_rle(mask),
                shape=last.shape,
            )
            rows.append(row)
        return rows

    def _record(
        self,
        dialogue: Dialogue,
        values: Mapping[str, float],
        failure: str | None = None,
    ) -> None:
        about = self.about
        self._rows.records.append(
            RoundRecord(
                benchmark=about.benchmark,
                dataset=about.dataset,
                **about.key,
                label=about.label,
                attributes=self._attributes,
                round=len(dialogue.rounds),
                effort=dialogue.effort,
                prompts=prompts_text(dialogue.rounds[-1]),
                values=values,
                failure=failure,
            )
        )
