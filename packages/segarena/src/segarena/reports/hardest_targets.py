"""Targets ranked by difficulty, and the choice of dialogues for the gallery."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from segarena.benchmark_rules import Statistic
from segarena.reports.chart_series import area_statistic
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueId, DialogueRecord
from segarena.reports.run_statistics import TargetKey, mean_over_users, summary_thresholds

MAX_FAILED_CARDS = 12
"""Maximum number of failed dialogues in the gallery, unless it shows all dialogues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTarget:
    """A target with statistics over all runs, users and repeats.

    Attributes:
        score: mean AuC.
        best: highest metric value of any dialogue.
        solved: number of dialogues that reached the highest threshold of the summary.
        dialogues: number of finished dialogues.
        worst_dialogue: the dialogue with the lowest final value.
    """

    score: float
    best: float
    solved: int
    dialogues: int
    worst_dialogue: DialogueRecord

    @property
    def key(self) -> TargetKey:
        """Sample and target."""
        return self.worst_dialogue.key[:2]

    @property
    def label(self) -> str:
        """Label of the target."""
        return self.worst_dialogue.label

    @property
    def worst(self) -> DialogueId:
        """Id of the dialogue with the lowest final value."""
        return self.worst_dialogue.key


class _RankedTargets(Sequence[RankedTarget]):
    """Targets in order, hardest first, as columns.

    An object for each target of a large run would take a twentieth of the memory of its page.
    """

    def __init__(self, scores: Sequence[float]) -> None:
        count = len(scores)
        self._scores = array("d", scores)
        self._best = array("d", [-math.inf]) * count
        self._lowest = array("d", [math.inf]) * count
        self._solved = array("q", [0]) * count
        self._dialogues = array("q", [0]) * count
        self._worst: list[DialogueRecord | None] = [None] * count

    def add(
        self, place: int, dialogue: DialogueRecord, values: Sequence[float], threshold: float
    ) -> None:
        """Count a finished dialogue about the target at this place, with its finite values by round."""
        best = max(values)
        self._best[place] = max(self._best[place], best)
        self._solved[place] += best >= threshold
        self._dialogues[place] += 1
        # The first of several dialogues with the same final value counts as the worst.
        if self._worst[place] is None or values[-1] < self._lowest[place]:
            self._lowest[place] = values[-1]
            self._worst[place] = dialogue

    def __len__(self) -> int:
        """Number of targets."""
        return len(self._worst)

    @overload
    def __getitem__(self, index: int) -> RankedTarget: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RankedTarget]: ...

    def __getitem__(self, index: int | slice) -> RankedTarget | Sequence[RankedTarget]:
        """Build a target, or several."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        worst = self._worst[index]
        # A score needs finite values, so every target has a dialogue with some.
        if worst is None:
            raise ValueError(f"target {index} has a score, but no dialogue with finite values")
        return RankedTarget(
            score=self._scores[index],
            best=self._best[index],
            solved=self._solved[index],
            dialogues=self._dialogues[index],
            worst_dialogue=worst,
        )


def ranked_targets(runs: Sequence[Run]) -> Sequence[RankedTarget]:
    """Return all targets sorted by AuC, hardest (lowest) first; ties keep the order of the runs."""
    statistic = area_statistic(runs[0])
    metric = statistic.metric
    thresholds = summary_thresholds(runs[0], metric)
    threshold = thresholds[-1] if thresholds else math.inf
    scores = _mean_scores(runs, statistic)
    order = sorted(scores, key=scores.__getitem__)
    ranked = _RankedTargets([scores[key] for key in order])
    places = {key: place for place, key in enumerate(order)}
    for run in runs:
        for dialogue in run.finished():
            place = places.get((dialogue.sample, dialogue.target))
            values = [value for value in dialogue.values_of(metric) if math.isfinite(value)]
            if place is not None and values:
                ranked.add(place, dialogue, values, threshold)
    return ranked


def _mean_scores(runs: Sequence[Run], statistic: Statistic) -> Mapping[TargetKey, float]:
    """Return the mean of a statistic over the runs and their users, for each target with one."""
    if len(runs) == 1:
        return mean_over_users(runs[0], statistic)
    scores: dict[TargetKey, list[float]] = {}
    for run in runs:
        for key, value in mean_over_users(run, statistic).items():
            scores.setdefault(key, []).append(value)
    return {key: math.fsum(found) / len(found) for key, found in scores.items()}


def gallery_keys(
    targets: Sequence[RankedTarget],
    *,
    hardest: int,
    others: int,
) -> list[DialogueId]:
    """Return the worst dialogues of the hardest targets, then of others spread evenly over difficulty."""
    rest = targets[hardest:]
    count = min(others, len(rest))
    chosen = list(targets[:hardest])
    for number in range(count):
        position = number * (len(rest) - 1) / max(1, count - 1)
        chosen.append(rest[round(position)])
    return [target.worst for target in chosen]


def failed_dialogue_keys(runs: Sequence[Run]) -> list[DialogueId]:
    """Return the first failed dialogue of each target and user over all runs.

    A failed sample counts as one dialogue with an empty target and user.
    """
    found: dict[tuple[str, str, str], DialogueId] = {}
    for run in runs:
        for dialogue in run.failures:
            found.setdefault(dialogue.key[:3], dialogue.key)
    return list(found.values())
