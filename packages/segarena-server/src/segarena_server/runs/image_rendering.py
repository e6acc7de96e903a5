"""What the drawing process of a server does: pictures of places and of samples. What strangers sent is read here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from segarena.engine.time_limit import TimeLimit
from segarena.errors import StoreError
from segarena.reports.gallery import make_card
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.work.deadline import this_deadline
from segarena_server.challenges.dialogue_rendering import RenderedSample
from segarena_server.challenges.dialogue_views import ExchangeLog, organiser_view, participant_view
from segarena_server.challenges.evaluation_request import EvaluationRequest
from segarena_server.challenges.evaluator import EvaluatorCache

_MOST_CHALLENGES = 2
"""So many are kept at hand, each with its datasets and users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganiserRendering:
    """Draw dialogues of a place with truth and values.

    Attributes:
        challenge: its description.
        job: the place with all its turns.
        numbers: of the dialogues.
        decimals: to which values are rounded; None as they are, which is for the organiser alone.
    """

    challenge: str
    job: EvaluationRequest
    numbers: tuple[int, ...]
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRendering:
    """Draw dialogues of a place as their participant knows them."""

    exchanged: ExchangeLog
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRendering:
    """Draw all targets of a sample, with runs side by side.

    Attributes:
        challenge: its description.
        phase: from whose pool the sample is.
        sample: its name.
        user: whose dialogues.
        runs: the folder of each, and what it is called.
    """

    challenge: str
    phase: str
    sample: str
    user: str
    runs: tuple[tuple[str, str], ...]


class TargetCard(msgspec.Struct, frozen=True, kw_only=True):
    """A target with runs side by side, as HTML, and what it is called."""

    target: str
    name: str
    viewers: list[str]


class SampleCards(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of a sample."""

    cards: list[TargetCard]


Rendering: TypeAlias = OrganiserRendering | ParticipantRendering | ComparisonRendering


@dataclass(frozen=True, slots=True)
class ImageRenderer:
    """The job of the drawing process.

    Attributes:
        soft_s: a drawing that takes longer is told to stop.
        hard_s: then the process is ended.
    """

    soft_s: float
    hard_s: float

    def open(self) -> Callable[[Rendering], bytes]:
        """Return what draws: a `ShownPlace` or `ShownCards`, as JSON."""
        return _Hand(
            TimeLimit(self.soft_s, this_deadline(), grace_s=self.hard_s - self.soft_s)
        ).draw


class _Hand:
    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._evaluators = EvaluatorCache(_MOST_CHALLENGES)

    def draw(self, drawing: Rendering) -> bytes:
        with self._limit.watch("drawing"):
            return msgspec.json.encode(self._shown(drawing))

    def _shown(self, drawing: Rendering) -> RenderedSample | SampleCards:
        match drawing:
            case OrganiserRendering():
                evaluator = self._evaluators.of(drawing.challenge)
                return organiser_view(
                    evaluator, drawing.job, drawing.numbers, decimals=drawing.decimals
                )
            case ParticipantRendering():
                return participant_view(drawing.exchanged, drawing.numbers)
            case ComparisonRendering():
                return self._side_by_side(drawing)

    def _side_by_side(self, drawing: ComparisonRendering) -> SampleCards:
        dataset = self._evaluators.of(drawing.challenge).cast(drawing.phase)[1].dataset
        runs = read_runs([folder for folder, _ in drawing.runs])
        own = page_of(
            [replace(run, label=name) for run, (_, name) in zip(runs, drawing.runs, strict=True)]
        )
        if own.pictures is None:
            return SampleCards(cards=[])
        about = {
            d.target: d
            for run in own.every_run
            for d in run.finished(drawing.user)
            if d.sample == drawing.sample
        }
        cards: list[TargetCard] = []
        for number, target in enumerate(about, 1):
            key = (drawing.sample, target, drawing.user, 0)
            card, problem = make_card(
                own, [dataset] * len(own.drawn_runs), own.pictures, key, f"target-{number}"
            )
            if card is None:
                raise StoreError(problem or f"target {target} cannot be drawn")
            cards.append(TargetCard(target=target, name=card.name, viewers=list(card.viewers)))
        return SampleCards(cards=cards)
