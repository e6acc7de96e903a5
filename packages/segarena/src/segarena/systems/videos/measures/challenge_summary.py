"""The result of a timed video challenge: quality against time, the area under it, the value after a minute.

Interactions that a sample did not get to hold the last quality and cost no time; before the first answer there is
nothing. Quality is a mean over objects, so that a sample counts by its objects; time is a mean over samples. Intervals
draw whole sequences, since the samples of one sequence are alike.

Source: DAVIS Interactive Challenge, "Evaluation". Its package differs in what "published" says below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.statistics.bootstrap import percentile_interval, tails, times_drawn
from segarena.systems.videos.measures.challenge_report import SampleScore

Values: TypeAlias = NDArray[np.float64]

THRESHOLD_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEnd:
    """Where the curve ends.

    Attributes:
        seconds_per_object: of the time that a sample had; None where it had no limit.
        protocol: "careful": the end is that time for the mean number of objects of the samples counted, or the end
            of the last interaction when there is no limit; what lies behind is cut off. "published": for the mean
            number of objects of the sequences, or the number of interactions times the longest single one; nothing is
            cut off, so that behind the end the area turns negative, and it is divided by the latest time.
    """

    seconds_per_object: float | None = None
    protocol: Protocol = "careful"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoSummary:
    """Quality against time.

    Attributes:
        auc: the area under the curve, divided by its last time; 0 when no time passed at all.
        at_threshold: the quality at `threshold_s`, on straight lines between the points of the curve.
        threshold_s: in seconds.
        time_s: of the points of the curve: 0, the mean time after each interaction, the end.
        quality: of the points: 0, the mean after each interaction, the last one again.
        samples: how many samples were counted.
        planned: how many there are.
    """

    auc: float
    at_threshold: float
    threshold_s: float
    time_s: Values
    quality: Values
    samples: int
    planned: int

    @property
    def by_round(self) -> Values:
        """The quality after each interaction."""
        return self.quality[1:-1]

    def to_json(self, name: str = "J_AND_F") -> dict[str, Any]:
        """Return it as the published summary: the curve, its area, and the value at the threshold, unrounded."""
        return {
            "auc": self.auc,
            "metric_at_threshold": {"threshold": self.threshold_s, name: self.at_threshold},
            "curve": {"time": self.time_s.tolist(), name: self.quality.tolist()},
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoIntervals:
    """Bootstrap intervals of a `VideoSummary`, (low, high); `by_time` is at `time_s`, a grid over the curve's times."""

    auc: tuple[float, float]
    at_threshold: tuple[float, float]
    by_round: Values
    time_s: Values
    by_time: Values


def fill_missing_rounds(score: SampleScore, rounds: int) -> tuple[Values, Values]:
    """Return quality (objects, rounds) and seconds (rounds,) without gaps.

    A missing interaction has the quality of the one before and took 0 seconds; before the first answer all are 0.
    """
    quality = np.zeros((score.objects, rounds))
    seconds = np.zeros(rounds)
    last: Values = np.zeros(score.objects)
    for number in range(rounds):
        answered = number < score.quality.shape[1]
        given = score.quality[:, number] if answered else last
        if answered and not (np.isnan(given).any() or np.isnan(score.seconds[number])):
            last, seconds[number] = given, score.seconds[number]
        quality[:, number] = last
    return quality, seconds


def video_summary(
    scores: Sequence[SampleScore],
    *,
    rounds: int | None = None,
    horizon: CurveEnd | None = None,
    not_run: Sequence[SampleScore] = (),
    counts_not_run: bool | None = None,
    threshold_s: float = THRESHOLD_S,
) -> VideoSummary:
    """Return quality against time over all samples.

    Args:
        scores: of every sample that was begun; one without an answer counts 0.
        rounds: the most interactions; by default the most that any sample had, 1 when none had any.
        horizon: where the curve ends; by default there is no limit of time.
        not_run: the samples that were not begun.
        counts_not_run: whether these count 0; by default only as published.
        threshold_s: where the curve is read.

    Raises:
        InvalidInput: `rounds` below 1.
    """
    end = horizon or CurveEnd()
    is_counted = end.protocol == "published" if counts_not_run is None else counts_not_run
    counted = [*scores, *(not_run if is_counted else ())]
    sums = _Sums.of(counted, _rounds(scores, rounds))
    curve = sums.curve(np.ones(len(sums.samples)), end)
    return VideoSummary(
        auc=curve.area(),
        at_threshold=curve.at(threshold_s),
        threshold_s=threshold_s,
        time_s=curve.time_s,
        quality=curve.quality,
        samples=len(counted),
        planned=len(scores) + len(not_run),
    )


def video_intervals(
    scores: Sequence[SampleScore],
    *,
    rounds: int | None = None,
    horizon: CurveEnd | None = None,
    threshold_s: float = THRESHOLD_S,
    until_s: float | None = None,
    repeats: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> VideoIntervals:
    """Return how sure the summary of `scores` is; NaN with fewer than two sequences.

    Arguments are as for `video_summary`; samples that were not begun are not counted. Sequences are drawn `repeats`
    times, and `level` of the draws lie inside an interval: the draws of `segarena.statistics.intervals.bootstrap_mean`,
    so that where objects and samples have one mean, it has one interval. The grid of times ends at `until_s`, or with
    the curve.
    """
    end = horizon or CurveEnd()
    sums = _Sums.of(scores, _rounds(scores, rounds))
    count = len(sums.samples)
    last_s = sums.curve(np.ones(count), end).time_s.max() if until_s is None else until_s
    grid: Values = np.linspace(0, last_s, 61)
    rng = np.random.default_rng(seed)
    curves: list[_Curve] = []
    if count > 1:
        draws = np.concatenate(list(times_drawn(count, repeats, rng)))
        curves = [sums.curve(times, end) for times in draws]

    def bounds(values: list[Values], length: int) -> Values:
        if values:
            return np.quantile(values, tails(level), axis=0)
        return np.full((2, length), np.nan)

    return VideoIntervals(
        auc=percentile_interval([c.area() for c in curves], level),
        at_threshold=percentile_interval([c.at(threshold_s) for c in curves], level),
        by_round=bounds([c.quality[1:-1] for c in curves], sums.quality.shape[1]),
        time_s=grid,
        by_time=bounds([np.interp(grid, c.time_s, c.quality) for c in curves], len(grid)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    time_s: Values
    quality: Values

    def area(self) -> float:
        latest = float(self.time_s.max())
        steps = np.diff(self.time_s) * (self.quality[1:] + self.quality[:-1]) / 2
        return float(steps.sum()) / latest if latest else 0.0

    def at(self, threshold_s: float) -> float:
        return float(np.interp(threshold_s, self.time_s, self.quality))


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over the samples of each sequence: all that a mean over any draw of sequences needs."""

    quality: Values
    seconds: Values
    objects: Values
    samples: Values
    of_sequence: Values
    longest: Values

    @classmethod
    def of(cls, scores: Sequence[SampleScore], rounds: int) -> _Sums:
        names = list(dict.fromkeys(score.sequence for score in scores)) or [""]
        quality = np.zeros((len(names), rounds))
        seconds = np.zeros((len(names), rounds))
        objects, samples, of_sequence, longest = (np.zeros(len(names)) for _ in range(4))
        for score in scores:
            place = names.index(score.sequence)
            each, took = fill_missing_rounds(score, rounds)
            quality[place] += each.sum(axis=0)
            seconds[place] += took
            objects[place] += score.objects
            samples[place] += 1
            of_sequence[place] = score.objects
            longest[place] = max(longest[place], took.max())
        return cls(quality, seconds, objects, samples, of_sequence, longest)

    def curve(self, weights: Values, horizon: CurveEnd) -> _Curve:
        """Return the curve over sequences that count `weights` times."""
        means = weights @ self.quality / max(weights @ self.objects, 1.0)
        quality: Values = np.concatenate([[0.0], means])
        spent = np.cumsum(weights @ self.seconds / max(weights @ self.samples, 1.0))
        time_s: Values = np.concatenate([[0.0], spent])
        end_s = self._end_s(weights, float(time_s[-1]), horizon)
        if horizon.protocol == "careful":
            at_end = np.interp(end_s, time_s, quality)
            quality = np.where(time_s > end_s, at_end, quality)
            time_s = np.minimum(time_s, end_s)
        return _Curve(np.append(time_s, end_s), np.append(quality, quality[-1]))

    def _end_s(self, weights: Values, last_s: float, horizon: CurveEnd) -> float:
        if horizon.seconds_per_object is None:
            if horizon.protocol == "careful":
                return last_s
            return float(self.longest[weights > 0].max()) * self.quality.shape[1]
        if horizon.protocol == "careful":
            objects = float(weights @ self.objects) / max(float(weights @ self.samples), 1.0)
        else:
            objects = float(weights @ self.of_sequence / weights.sum())
        return horizon.seconds_per_object * objects


def _rounds(scores: Sequence[SampleScore], rounds: int | None) -> int:
    if rounds is not None and rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    return rounds or max([1, *(score.quality.shape[1] for score in scores)])
