"""What the drawing process of a server does: pictures of places and of samples. What strangers sent is read here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from segarena.challenges.evaluating import EvaluatorsAtHand
from segarena.challenges.showing import Exchanged, as_heard, as_judged
from segarena.challenges.steps import StepJob
from segarena.engine.guard import TimeLimit
from segarena.work.deadline import this_deadline

_MOST_CHALLENGES = 2
"""So many are kept at hand, each with its datasets and users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawJudged:
    """Draw dialogues of a place with truth and values.

    Attributes:
        challenge: its description.
        job: the place with all its turns.
        numbers: of the dialogues.
        decimals: to which values are rounded; None as they are, which is for the organiser alone.
    """

    challenge: str
    job: StepJob
    numbers: tuple[int, ...]
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawHeard:
    """Draw dialogues of a place as their participant knows them."""

    exchanged: Exchanged
    numbers: tuple[int, ...]


Drawing: TypeAlias = DrawJudged | DrawHeard


@dataclass(frozen=True, slots=True)
class Draw:
    """The job of the drawing process.

    Attributes:
        soft_s: a drawing that takes longer is told to stop.
        hard_s: then the process is ended.
    """

    soft_s: float
    hard_s: float

    def open(self) -> Callable[[Drawing], bytes]:
        """Return what draws: a `ShownPlace` as JSON."""
        return _Hand(TimeLimit(self.soft_s, this_deadline(), grace_s=self.hard_s - self.soft_s)).draw


class _Hand:
    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._evaluators = EvaluatorsAtHand(_MOST_CHALLENGES)

    def draw(self, drawing: Drawing) -> bytes:
        with self._limit.watch("drawing"):
            match drawing:
                case DrawJudged():
                    evaluator = self._evaluators.of(drawing.challenge)
                    shown = as_judged(evaluator, drawing.job, drawing.numbers, decimals=drawing.decimals)
                case DrawHeard():
                    shown = as_heard(drawing.exchanged, drawing.numbers)
        return msgspec.json.encode(shown)
