"""Ranking of segmenters with people's prompts and with a simulated user's prompts on the same targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.statistics.bootstrap import draw_counts, percentile_interval
from segarena.statistics.correlations import kendall
from segarena.statistics.intervals import PairedDifference, bootstrap_mean, paired_difference
from segarena_people.comparison.results import Estimate

ScoreArray = NDArray[np.float64]

_DRAWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmenterRanking:
    """One statistic of several segmenters, with people's prompts and with one user's, on the same targets.

    Attributes:
        user, statistic: name of the user and of the statistic.
        higher_is_better: direction of the statistic.
        segmenters: names, in the given order.
        people, simulated: means with people and with the user.
        bias: simulated minus people.
        tau: Kendall's rank correlation of both orders; NaN for one segmenter, or if all results
            on one side are equal.
        dialogues: number of dialogues in which every segmenter has a value with people and with
            the user.
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
        """Mean bias over all segmenters."""
        return float(np.mean([one.value for one in self.bias]))

    @property
    def winners(self) -> tuple[str, str]:
        """Best segmenter with people, and best segmenter with the user."""
        return self._first(self.people), self._first(self.simulated)

    def _first(self, values: Sequence[Estimate]) -> str:
        sign = 1 if self.higher_is_better else -1
        best = int(np.argmax([sign * one.value for one in values]))
        return self.segmenters[best]


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
    """Rank segmenters with people's prompts and with the user's.

    Args:
        user: name of the user.
        statistic: name of the statistic.
        segmenters: names.
        people: values with people, (segmenters, dialogues).
        simulated: values of the same dialogues with the user; a NaN for any segmenter, here or in
            `people`, excludes the dialogue for all.
        groups: group of each dialogue; intervals are over groups.
        higher_is_better: direction of the statistic.
    """
    is_there = np.isfinite(people).all(axis=0) & np.isfinite(simulated).all(axis=0)
    own = people[:, is_there]
    other = simulated[:, is_there]
    belongs = np.unique(np.asarray(groups)[is_there], return_inverse=True)[1]
    found: list[PairedDifference] = []
    for one, two in zip(own, other, strict=True):
        found.append(paired_difference(two, one, belongs))
    return SegmenterRanking(
        user=user,
        statistic=statistic,
        higher_is_better=higher_is_better,
        segmenters=tuple(segmenters),
        people=tuple(_mean(values, belongs) for values in own),
        simulated=tuple(_mean(values, belongs) for values in other),
        bias=tuple(
            Estimate(
                value=one.difference,
                low=one.low,
                high=one.high,
            )
            for one in found
        ),
        tau=_tau(own, other, belongs),
        dialogues=int(is_there.sum()),
    )


def _mean(values: ScoreArray, belongs: NDArray[np.int64]) -> Estimate:
    found = bootstrap_mean(values, belongs)
    return Estimate(
        value=found.mean,
        low=found.low,
        high=found.high,
    )


def _tau(
    own: ScoreArray,
    other: ScoreArray,
    belongs: NDArray[np.int64],
) -> Estimate:
    """Return the rank correlation of the means with its bootstrap interval over groups."""
    count = int(belongs.max(initial=-1)) + 1
    if len(own) < 2 or not count:
        return Estimate(value=math.nan)
    seen = float(kendall(own.mean(axis=1), other.mean(axis=1)))
    # Sums per group, so that each bootstrap resample of groups is one matrix product.
    sums: list[NDArray[Any]] = []
    for side in (own, other):
        sums.append(np.stack([np.bincount(belongs, row, count) for row in side]))
    sizes = np.bincount(belongs, minlength=count).astype(np.float64)
    drawn: list[ScoreArray] = []
    for times in draw_counts(count, _DRAWS, np.random.default_rng(0)):
        means = [times @ side.T / (times @ sizes)[:, None] for side in sums]
        drawn.append(kendall(*means))
    taus = np.concatenate(drawn)
    # τ is NaN in a resample in which all segmenters are equal.
    known = taus[np.isfinite(taus)]
    if known.size:
        low, high = percentile_interval(known, 0.95)
    else:
        low = math.nan
        high = math.nan
    return Estimate(value=seen, low=low, high=high)
