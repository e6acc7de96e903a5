"""Parts of benchmark rules: statistics over rounds, and time budgets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A number over the rounds of one dialogue: "NoC@90", "IoU@5", "AuC".

    Attributes:
        name: as printed.
        kind: a registered kind of `segarena.statistics.round_statistics`: "noc", "auc", "at_round", ...
        metric: the column it reads.
        threshold: for "noc" and "nof".
        round: for "at_round".
        higher_is_better: which way is good.
    """

    name: str
    kind: str
    metric: str = "iou"
    threshold: float = 0.9
    round: int = 1
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget:
    """Time budget for answering, over all rounds of one dialogue.

    Attributes:
        seconds_per_object: seconds for each object of the target.
        counts_judging: whether the time for evaluation and prompts counts too.
    """

    seconds_per_object: float
    counts_judging: bool = False
