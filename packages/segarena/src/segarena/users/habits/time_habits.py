"""Time habits: log-normal distributions of the time that people take to look, move, press and draw.

Each act has a median and a spread, which is the standard deviation of the logarithm. The time of a
round or dialogue is a sum of acts, approximated by the log-normal distribution with the mean and
variance of the sum (Fenton and Wilkinson). The median time of a movement is `a + b log2(D / W + 1)`
(Fitts), where D is the distance from the last prompt and W the width of the target area.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import msgspec

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class LogNormalSeconds:
    """Log-normally distributed time in seconds; a median of 0 means exactly 0 seconds."""

    median: float
    spread: float

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        return self.median * math.exp(self.spread**2 / 2)

    @property
    def variance(self) -> float:
        """Variance of the distribution."""
        return self.mean**2 * math.expm1(self.spread**2)

    def quantile(self, share: float) -> float:
        """Return the time in seconds that is not exceeded with the probability `share`."""
        return self.median * math.exp(self.spread * _NORMAL.inv_cdf(share))

    def share(self, seconds: float) -> float:
        """Return the probability that the time is at most `seconds`."""
        # With a median or a spread of 0 the time is constant, and its distribution function is a
        # step.
        if seconds <= 0 or self.median <= 0 or self.spread <= 0:
            return float(seconds >= self.median)
        deviations = math.log(seconds / self.median) / self.spread
        return _NORMAL.cdf(deviations)

    def wider(self, spread: float) -> LogNormalSeconds:
        """Return the time multiplied by an independent log-normal factor with median 1 and this spread."""
        return LogNormalSeconds(self.median, math.hypot(self.spread, spread))


NO_TIME = LogNormalSeconds(0.0, 0.0)


def sum_seconds(parts: Iterable[LogNormalSeconds]) -> LogNormalSeconds:
    """Return the log-normal distribution that has the mean and variance of a sum of independent times.

    >>> sum_seconds([LogNormalSeconds(2.0, 0.0), LogNormalSeconds(3.0, 0.0)])
    LogNormalSeconds(median=5.0, spread=0.0)
    """
    times = list(parts)
    mean = math.fsum(time.mean for time in times)
    variance = math.fsum(time.variance for time in times)
    if not mean:
        return NO_TIME
    # Fenton and Wilkinson: solve the formulas for mean and variance for spread and median.
    spread = math.sqrt(math.log1p(variance / mean**2))
    median = mean / math.exp(spread**2 / 2)
    return LogNormalSeconds(median, spread)


class ActTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time of one act, with the origin of its numbers."""

    median_s: float
    spread: float
    source: str = ""

    @property
    def seconds(self) -> LogNormalSeconds:
        """Distribution of the time."""
        return LogNormalSeconds(self.median_s, self.spread)


class PointerSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Speed of pointing and dragging with a device: Fitts' a and b for each, and the spread of single movements.

    No movement takes less than `least_s`, because a straight line through the published points is
    negative for the easiest movements.
    """

    point_a_s: float
    point_b_s: float
    drag_a_s: float
    drag_b_s: float
    least_s: float
    spread: float
    source: str = ""

    def point(self, way: float, width: float) -> LogNormalSeconds:
        """Return the time of moving over the distance `way` to an area of size `width`, both in the same unit."""
        return self._move(self.point_a_s, self.point_b_s, way, width)

    def drag(self, way: float, width: float) -> LogNormalSeconds:
        """Return the time of dragging over the distance `way` to an area of size `width`; otherwise like `point`."""
        return self._move(self.drag_a_s, self.drag_b_s, way, width)

    def _move(
        self,
        a_s: float,
        b_s: float,
        way: float,
        width: float,
    ) -> LogNormalSeconds:
        difficulty = math.log2(way / width + 1)
        fitts_s = a_s + b_s * difficulty
        return LogNormalSeconds(max(self.least_s, fitts_s), self.spread)


class TimeHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times of all acts in a population.

    Attributes:
        source: origin of the numbers.
        between_people: spread of a person's factor, which multiplies all of their times.
        look: time until the hand moves: "first" at a new target, "another" for a further prompt in
            a round, "correction" after a prediction.
        press: a click, or the press that starts a stroke.
        adjust: correction of the edges of a dragged box.
        outline: drawing a whole mask by hand.
        scroll: scrolling to the next relevant slice or frame.
        draw_per_s: speed of a stroke, in picture diagonals per second.
        draw_spread: spread of that speed.
        aim: width of the area that a click must hit, as a share of the picture's diagonal.
        aim_edge: the same width for a corner, or an outermost point, of a box.
        pointers: speeds by device: mouse, touch, pen.
    """

    source: str
    between_people: float
    look: dict[str, ActTime]
    press: ActTime
    adjust: ActTime
    outline: ActTime
    scroll: ActTime
    draw_per_s: float
    draw_spread: float
    draw_source: str = ""
    aim: float
    aim_edge: float
    pointers: dict[str, PointerSpeed]
