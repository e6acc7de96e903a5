"""Are predicted seconds those of people? Their medians, and the shares at which people's seconds lie.

Of a distribution that is right, seconds lie at every share alike (the probability integral transform is uniform): a
histogram of shares that sags in the middle tells of too little spread, one that leans of a pace that is off.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.mixtures import mixture_quantile
from segarena.users.habits.prompt_time import PromptTimeModel
from segarena.users.habits.time_habits import LogNormalSeconds, TimeHabits
from segarena_people.fitting.time_fit import has_times
from segarena_people.prompts import PersonPrompt, convert_prompts


@dataclass(frozen=True, slots=True, eq=False)
class TimeCalibration:
    """Seconds of people beside what was predicted for their prompts.

    Attributes:
        seconds: from when a prompt was allowed to its end, (n,).
        predicted: for each.
    """

    seconds: NDArray[np.float64]
    predicted: Sequence[LogNormalSeconds]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Which share of the predicted distribution lies below each, (n,)."""
        pairs = zip(self.predicted, self.seconds.tolist(), strict=True)
        return np.array([one.share(took) for one, took in pairs], dtype=np.float64)

    @property
    def median_s(self) -> float:
        """The median of people; NaN without prompts."""
        return float(np.median(self.seconds)) if len(self.seconds) else math.nan

    @property
    def predicted_s(self) -> float:
        """The median that was predicted for all of them together; NaN without prompts."""
        centres = np.log([one.median for one in self.predicted])
        return mixture_quantile(centres, [max(one.spread, 1e-9) for one in self.predicted], 0.5)

    def histogram(self, bins: int = 10) -> NDArray[np.float64]:
        """Return which part of the shares lies in each of some equal bins."""
        counts, _ = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return counts / max(1, len(self.shares))

    def uniform(self) -> tuple[float, float]:
        """Return how far the shares are from uniform, and the p-value, as `ks_uniform`."""
        return ks_uniform(self.shares)


def calibrate_times(prompts: Iterable[PersonPrompt], habits: TimeHabits) -> TimeCalibration:
    """Return the seconds of prompts that have times, beside what habits predict for them."""
    rows = [prompt for prompt in prompts if has_times(prompt)]
    seconds = [prompt.points[-1].time_ms / 1000 for prompt in rows]
    return TimeCalibration(
        np.array(seconds, dtype=np.float64), [predict_seconds(prompt, habits) for prompt in rows]
    )


def predict_seconds(prompt: PersonPrompt, habits: TimeHabits) -> LogNormalSeconds:
    """Return what a prompt would take, by somebody or other, with the device that it was given with."""
    boxes = "drag" if len(prompt.meant) == 1 else "extreme"
    pointer = prompt.pointer if prompt.pointer in habits.pointers else "mouse"
    pace = PromptTimeModel(habits=habits, pointer=pointer, boxes=boxes)
    before: list[list[object]] = [[]] if prompt.round > 1 else []
    return pace.until([*before, convert_prompts(prompt)], math.hypot(prompt.width, prompt.height))[
        -1
    ]


def ks_uniform(shares: ArrayLike) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance of numbers from uniform ones between 0 and 1, and its p-value.

    The p-value takes the numbers for independent: prompts of one person are not, and look less uniform than they are.

    >>> ks_uniform([0.25, 0.75])[0]
    0.25

    Raises:
        InvalidInput: no numbers, or some outside 0 to 1.
    """
    from scipy.stats import kstest

    given = np.asarray(shares, dtype=np.float64)
    if not len(given) or not ((given >= 0) & (given <= 1)).all():
        raise InvalidInput(f"shares: expected numbers from 0 to 1, got {given.tolist()[:5]}")
    found = kstest(given, "uniform")
    return float(found.statistic), float(found.pvalue)
