"""Building blocks of benchmark rules: statistics over rounds, and time budgets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A statistic over the rounds of one dialogue: "NoC@90", "IoU@5", "AuC".

    Attributes:
        name: the name shown in tables.
        kind: a registered kind of `segarena.statistics.round_statistics`: "noc", "auc", "at_round", ...
        metric: the column to read.
        threshold: value of the metric at which a dialogue is solved, for "noc", "nof", "solved" and "restricted_noc".
        round: the round of "at_round"; the last round that counts for "solved" and "restricted_noc".
        higher_is_better: whether larger values are better.
    """

    name: str
    kind: str
    metric: str = "iou"
    threshold: float = 0.9
    round: int = 1
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBudget:
    """Time budget for all predictions of one dialogue.

    Attributes:
        seconds_per_object: seconds per object of the target.
        counts_judging: whether the time for scoring and for computing prompts counts too.
    """

    seconds_per_object: float
    counts_judging: bool = False
