"""Habits of drawing boxes from what is published of people's boxes: the habits that come with segarena.

Papadopoulos et al. (Extreme clicking for efficient object annotation, ICCV 2017) hold boxes against those of the
objects' masks in PASCAL VOC 2007: a mean IoU of 88 %, and 93 % of the boxes above 0.7; boxes by extreme clicks are as
good. No normal distribution has both: with that mean, nearly no box would be below 0.7. So offsets over the side follow
Student's t, whose scale and degrees of freedom the two figures give, with a hand's few pixels on top. That most edges
are nearly right and tails are heavier than expected is what Kognic found among 14 annotators of 2 500 objects (2021).

What no paper has is ours: how far a steady hand is off on small objects (`FLOOR_PX`), and how the edges hang together.
Both are what people's outlines of one thing differ by in the training images of BSDS500; see docs/realism.md.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.users.habits.box_habits import BoxHabits, SizeClass, copula_shares
from segarena_people.fitting.box_fit import QUANTILE_LEVELS, box_iou

MEAN_IOU = 0.88
SHARE_ABOVE_07 = 0.93
FLOOR_PX = 1.2
"""Standard deviation of the offsets on the smallest objects: more than half of them are within a pixel."""

BETWEEN_PEOPLE = 0.3
"""No figures are published; see `segarena people fit boxes` for one's own."""

SIDES_PX = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
_TYPICAL_PX = 180.0
"""A side of an object in VOC, to which the published figures belong."""

_ENDS = 0.001
"""The shares of the farthest edges that are drawn: Student's t has no end."""

_ADJACENT = 0.17
_OPPOSITE = 0.06
_DRAWS = 10_000

BoxDrawing: TypeAlias = Literal["drag", "extreme"]
OffsetArray: TypeAlias = NDArray[np.float64]


def published_boxes(drawn: BoxDrawing) -> BoxHabits:
    """Return the habits of people who drag boxes from corner to corner, or click four outermost points.

    A drag places two edges at once, so edges of one box hang together; extreme clicks are independent.
    """
    near, far = (_ADJACENT, _OPPOSITE) if drawn == "drag" else (0.0, 0.0)
    correlation = np.array(
        [[1, near, far, near], [near, 1, near, far], [far, near, 1, near], [near, far, near, 1]]
    )
    tail = 10.0 if drawn == "drag" else 100.0
    shares = copula_shares(_DRAWS, correlation, tail, np.random.default_rng(0))
    people = np.exp(BETWEEN_PEOPLE * np.random.default_rng(1).standard_normal((_DRAWS, 1)))
    low = 0.8
    high = 8.0
    while (
        high - low > 1e-3
    ):  # degrees of freedom: fewer bring more boxes below 0.7 at the same mean
        freedom = (low + high) / 2
        _, above = _with_mean(_Offsets.at(shares, freedom), people)
        low, high = (freedom, high) if above < SHARE_ABOVE_07 else (low, freedom)
    scale, _ = _with_mean(_Offsets.at(shares, high), people)
    return BoxHabits(
        source=f"Papadopoulos 2017: mean IoU {MEAN_IOU}, {SHARE_ABOVE_07:.0%} above 0.7; see published_boxes.py",
        between_people=BETWEEN_PEOPLE,
        tail=tail,
        correlation=tuple(map(tuple, correlation.tolist())),
        levels=QUANTILE_LEVELS,
        sizes=tuple(_size_class(side, scale, high) for side in SIDES_PX),
    )


class _Offsets(NamedTuple):
    """Offsets over the side, in two parts: what a hand is off, and what somebody takes for the object's edge."""

    signs: OffsetArray
    of_hand: OffsetArray
    of_edge: OffsetArray

    @classmethod
    def at(cls, shares: OffsetArray, freedom: float) -> _Offsets:
        """Return them at some shares of their distributions, for a scale of 1."""
        from scipy.special import ndtri, stdtrit

        ends = np.clip(shares, _ENDS, 1 - _ENDS)
        return cls(
            np.sign(shares - 0.5),
            np.asarray(ndtri(ends), dtype=np.float64),
            np.asarray(stdtrit(freedom, ends), dtype=np.float64),
        )

    def scaled(self, side_px: float, scale: float) -> OffsetArray:
        """Return both together on a side of a length."""
        return self.signs * np.hypot(FLOOR_PX / side_px * self.of_hand, scale * self.of_edge)


def _size_class(side_px: float, scale: float, freedom: float) -> SizeClass:
    quantiles = _Offsets.at(np.asarray(QUANTILE_LEVELS), freedom).scaled(side_px, scale)
    return SizeClass(
        side_px=side_px, edges=0, quantiles=(tuple(np.maximum(quantiles, -1).round(5).tolist()),)
    )


def _with_mean(offsets: _Offsets, people: OffsetArray) -> tuple[float, float]:
    """Return the scale over the side that gives the published mean IoU, and the share above 0.7 that it gives."""
    low = 0.0
    high = 0.2
    while high - low > 1e-5:
        middle = (low + high) / 2
        mean = float(_ious(offsets, people, middle).mean())
        low, high = (middle, high) if mean > MEAN_IOU else (low, middle)
    return low, float((_ious(offsets, people, low) > 0.7).mean())


def _ious(offsets: _Offsets, people: OffsetArray, scale: float) -> OffsetArray:
    return box_iou(people * offsets.scaled(_TYPICAL_PX, scale))
