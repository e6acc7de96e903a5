"""Rendering of images for pages, in a separate process that also parses participants' uploads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import msgspec

from segarena.engine.time_limit import TimeLimit
from segarena.errors import StoreError
from segarena.reports.dialogue_gallery import make_card
from segarena.reports.pages import page_of
from segarena.reports.recorded_run import read_runs
from segarena.work.deadline import this_deadline
from segarena_server.challenges.dialogue_rendering import RenderedSample
from segarena_server.challenges.dialogue_views import ExchangeLog, organiser_view, participant_view
from segarena_server.challenges.evaluation_request import EvaluationRequest
from segarena_server.challenges.evaluator import EvaluatorCache

_MAX_CHALLENGES = 2
"""Maximum number of evaluators that the process caches, each with its datasets and users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganiserRendering:
    """A request for dialogues about a sample, with their ground truth and metrics.

    Attributes:
        job: the sample with all its turns.
        numbers: indices of the dialogues.
        decimals: decimals of the metrics; None for exact values, which only organisers may see.
    """

    job: EvaluationRequest
    numbers: tuple[int, ...]
    decimals: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRendering:
    """A request for dialogues about a sample, with only the data that their participant knows."""

    exchanged: ExchangeLog
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRendering:
    """A request for all targets of a sample, with the answers of several runs side by side.

    Attributes:
        challenge: description of the challenge as JSON.
        phase: phase whose pool contains the sample.
        sample: name of the sample.
        user: name of the user whose dialogues are shown.
        runs: folder and label of each run.
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
        soft_s: seconds after which a rendering is interrupted.
        hard_s: seconds after which its process is killed.
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
                evaluator = self._evaluators.of(rendering.job.challenge)
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
            anchor = f"target-{number}"
            # The pages show these viewers to participants, who must not learn names of the dataset.
            public_key = ("", anchor, rendering.user, 0)
            card, problem = make_card(
                page, datasets, page.pictures, key, anchor, public_key=public_key
            )
            if card is None:
                raise StoreError(problem or f"target {target} cannot be rendered")
            cards.append(TargetCard(target=target, name=card.name, viewers=list(card.viewers)))
        return SampleCards(cards=cards)
