"""Targets ranked by difficulty, and the choice of dialogues for the gallery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


def ranked_targets(runs: Sequence[Run]) -> list[RankedTarget]:
    """Return all targets sorted by AuC, hardest (lowest) first; ties keep the order of the runs."""
    statistic = area_statistic(runs[0])
    metric = statistic.metric
    thresholds = summary_thresholds(runs[0], metric)
    threshold = thresholds[-1] if thresholds else math.inf
    scores: dict[TargetKey, list[float]] = {}
    dialogues: dict[TargetKey, list[DialogueRecord]] = {}
    for run in runs:
        for key, value in mean_over_users(run, statistic).items():
            scores.setdefault(key, []).append(value)
        for dialogue in run.finished():
            dialogues.setdefault((dialogue.sample, dialogue.target), []).append(dialogue)
    ranked = [_rank(found, dialogues[key], metric, threshold) for key, found in scores.items()]
    return sorted(ranked, key=lambda target: target.score)


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


def _rank(
    scores: Sequence[float],
    dialogues: Sequence[DialogueRecord],
    metric: str,
    threshold: float,
) -> RankedTarget:
    curves: list[tuple[DialogueRecord, list[float]]] = []
    for dialogue in dialogues:
        values = [value for value in dialogue.values_of(metric) if math.isfinite(value)]
        if values:
            curves.append((dialogue, values))
    worst, _ = min(curves, key=lambda curve: curve[1][-1])
    maxima = [max(values) for _, values in curves]
    return RankedTarget(
        score=math.fsum(scores) / len(scores),
        best=max(maxima),
        solved=sum(maximum >= threshold for maximum in maxima),
        dialogues=len(curves),
        worst_dialogue=worst,
    )
