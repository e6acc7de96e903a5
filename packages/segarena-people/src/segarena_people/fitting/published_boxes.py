"""Box errors derived from published figures: the defaults that ship with segarena.

Papadopoulos et al. (Extreme clicking for efficient object annotation, ICCV 2017) compare human
boxes with the tight boxes of object masks in PASCAL VOC 2007: the mean IoU is 88 %, and 93 % of the
boxes exceed 0.7; boxes from extreme clicks are equally accurate. No normal distribution matches
both figures: with that mean, almost no box would be below 0.7. We therefore model relative offsets
(offset divided by side) with Student's t distribution, whose scale and degrees of freedom follow
from the two figures, and add a hand error of a few pixels. Kognic (2021), with 14 annotators and 2
500 objects, also reports that most edges are nearly exact and that the tails are heavy.

No paper reports the hand error on small objects (`FLOOR_PX`) or the correlations between edges;
these values are our own. Both match the differences between several people's outlines of the same
region in the training images of BSDS500; see docs/realism.md.
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
"""Standard deviation of the hand error in px; with it, more than half of the errors are within 1 px."""

BETWEEN_PEOPLE = 0.3
"""Standard deviation of people's log error factors.

This value was not published; estimate it from your own boxes with `segarena people fit boxes`.
"""

SIDES_PX = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
# Typical side length of an object in VOC, on which the published figures are based.
_TYPICAL_PX = 180.0

# Truncate the quantiles at this probability in each tail: Student's t is unbounded.
_TAIL_SHARE = 0.001

# Correlations between the edges of a dragged box. No paper reports them; these match the
# differences between people's outlines of the same region in BSDS500, see docs/realism.md.
_ADJACENT = 0.17
_OPPOSITE = 0.06
_DRAWS = 10_000

BoxDrawing: TypeAlias = Literal["drag", "extreme"]
OffsetArray: TypeAlias = NDArray[np.float64]


def published_boxes(drawn: BoxDrawing) -> BoxHabits:
    """Return the box errors of people who drag from corner to corner, or who click the four extreme points.

    A drag places two edges at a time, so its edges are correlated; the edges of extreme clicks are
    independent.
    """
    is_drag = drawn == "drag"
    if is_drag:
        near = _ADJACENT
        far = _OPPOSITE
        tail = 10.0
    else:
        near = 0.0
        far = 0.0
        tail = 100.0
    # Edges in the order of `BOX_EDGES`: adjacent edges meet at a corner, opposite edges do not.
    correlation = np.array(
        [
            [1, near, far, near],
            [near, 1, near, far],
            [far, near, 1, near],
            [near, far, near, 1],
        ]
    )
    shares = copula_shares(_DRAWS, correlation, tail, np.random.default_rng(0))
    people = np.exp(BETWEEN_PEOPLE * np.random.default_rng(1).standard_normal((_DRAWS, 1)))
    # Bisection: at the same mean IoU, fewer degrees of freedom mean more boxes below 0.7.
    low = 0.8
    high = 8.0
    while high - low > 1e-3:
        freedom = (low + high) / 2
        _, above = _match_mean_iou(_UnitOffsets.at(shares, freedom), people)
        if above < SHARE_ABOVE_07:
            low = freedom
        else:
            high = freedom
    scale, _ = _match_mean_iou(_UnitOffsets.at(shares, high), people)
    return BoxHabits(
        source=f"Papadopoulos 2017: mean IoU {MEAN_IOU}, {SHARE_ABOVE_07:.0%} above 0.7; see published_boxes.py",
        between_people=BETWEEN_PEOPLE,
        tail=tail,
        correlation=tuple(map(tuple, correlation.tolist())),
        levels=QUANTILE_LEVELS,
        sizes=tuple(_size_class(side, scale, high) for side in SIDES_PX),
    )


class _UnitOffsets(NamedTuple):
    """Offsets at scale 1 in two parts: the hand error, and disagreement about where the object ends."""

    signs: OffsetArray
    of_hand: OffsetArray
    of_edge: OffsetArray

    @classmethod
    def at(cls, shares: OffsetArray, freedom: float) -> _UnitOffsets:
        """Return the offsets at the given probabilities."""
        # Imported here because importing scipy.special takes longer than most commands run.
        from scipy.special import ndtri, stdtrit

        ends = np.clip(shares, _TAIL_SHARE, 1 - _TAIL_SHARE)
        return cls(
            np.sign(shares - 0.5),
            np.asarray(ndtri(ends), dtype=np.float64),
            np.asarray(stdtrit(freedom, ends), dtype=np.float64),
        )

    def scaled(self, side_px: float, scale: float) -> OffsetArray:
        """Return the root of the sum of both parts' squares, with sign, relative to a side of this length."""
        hand_error = FLOOR_PX / side_px * self.of_hand
        return self.signs * np.hypot(hand_error, scale * self.of_edge)


def _size_class(
    side_px: float,
    scale: float,
    freedom: float,
) -> SizeClass:
    offsets = _UnitOffsets.at(np.asarray(QUANTILE_LEVELS), freedom).scaled(side_px, scale)
    # An offset below -1 would move the edge past the opposite one.
    quantiles = np.maximum(offsets, -1).round(5)
    return SizeClass(
        side_px=side_px,
        edges=0,
        quantiles=(tuple(quantiles.tolist()),),
    )


def _match_mean_iou(offsets: _UnitOffsets, people: OffsetArray) -> tuple[float, float]:
    """Return the scale at which the mean IoU is as published, and the share of IoUs above 0.7 there."""
    low = 0.0
    high = 0.2
    while high - low > 1e-5:
        middle = (low + high) / 2
        mean = float(_ious(offsets, people, middle).mean())
        if mean > MEAN_IOU:
            low = middle
        else:
            high = middle
    return low, float((_ious(offsets, people, low) > 0.7).mean())


def _ious(
    offsets: _UnitOffsets,
    people: OffsetArray,
    scale: float,
) -> OffsetArray:
    return box_iou(people * offsets.scaled(_TYPICAL_PX, scale))
