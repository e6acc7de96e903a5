"""Rendering of images for pages, in a process of its own. Uploads of participants are parsed there."""

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

_MAX_CHALLENGES = 2
"""Evaluators that the process caches, each with its datasets and users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganiserRendering:
    """Dialogues about a sample with truth and values.

    Attributes:
        challenge: its description as JSON.
        job: the sample with all its turns.
        numbers: of the dialogues.
        decimals: to which values are rounded; None for exact values, which are for the organiser alone.
    """

    challenge: str
    job: EvaluationRequest
    numbers: tuple[int, ...]
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRendering:
    """Dialogues about a sample as their participant knows them."""

    exchanged: ExchangeLog
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRendering:
    """All targets of a sample, with the answers of several runs side by side.

    Attributes:
        challenge: its description as JSON.
        phase: from whose pool the sample is.
        sample: its name.
        user: whose dialogues.
        runs: the folder and the label of each run.
    """

    challenge: str
    phase: str
    sample: str
    user: str
    runs: tuple[tuple[str, str], ...]


class TargetCard(msgspec.Struct, frozen=True, kw_only=True):
    """A target with the answers of several runs, as HTML."""

    target: str
    name: str
    viewers: list[str]


class SampleCards(msgspec.Struct, frozen=True, kw_only=True):
    """The targets of a sample."""

    cards: list[TargetCard]


Rendering: TypeAlias = OrganiserRendering | ParticipantRendering | ComparisonRendering


@dataclass(frozen=True, slots=True)
class ImageRenderer:
    """The job of the rendering process.

    Attributes:
        soft_s: a rendering is interrupted after so long.
        hard_s: its process is ended after so long.
    """

    soft_s: float
    hard_s: float

    def open(self) -> Callable[[Rendering], bytes]:
        """Return the function that renders a `RenderedSample` or `SampleCards`, as JSON."""
        limit = TimeLimit(self.soft_s, this_deadline(), grace_s=self.hard_s - self.soft_s)
        return _RenderingProcess(limit).render


class _RenderingProcess:
    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._evaluators = EvaluatorCache(_MAX_CHALLENGES)

    def render(self, rendering: Rendering) -> bytes:
        with self._limit.watch("drawing"):
            return msgspec.json.encode(self._rendered(rendering))

    def _rendered(self, rendering: Rendering) -> RenderedSample | SampleCards:
        match rendering:
            case OrganiserRendering():
                evaluator = self._evaluators.of(rendering.challenge)
                return organiser_view(
                    evaluator, rendering.job, rendering.numbers, decimals=rendering.decimals
                )
            case ParticipantRendering():
                return participant_view(rendering.exchanged, rendering.numbers)
            case ComparisonRendering():
                return self._compared(rendering)

    def _compared(self, rendering: ComparisonRendering) -> SampleCards:
        _, cast = self._evaluators.of(rendering.challenge).cast(rendering.phase)
        folders = [folder for folder, _ in rendering.runs]
        labels = [label for _, label in rendering.runs]
        runs = [
            replace(run, label=label) for run, label in zip(read_runs(folders), labels, strict=True)
        ]
        page = page_of(runs)
        if page.pictures is None:
            return SampleCards(cards=[])
        targets: dict[str, None] = {}
        for run in page.every_run:
            for dialogue in run.finished(rendering.user):
                if dialogue.sample == rendering.sample:
                    targets[dialogue.target] = None
        datasets = [cast.dataset] * len(page.drawn_runs)
        cards: list[TargetCard] = []
        for number, target in enumerate(targets, start=1):
            key = (rendering.sample, target, rendering.user, 0)
            card, problem = make_card(page, datasets, page.pictures, key, f"target-{number}")
            if card is None:
                raise StoreError(problem or f"target {target} cannot be drawn")
            cards.append(TargetCard(target=target, name=card.name, viewers=list(card.viewers)))
        return SampleCards(cards=cards)
