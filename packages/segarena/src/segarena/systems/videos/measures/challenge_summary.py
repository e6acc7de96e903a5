"""Summary of a timed video challenge: quality against time, the area under the curve, the value after a minute.

Missing interactions of a sample keep the last quality and take no time; before the first answer
quality is 0. Quality is a mean over objects, so samples weigh by their objects; time is a mean over
samples. Intervals resample whole sequences, since the samples of one sequence are dependent.

Source: DAVIS Interactive Challenge, "Evaluation". "published" below says where its package differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.statistics.bootstrap import draw_counts, percentile_interval, tail_shares
from segarena.systems.videos.measures.challenge_report import SampleScore

Values: TypeAlias = NDArray[np.float64]

THRESHOLD_S = 60.0
"""Time at which the challenge reads the curve."""


_GRID_POINTS = 61


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEnd:
    """End of the curve.

    Attributes:
        seconds_per_object: time limit of a sample per object; None without a limit.
        protocol: "careful": the curve ends at that limit for the mean number of objects of the counted samples, or at
            the end of the last interaction without a limit; the rest is cut off. "published": it ends at the limit for
            the mean number of objects of the sequences, or at the number of interactions times the
            longest single one; nothing is cut off, so the area beyond the end is negative, and it
            is divided by the latest time.
    """

    seconds_per_object: float | None = None
    protocol: Protocol = "careful"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoSummary:
    """Quality against time.

    Attributes:
        auc: area under the curve, divided by its last time; 0 if no time passed.
        at_threshold: quality at `threshold_s`, linearly interpolated between the points of the
            curve.
        threshold_s: in seconds.
        time_s: times of the curve: 0, the mean time after each interaction, the end.
        quality: values of the curve: 0, the mean after each interaction, the last one again.
        samples: number of counted samples.
        planned: number of all samples.
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
        """Quality after each interaction."""
        return self.quality[1:-1]

    def to_json(self, name: str = "J_AND_F") -> dict[str, Any]:
        """Return the published summary: the curve, its area, and the value at the threshold, not rounded."""
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

    A missing interaction has the quality of the one before and took 0 seconds; before the first
    answer all are 0.
    """
    quality = np.zeros((score.objects, rounds))
    seconds = np.zeros(rounds)
    last: Values = np.zeros(score.objects)
    for index in range(rounds):
        if index < score.quality.shape[1]:
            answered = score.quality[:, index]
            is_missing = np.isnan(answered).any() or np.isnan(score.seconds[index])
            if not is_missing:
                last = answered
                seconds[index] = score.seconds[index]
        quality[:, index] = last
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
    """Summarize quality against time over all samples.

    Args:
        scores: of every sample that was begun; one without an answer counts 0.
        rounds: largest number of interactions; by default that of any sample, 1 if none had any.
        horizon: end of the curve; by default there is no time limit.
        not_run: the samples that were not begun.
        counts_not_run: whether these count 0; by default only as published.
        threshold_s: time at which the curve is read.

    Raises:
        InvalidInput: `rounds` below 1.
    """
    end = horizon or CurveEnd()
    if counts_not_run is None:
        counts_not_run = end.protocol == "published"
    counted = [*scores, *not_run] if counts_not_run else list(scores)
    sums = _SequenceSums.of(counted, _round_count(scores, rounds))
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
    """Return bootstrap intervals of the summary of `scores`; NaN with fewer than two sequences.

    Arguments are as for `video_summary`; samples that were not begun do not count. Sequences are
    drawn `repeats` times, and `level` of the draws lie inside an interval: the draws of
    `segarena.statistics.intervals.bootstrap_mean`, so that where objects and samples have the same
    mean, they have the same interval. The grid of times ends at `until_s`, or with the curve.
    """
    end = horizon or CurveEnd()
    sums = _SequenceSums.of(scores, _round_count(scores, rounds))
    count = len(sums.samples)
    if until_s is None:
        grid_end_s = float(sums.curve(np.ones(count), end).time_s.max())
    else:
        grid_end_s = until_s
    grid: Values = np.linspace(0, grid_end_s, _GRID_POINTS)
    curves: list[_Curve] = []
    if count > 1:
        rng = np.random.default_rng(seed)
        for weights in np.concatenate(list(draw_counts(count, repeats, rng))):
            curves.append(sums.curve(weights, end))

    def bounds(values: list[Values], length: int) -> Values:
        if values:
            return np.quantile(values, tail_shares(level), axis=0)
        return np.full((2, length), np.nan)

    areas = [curve.area() for curve in curves]
    at_threshold = [curve.at(threshold_s) for curve in curves]
    by_round = [curve.quality[1:-1] for curve in curves]
    by_time = [np.interp(grid, curve.time_s, curve.quality) for curve in curves]
    return VideoIntervals(
        auc=percentile_interval(areas, level),
        at_threshold=percentile_interval(at_threshold, level),
        by_round=bounds(by_round, sums.quality.shape[1]),
        time_s=grid,
        by_time=bounds(by_time, len(grid)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    time_s: Values
    quality: Values

    def area(self) -> float:
        """Return the area under the curve (trapezoids), divided by the latest time."""
        latest_s = float(self.time_s.max())
        if not latest_s:
            return 0.0
        doubled_means = self.quality[1:] + self.quality[:-1]
        areas = np.diff(self.time_s) * doubled_means / 2
        return float(areas.sum()) / latest_s

    def at(self, threshold_s: float) -> float:
        return float(np.interp(threshold_s, self.time_s, self.quality))


@dataclass(frozen=True, slots=True, eq=False)
class _SequenceSums:
    """Sums over the samples of each sequence, sufficient for a mean over any draw of sequences.

    Attributes:
        quality: (sequences, rounds), summed over objects and samples.
        seconds: (sequences, rounds), summed over samples.
        objects: (sequences,), summed over samples.
        samples: (sequences,), number of samples.
        of_sequence: (sequences,), number of objects of the sequence.
        longest: (sequences,), time of the longest interaction.
    """

    quality: Values
    seconds: Values
    objects: Values
    samples: Values
    of_sequence: Values
    longest: Values

    @classmethod
    def of(cls, scores: Sequence[SampleScore], rounds: int) -> _SequenceSums:
        names = list(dict.fromkeys(score.sequence for score in scores)) or [""]
        count = len(names)
        sums = cls(
            quality=np.zeros((count, rounds)),
            seconds=np.zeros((count, rounds)),
            objects=np.zeros(count),
            samples=np.zeros(count),
            of_sequence=np.zeros(count),
            longest=np.zeros(count),
        )
        for score in scores:
            row = names.index(score.sequence)
            quality, seconds = fill_missing_rounds(score, rounds)
            sums.quality[row] += quality.sum(axis=0)
            sums.seconds[row] += seconds
            sums.objects[row] += score.objects
            sums.samples[row] += 1
            sums.of_sequence[row] = score.objects
            sums.longest[row] = max(sums.longest[row], seconds.max())
        return sums

    def curve(self, weights: Values, end: CurveEnd) -> _Curve:
        """Return the curve over sequences with these weights."""
        objects = max(weights @ self.objects, 1.0)
        samples = max(weights @ self.samples, 1.0)
        mean_quality = weights @ self.quality / objects
        mean_seconds = np.cumsum(weights @ self.seconds / samples)
        quality: Values = np.concatenate([[0.0], mean_quality])
        time_s: Values = np.concatenate([[0.0], mean_seconds])
        end_s = self._end_s(weights, float(time_s[-1]), end)
        if end.protocol == "careful":
            at_end = np.interp(end_s, time_s, quality)
            quality = np.where(time_s > end_s, at_end, quality)
            time_s = np.minimum(time_s, end_s)
        return _Curve(np.append(time_s, end_s), np.append(quality, quality[-1]))

    def _end_s(self, weights: Values, last_s: float, end: CurveEnd) -> float:
        """Return the time at which the curve ends, see `CurveEnd`."""
        rounds = self.quality.shape[1]
        if end.seconds_per_object is None:
            if end.protocol == "careful":
                return last_s
            return float(self.longest[weights > 0].max()) * rounds
        if end.protocol == "careful":
            objects = float(weights @ self.objects) / max(float(weights @ self.samples), 1.0)
        else:
            objects = float(weights @ self.of_sequence / weights.sum())
        return end.seconds_per_object * objects


def _round_count(scores: Sequence[SampleScore], rounds: int | None) -> int:
    if rounds is not None and rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    if rounds:
        return rounds
    return max([1, *(score.quality.shape[1] for score in scores)])
