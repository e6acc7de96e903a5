"""Ranking of segmenters with people's prompts and with a simulated user's, on the same targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.statistics.bootstrap import draw_counts, percentile_interval
from segarena.statistics.correlations import kendall
from segarena.statistics.intervals import bootstrap_mean, paired_difference
from segarena_people.comparison.results import Estimate

ScoreArray = NDArray[np.float64]

_DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterRanking:
    """Statistic of several segmenters with people's prompts and with one user's, on the same targets.

    Attributes:
        user, statistic: their names.
        higher_is_better: direction of the statistic.
        segmenters: names, in the order given.
        people, simulated: means with people and with the user.
        bias: simulated minus people.
        tau: Kendall's rank correlation of both orders; NaN for one segmenter, or where all are
            equal.
        dialogues: number of dialogues that both sides have.
    """

    user: str
    statistic: str
    higher_is_better: bool
    segmenters: tuple[str, ...]
    people: tuple[Estimate, ...]
    simulated: tuple[Estimate, ...]
    bias: tuple[Estimate, ...]
    tau: Estimate
    dialogues: int

    @property
    def mean_bias(self) -> float:
        """Mean bias over segmenters."""
        return float(np.mean([one.value for one in self.bias]))

    @property
    def winners(self) -> tuple[str, str]:
        """Best segmenter with people, and with the user."""
        return self._first(self.people), self._first(self.simulated)

    def _first(self, values: Sequence[Estimate]) -> str:
        sign = 1 if self.higher_is_better else -1
        return self.segmenters[int(np.argmax([sign * one.value for one in values]))]


def rank_segmenters(
    user: str,
    statistic: str,
    segmenters: Sequence[str],
    people: ScoreArray,
    simulated: ScoreArray,
    groups: Sequence[Any] | NDArray[Any],
    *,
    higher_is_better: bool = True,
) -> SegmenterRanking:
    """Rank segmenters on both sides.

    Args:
        user: name of the user.
        statistic: name of the statistic.
        segmenters: names.
        people: values with people, (segmenters, dialogues).
        simulated: the same dialogues with the user; NaN on either side leaves a dialogue out of
            all.
        groups: group of each dialogue; intervals are over groups.
        higher_is_better: of the statistic.
    """
    is_there = np.isfinite(people).all(axis=0) & np.isfinite(simulated).all(axis=0)
    own = people[:, is_there]
    other = simulated[:, is_there]
    belongs = np.unique(np.asarray(groups)[is_there], return_inverse=True)[1]
    found = [paired_difference(two, one, belongs) for one, two in zip(own, other, strict=True)]
    return SegmenterRanking(
        user=user,
        statistic=statistic,
        higher_is_better=higher_is_better,
        segmenters=tuple(segmenters),
        people=tuple(_mean(values, belongs) for values in own),
        simulated=tuple(_mean(values, belongs) for values in other),
        bias=tuple(Estimate(value=one.difference, low=one.low, high=one.high) for one in found),
        tau=_tau(own, other, belongs),
        dialogues=int(is_there.sum()),
    )


def _mean(values: ScoreArray, belongs: NDArray[np.int64]) -> Estimate:
    found = bootstrap_mean(values, belongs)
    return Estimate(value=found.mean, low=found.low, high=found.high)


def _tau(own: ScoreArray, other: ScoreArray, belongs: NDArray[np.int64]) -> Estimate:
    """Return the rank correlation of the means, with its bootstrap interval over groups."""
    count = int(belongs.max(initial=-1)) + 1
    if len(own) < 2 or not count:
        return Estimate(value=math.nan)
    seen = float(kendall(own.mean(axis=1), other.mean(axis=1)))
    sums = [np.stack([np.bincount(belongs, row, count) for row in side]) for side in (own, other)]
    sizes = np.bincount(belongs, minlength=count).astype(np.float64)
    drawn: list[ScoreArray] = []
    for times in draw_counts(count, _DRAWS, np.random.default_rng(0)):
        means = [times @ side.T / (times @ sizes)[:, None] for side in sums]
        drawn.append(kendall(*means))
    taus = np.concatenate(drawn)
    low, high = (
        percentile_interval(taus[np.isfinite(taus)], 0.95)
        if np.isfinite(taus).any()
        else (math.nan, math.nan)
    )
    return Estimate(value=seen, low=low, high=high)
