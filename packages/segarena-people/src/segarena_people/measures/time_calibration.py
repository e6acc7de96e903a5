"""Calibration of predicted seconds against those of people.

Under the right distribution the shares at which people's seconds lie are uniform (probability
integral transform): a histogram of shares that sags in the middle shows too little spread, one that
leans shows a wrong median.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.lognormal_mixtures import mixture_quantile
from segarena.users.habits.prompt_time import PromptTimeModel
from segarena.users.habits.time_habits import LogNormalSeconds, TimeHabits
from segarena_people.fitting.time_fit import has_times
from segarena_people.prompts import PersonPrompt, convert_prompts


@dataclass(frozen=True, slots=True, eq=False)
class TimeCalibration:
    """Seconds of people and the predictions for their prompts.

    Attributes:
        seconds: from the moment a prompt was allowed to its end, (n,).
        predicted: predicted distribution of each.
    """

    seconds: NDArray[np.float64]
    predicted: Sequence[LogNormalSeconds]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of the predicted distribution below each time, (n,)."""
        pairs = zip(self.predicted, self.seconds.tolist(), strict=True)
        return np.array([one.share(took) for one, took in pairs], dtype=np.float64)

    @property
    def median_s(self) -> float:
        """Median of people; NaN without prompts."""
        return float(np.median(self.seconds)) if len(self.seconds) else math.nan

    @property
    def predicted_s(self) -> float:
        """Median of the mixture of all predictions; NaN without prompts."""
        centres = np.log([one.median for one in self.predicted])
        return mixture_quantile(centres, [max(one.spread, 1e-9) for one in self.predicted], 0.5)

    def histogram(self, bins: int = 10) -> NDArray[np.float64]:
        """Return the part of the shares in each of some equal bins."""
        counts, _ = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return counts / max(1, len(self.shares))

    def uniform(self) -> tuple[float, float]:
        """Test whether the shares are uniform; see `ks_uniform`."""
        return ks_uniform(self.shares)


def calibrate_times(prompts: Iterable[PersonPrompt], habits: TimeHabits) -> TimeCalibration:
    """Return the seconds of the prompts that have times, with the predictions of `habits`."""
    rows = [prompt for prompt in prompts if has_times(prompt)]
    seconds = [prompt.points[-1].time_ms / 1000 for prompt in rows]
    return TimeCalibration(
        np.array(seconds, dtype=np.float64), [predict_seconds(prompt, habits) for prompt in rows]
    )


def predict_seconds(prompt: PersonPrompt, habits: TimeHabits) -> LogNormalSeconds:
    """Predict the time of a prompt by a random person with the prompt's device."""
    boxes = "drag" if len(prompt.meant) == 1 else "extreme"
    pointer = prompt.pointer if prompt.pointer in habits.pointers else "mouse"
    pace = PromptTimeModel(habits=habits, pointer=pointer, boxes=boxes)
    before: list[list[object]] = [[]] if prompt.round > 1 else []
    return pace.until([*before, convert_prompts(prompt)], math.hypot(prompt.width, prompt.height))[
        -1
    ]


def ks_uniform(shares: ArrayLike) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of numbers from the uniform distribution on 0 to 1, and its p-value.

    The p-value assumes independent numbers: prompts of one person are not, and look less uniform
    than they are.

    >>> ks_uniform([0.25, 0.75])[0]
    0.25

    Raises:
        InvalidInput: there are no numbers, or some lie outside 0 to 1.
    """
    from scipy.stats import kstest

    given = np.asarray(shares, dtype=np.float64)
    if not len(given) or not ((given >= 0) & (given <= 1)).all():
        raise InvalidInput(f"shares: expected numbers from 0 to 1, got {given.tolist()[:5]}")
    found = kstest(given, "uniform")
    return float(found.statistic), float(found.pvalue)
