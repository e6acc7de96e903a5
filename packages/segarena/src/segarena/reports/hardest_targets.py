"""Which targets were hard, and which dialogues the gallery shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from segarena.reports.chart_series import area_statistic
from segarena.reports.recorded_run import DialogueId, DialogueRecord, Run
from segarena.reports.run_statistics import TargetKey, mean_over_users, summary_thresholds

MAX_FAILED_CARDS = 12
"""Failed dialogues that the gallery shows, unless it shows all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTarget:
    """A target over all runs, users and repeats.

    Attributes:
        score: its mean AuC.
        best: the highest value any dialogue reached.
        solved: dialogues that reached the benchmark's highest threshold.
        dialogues: those that finished.
        worst: the one with the lowest last value.
    """

    key: TargetKey
    label: str
    score: float
    best: float
    solved: int
    dialogues: int
    worst: DialogueId


def ranked_targets(runs: Sequence[Run]) -> list[RankedTarget]:
    """Return all targets, the hardest (lowest AuC) first; equal ones in the order of the first run."""
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
    ranked = [_rank(key, found, dialogues[key], metric, threshold) for key, found in scores.items()]
    return sorted(ranked, key=lambda target: target.score)


def gallery_keys(targets: Sequence[RankedTarget], *, hardest: int, others: int) -> list[DialogueId]:
    """Return the worst dialogue of the hardest targets, then of others spread evenly from hard to easy."""
    rest = targets[hardest:]
    count = min(others, len(rest))
    spread = [rest[round(i * (len(rest) - 1) / max(1, count - 1))] for i in range(count)]
    return [target.worst for target in [*targets[:hardest], *spread]]


def failed_dialogue_keys(runs: Sequence[Run]) -> list[DialogueId]:
    """Return what went wrong in any run: the first dialogue of each target and user, or a sample as a whole."""
    found: dict[tuple[str, str, str], DialogueId] = {}
    for run in runs:
        for dialogue in run.failures:
            found.setdefault(dialogue.key[:3], dialogue.key)
    return list(found.values())


def _rank(
    key: TargetKey,
    scores: Sequence[float],
    dialogues: Sequence[DialogueRecord],
    metric: str,
    threshold: float,
) -> RankedTarget:
    known = ((d, list(filter(math.isfinite, d.values_of(metric)))) for d in dialogues)
    curves = [(dialogue, values) for dialogue, values in known if values]
    worst = min(curves, key=lambda pair: pair[1][-1])[0]
    return RankedTarget(
        key=key,
        label=dialogues[0].label,
        score=math.fsum(scores) / len(scores),
        best=max(max(values) for _, values in curves),
        solved=sum(max(values) >= threshold for _, values in curves),
        dialogues=len(curves),
        worst=worst.key,
    )
