"""How many seconds of a person prompts take: to look and decide, to move, to press, to draw; as distributions.

Each act has a median and a spread, the standard deviation of the logarithm. What a round or a dialogue takes is a sum
of acts, again described by a log-normal distribution: the one with the sum's mean and variance (Fenton and Wilkinson).
Moving takes `a + b log2(D / W + 1)` in the median (Fitts), D being the way from the last prompt and W how wide the
place is that will do.
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
    """A log-normal number of seconds; a median of 0 is no time at all."""

    median: float
    spread: float

    @property
    def mean(self) -> float:
        """The mean."""
        return self.median * math.exp(self.spread**2 / 2)

    @property
    def variance(self) -> float:
        """The variance."""
        return self.mean**2 * math.expm1(self.spread**2)

    def quantile(self, share: float) -> float:
        """Return the seconds that a share of all prompts takes at most."""
        return self.median * math.exp(self.spread * _NORMAL.inv_cdf(share))

    def share(self, seconds: float) -> float:
        """Return the share of all prompts that take at most so many seconds."""
        if not (seconds > 0 and self.median > 0 and self.spread > 0):
            return float(seconds >= self.median)
        return _NORMAL.cdf(math.log(seconds / self.median) / self.spread)

    def wider(self, spread: float) -> LogNormalSeconds:
        """Return these seconds times an independent factor of median 1 with a spread."""
        return LogNormalSeconds(self.median, math.hypot(self.spread, spread))


NO_TIME = LogNormalSeconds(0.0, 0.0)


def sum_seconds(parts: Iterable[LogNormalSeconds]) -> LogNormalSeconds:
    """Return what independent acts take together: the log-normal distribution with their mean and variance.

    >>> in_all([Seconds(2.0, 0.0), Seconds(3.0, 0.0)])
    Seconds(median=5.0, spread=0.0)
    """
    known = list(parts)
    mean = math.fsum(one.mean for one in known)
    variance = math.fsum(one.variance for one in known)
    if not mean:
        return NO_TIME
    spread = math.sqrt(math.log1p(variance / mean**2))
    return LogNormalSeconds(mean / math.exp(spread**2 / 2), spread)


class ActTime(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an act takes, and where that is from."""

    median_s: float
    spread: float
    source: str = ""

    @property
    def seconds(self) -> LogNormalSeconds:
        """The distribution."""
        return LogNormalSeconds(self.median_s, self.spread)


class PointerSpeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How quickly somebody points and drags with a device: Fitts' a and b of each, and the spread of single movements.

    The least that a movement takes is `least_s`: a straight line through the published points is negative for the
    easiest ones.
    """

    point_a_s: float
    point_b_s: float
    drag_a_s: float
    drag_b_s: float
    least_s: float
    spread: float
    source: str = ""

    def point(self, way: float, width: float) -> LogNormalSeconds:
        """Return what moving over `way` to a place `width` wide takes; both in the same unit."""
        return self._move(self.point_a_s, self.point_b_s, way, width)

    def drag(self, way: float, width: float) -> LogNormalSeconds:
        """Return the same with the button held down."""
        return self._move(self.drag_a_s, self.drag_b_s, way, width)

    def _move(self, a_s: float, b_s: float, way: float, width: float) -> LogNormalSeconds:
        return LogNormalSeconds(
            max(self.least_s, a_s + b_s * math.log2(way / width + 1)), self.spread
        )


class TimeHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long people take.

    Attributes:
        source: where the numbers come from.
        between_people: spread of a person's factor, by which all that they do takes longer.
        look: until the hand moves: "first" at a new target, "another" for a further prompt of a round, "correction" at
            an answer.
        press: a click, or the press that begins a stroke.
        adjust: correcting the edges of a box that was dragged.
        outline: a whole mask, drawn by hand.
        scroll: to the next slice or frame that is wanted.
        draw_per_s: of a stroke, how much of the picture's diagonal is drawn in a second.
        draw_spread: the spread of that.
        aim: how wide the place is that a click may fall in, as a share of the picture's diagonal.
        aim_edge: the same of a corner, or an outermost point, of a box.
        pointers: by name: mouse, touch, pen.
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
