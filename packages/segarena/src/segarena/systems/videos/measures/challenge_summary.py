"""Summary of a timed video challenge: quality against time, area under the curve, and quality after a minute.

A missing interaction keeps the last quality and takes no time; before the first prediction, quality
is 0. Quality is a mean over objects, so samples are weighted by their number of objects; time is a
mean over samples. Bootstrap intervals resample whole sequences, because the samples of one sequence
are dependent.

Source: DAVIS Interactive Challenge, "Evaluation". Below, "published" marks where its package
differs.
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

# The challenge calls the value at this time "J_60s", although it is J&F.
THRESHOLD_S = 60.0
"""Time in seconds at which the challenge reads the curve."""


_GRID_POINTS = 61


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveEnd:
    """Rule for the end of the quality-against-time curve.

    Attributes:
        seconds_per_object: time limit of a sample per object; None without a limit.
        protocol: "careful" ends the curve at the time limit for the mean number of objects of the
            counted samples, or, without a limit, at the end of the last interaction; the rest is
            cut off. "published" ends it at the limit for the mean number of objects of the
            sequences, or, without a limit, at the number of interactions times the longest single
            one. It cuts nothing off, so the area beyond the end is negative, and it divides by the
            latest time.
    """

    seconds_per_object: float | None = None
    protocol: Protocol = "careful"


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class VideoSummary:
    """Quality against time.

    Attributes:
        auc: area under the curve, divided by its latest time; 0 if no time passed.
        at_threshold: quality at `threshold_s`, linearly interpolated between the points of the
            curve.
        threshold_s: the time of `at_threshold` in seconds.
        time_s: times of the curve: 0, the mean time up to the end of each interaction, and the end
            of the curve.
        quality: values of the curve: 0, the mean after each interaction, and the last value again.
        samples: number of counted samples.
        planned: number of all samples, including those that were not started.
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
        """Quality after each interaction; beyond the end of a careful curve, quality at its end."""
        return self.quality[1:-1]

    def to_json(self, name: str = "J_AND_F") -> dict[str, Any]:
        """Return the summary in the format of davisinteractive: curve, area and value at the threshold, not rounded."""
        return {
            "auc": self.auc,
            "metric_at_threshold": {"threshold": self.threshold_s, name: self.at_threshold},
            "curve": {"time": self.time_s.tolist(), name: self.quality.tolist()},
        }


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class VideoIntervals:
    """Bootstrap intervals of a `VideoSummary`, (low, high) along the first axis; `by_time` belongs to `time_s`."""

    auc: tuple[float, float]
    at_threshold: tuple[float, float]
    by_round: Values
    time_s: Values
    by_time: Values


def fill_missing_rounds(score: SampleScore, rounds: int) -> tuple[Values, Values]:
    """Return quality (objects, rounds) and seconds (rounds,) with gaps filled in.

    A missing interaction repeats the quality of the previous one and takes 0 seconds; before the
    first prediction, all values are 0.
    """
    quality = np.zeros((score.objects, rounds))
    seconds = np.zeros(rounds)
    # Before the first prediction, quality is 0, as in the published summary.
    last: Values = np.zeros(score.objects)
    for index in range(rounds):
        if index < score.quality.shape[1]:
            answered = score.quality[:, index]
            is_missing = np.isnan(answered).any() or np.isnan(score.seconds[index])
            # A missing interaction repeats the previous quality and takes no time.
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
        scores: scores of all samples that were started; a sample without a prediction counts 0.
        rounds: maximum number of interactions; by default the maximum over the samples, at least 1.
        horizon: rule for the end of the curve; by default there is no time limit.
        not_run: the samples that were not started.
        counts_not_run: whether these samples count 0; by default only under the published protocol.
        threshold_s: time at which the curve is read.

    Raises:
        InvalidInput: `rounds` below 1.
    """
    end = horizon or CurveEnd()
    if counts_not_run is None:
        # The published summary counts samples that were never started as failed.
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
    """Return bootstrap intervals for the summary of `scores`; NaN with fewer than two sequences.

    The arguments are those of `video_summary`; samples that were not started are ignored. Sequences
    are resampled `repeats` times, and an interval contains the share `level` of the resamples. The
    resamples are those of `segarena.statistics.intervals.bootstrap_mean`, so means over objects and
    over samples that are equal also have equal intervals. The grid of times ends at `until_s`, by
    default at the end of the curve.
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
        """Return the area under the curve (trapezoidal rule), divided by the latest time."""
        latest_s = float(self.time_s.max())
        if not latest_s:
            return 0.0
        # Trapezoids, as published.
        doubled_means = self.quality[1:] + self.quality[:-1]
        areas = np.diff(self.time_s) * doubled_means / 2
        return float(areas.sum()) / latest_s

    def at(self, threshold_s: float) -> float:
        return float(np.interp(threshold_s, self.time_s, self.quality))


@dataclass(frozen=True, slots=True, eq=False)
class _SequenceSums:
    """Sums over the samples of each sequence, which suffice to compute means over any resample of sequences.

    Attributes:
        quality: (sequences, rounds), quality summed over objects and samples.
        seconds: (sequences, rounds), time summed over samples.
        objects: (sequences,), number of objects summed over samples.
        samples: (sequences,), number of samples.
        of_sequence: (sequences,), number of objects in each sequence.
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
        # Sequences are resampled instead of samples, because the samples of one sequence share its
        # video.
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
            # Needed only for the published end of a curve without a time limit.
            sums.longest[row] = max(sums.longest[row], seconds.max())
        return sums

    def curve(self, weights: Values, end: CurveEnd) -> _Curve:
        """Return the curve over sequences, weighted by how often each was resampled."""
        objects = max(weights @ self.objects, 1.0)
        samples = max(weights @ self.samples, 1.0)
        mean_quality = weights @ self.quality / objects
        mean_seconds = np.cumsum(weights @ self.seconds / samples)
        # The published curve starts at 0 s with quality 0, before any prediction.
        quality: Values = np.concatenate([[0.0], mean_quality])
        time_s: Values = np.concatenate([[0.0], mean_seconds])
        # As in the published code, quality is averaged over objects but time over samples, so
        # sequences with many objects have more weight in quality only.
        end_s = self._end_s(weights, float(time_s[-1]), end)
        if end.protocol == "careful":
            at_end = np.interp(end_s, time_s, quality)
            quality = np.where(time_s > end_s, at_end, quality)
            time_s = np.minimum(time_s, end_s)
        return _Curve(np.append(time_s, end_s), np.append(quality, quality[-1]))

    def _end_s(
        self,
        weights: Values,
        last_s: float,
        end: CurveEnd,
    ) -> float:
        """Return the time at which the curve ends (see `CurveEnd`)."""
        rounds = self.quality.shape[1]
        if end.seconds_per_object is None:
            if end.protocol == "careful":
                return last_s
            # Published behaviour: the area therefore depends on the slowest interaction of the
            # session.
            return float(self.longest[weights > 0].max()) * rounds
        if end.protocol == "careful":
            objects = float(weights @ self.objects) / max(float(weights @ self.samples), 1.0)
        else:
            # Published behaviour: a mean over sequences, so a sequence with three people's
            # scribbles counts once.
            objects = float(weights @ self.of_sequence / weights.sum())
        return end.seconds_per_object * objects


def _round_count(scores: Sequence[SampleScore], rounds: int | None) -> int:
    if rounds is not None and rounds < 1:
        raise InvalidInput(f"rounds: expected at least 1, got {rounds}")
    if rounds:
        return rounds
    return max([1, *(score.quality.shape[1] for score in scores)])
