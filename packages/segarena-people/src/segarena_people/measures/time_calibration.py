"""Calibration of predicted prompting times against those of people.

If the predicted distribution is right, the predicted probabilities of people's times are uniform
(probability integral transform). A histogram of them that sags in the middle means that the
prediction has too little spread; a slanted one means that its median is wrong.
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
    """Seconds that people took, and the predictions for the same prompts.

    Attributes:
        seconds: time from the moment a prompt was allowed until its end, (n,).
        predicted: predicted distribution for each prompt.
    """

    seconds: NDArray[np.float64]
    predicted: Sequence[LogNormalSeconds]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Predicted probability that a prompt takes at most its measured time, (n,)."""
        pairs = zip(self.predicted, self.seconds.tolist(), strict=True)
        shares: list[float] = []
        for one, took in pairs:
            shares.append(one.share(took))
        return np.array(shares, dtype=np.float64)

    @property
    def median_s(self) -> float:
        """Median time of people; NaN without prompts."""
        return float(np.median(self.seconds)) if len(self.seconds) else math.nan

    @property
    def predicted_s(self) -> float:
        """Median of the mixture of all predicted distributions; NaN without prompts."""
        centres = np.log([one.median for one in self.predicted])
        # A prediction may have zero spread, but a mixture of continuous distributions needs a
        # positive one.
        spreads = [max(one.spread, 1e-9) for one in self.predicted]
        return mixture_quantile(centres, spreads, 0.5)

    def histogram(self, bins: int = 10) -> NDArray[np.float64]:
        """Return the fraction of `shares` in each of `bins` equal bins from 0 to 1."""
        counts, _ = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return counts / max(1, len(self.shares))

    def uniform(self) -> tuple[float, float]:
        """Test whether `shares` are uniform; see `ks_uniform`."""
        return ks_uniform(self.shares)


def calibrate_times(prompts: Iterable[PersonPrompt], habits: TimeHabits) -> TimeCalibration:
    """Return the measured seconds of prompts with times, together with the predictions of `habits`."""
    rows = [prompt for prompt in prompts if has_times(prompt)]
    seconds = [prompt.points[-1].time_ms / 1000 for prompt in rows]
    predicted: list[LogNormalSeconds] = []
    for prompt in rows:
        predicted.append(predict_seconds(prompt, habits))
    return TimeCalibration(np.array(seconds, dtype=np.float64), predicted)


def predict_seconds(prompt: PersonPrompt, habits: TimeHabits) -> LogNormalSeconds:
    """Predict how long a random person takes for a prompt with its pointer; an unknown pointer counts as a mouse."""
    boxes = "drag" if len(prompt.meant) == 1 else "extreme"
    pointer = prompt.pointer if prompt.pointer in habits.pointers else "mouse"
    pace = PromptTimeModel(
        habits=habits,
        pointer=pointer,
        boxes=boxes,
    )
    # Looking takes longer or shorter for corrections than for first prompts; a preceding empty
    # round marks a correction.
    before: list[list[object]] = [[]] if prompt.round > 1 else []
    diagonal = math.hypot(prompt.width, prompt.height)
    times = pace.until([*before, convert_prompts(prompt)], diagonal)
    return times[-1]


def ks_uniform(shares: ArrayLike) -> tuple[float, float]:
    """Return the Kolmogorov-Smirnov distance between numbers and the uniform distribution on [0, 1], with p-value.

    The p-value assumes independent numbers. Prompts of the same person are dependent, so it is too
    small for them.

    >>> ks_uniform([0.25, 0.75])[0]
    0.25

    Raises:
        InvalidInput: there are no numbers, or some are outside [0, 1].
    """
    from scipy.stats import kstest

    numbers = np.asarray(shares, dtype=np.float64)
    is_share = (numbers >= 0) & (numbers <= 1)
    if not len(numbers) or not is_share.all():
        raise InvalidInput(f"shares: expected numbers from 0 to 1, got {numbers.tolist()[:5]}")
    found = kstest(numbers, "uniform")
    return float(found.statistic), float(found.pvalue)
