"""Habits of drawing boxes, fitted to people's boxes or to what is published of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.users.habits.box_habits import BOX_EDGES, BoxHabits, SizeClass
from segarena_people.fitting.person_effects import estimate_person_effects

QUANTILE_LEVELS = (
    0.0, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.99, 0.995, 0.9975, 1.0,
)  # fmt: skip
"""Close to each other where the tails are."""

FEWEST_BOXES = 10
"""Boxes that a fit needs."""

_CLASS_EDGES = 400
"""So many edges make a size class, up to `_MOST_CLASSES`."""
_MOST_CLASSES = 12
_EDGE_ALONE = 150
"""So many of one edge in a class give it quantiles of its own: things stand on the ground, and shadows lie below."""
_TAILS = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 100.0)
_SEED = 19


@dataclass(frozen=True, slots=True, eq=False)
class PersonBoxes:
    """Boxes that people drew.

    Attributes:
        sides_px: height and width of the smallest box around each object, (n, 2).
        offsets_px: how far the edges of theirs are outside, (n, 4) in the order of `EDGES`.
        people: who drew each; "" for nobody known.
    """

    sides_px: NDArray[np.float64]
    offsets_px: NDArray[np.float64]
    people: Sequence[str]

    @property
    def sides_of_edges(self) -> NDArray[np.float64]:
        """The side that each edge shortens or lengthens, (n, 4)."""
        return self.sides_px[:, [0, 1, 0, 1]]

    @property
    def offsets(self) -> NDArray[np.float64]:
        """Offsets over these sides, (n, 4)."""
        return self.offsets_px / self.sides_of_edges


def fit_boxes(boxes: PersonBoxes, source: str) -> BoxHabits:
    """Return the habits of those who drew some boxes; the same boxes in the same order give the same habits.

    Size classes hold equally many edges. The factors of people are told apart from what chance makes of them where at
    least two people drew five boxes each; quantiles are then those of boxes whose people's factors were taken out.

    Raises:
        InvalidInput: fewer than 10 boxes, or numbers that are not finite.
    """
    if len(boxes.offsets_px) < FEWEST_BOXES:
        raise InvalidInput(
            f"boxes: expected {FEWEST_BOXES} at least to fit habits to, got {len(boxes.offsets_px)}"
        )
    if not (np.isfinite(boxes.offsets_px).all() and (boxes.sides_px > 0).all()):
        raise InvalidInput("boxes: expected finite offsets, and objects of at least a pixel")
    spread, factors = _factors(boxes)
    offsets = boxes.offsets / factors[:, None]
    sides = boxes.sides_of_edges
    habits = BoxHabits(
        source=source,
        between_people=round(spread, 4),
        tail=_TAILS[-1],
        correlation=_correlation(offsets, sides),
        levels=QUANTILE_LEVELS,
        sizes=tuple(_size_class(offsets, sides, inside) for inside in _classes(sides)),
    )
    return _with_tail(habits, boxes)


def _correlation(
    offsets: NDArray[np.float64], sides: NDArray[np.float64]
) -> tuple[tuple[float, ...], ...]:
    """Return how the edges' normal scores correlate, (4, 4); edges of few boxes a little less than it seems."""
    count = len(offsets)
    table = _correlations(_scores(offsets, sides).T) * count / (count + FEWEST_BOXES)
    np.fill_diagonal(table, 1.0)
    return tuple(map(tuple, table.round(4).tolist()))


def _correlations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations between rows; 0 with a row whose values are all alike."""
    apart = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt((apart**2).sum(axis=1))
    return apart @ apart.T / np.maximum(np.outer(lengths, lengths), 1e-12)


def _classes(sides: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return which edges belong to each size class, (n, 4) each."""
    count = min(max(1, sides.size // _CLASS_EDGES), _MOST_CLASSES)
    inner = np.unique(np.quantile(sides, np.arange(1, count) / count))
    belongs = np.searchsorted(inner, sides, side="right")
    return [belongs == number for number in np.unique(belongs)]


def _size_class(
    offsets: NDArray[np.float64], sides: NDArray[np.float64], inside: NDArray[np.bool_]
) -> SizeClass:
    """Return the class with quantiles of each edge by itself; of all four together where there are few of one."""
    each = [offsets[inside[:, edge], edge] for edge in range(len(BOX_EDGES))]
    if min(map(len, each)) < _EDGE_ALONE:
        each = [offsets[inside]]
    return SizeClass(
        side_px=round(math.exp(float(np.log(sides[inside]).mean())), 2),
        edges=int(inside.sum()),
        quantiles=tuple(tuple(np.quantile(one, QUANTILE_LEVELS).round(5).tolist()) for one in each),
    )


def _scores(offsets: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normal scores of the offsets, (n, 4): ranks within the size class."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = np.empty(offsets.shape)
    for inside in _classes(sides):
        ranks = np.asarray(rankdata(offsets[inside]), dtype=np.float64)
        scores[inside] = ndtri((ranks - 0.5) / len(ranks))
    return scores


def _with_tail(habits: BoxHabits, boxes: PersonBoxes) -> BoxHabits:
    """Return the habits with that tail of the copula by which edges are far off together as often as people's."""
    every = [msgspec.structs.replace(habits, tail=tail) for tail in _TAILS]
    seen = _together(boxes.offsets)
    return min(every, key=lambda one: abs(_together(_drawn(one, boxes)) - seen))


def _drawn(habits: BoxHabits, boxes: PersonBoxes) -> NDArray[np.float64]:
    """Return offsets over the sides of boxes around the same objects, in whole px, as boxes have them."""
    return (
        np.round(habits.offsets_px(boxes.sides_px, np.random.default_rng(_SEED)))
        / boxes.sides_of_edges
    )


def _together(offsets: NDArray[np.float64]) -> float:
    """Return the mean rank correlation between how far two edges of a box are off."""
    from scipy.stats import rankdata

    ranks = np.stack([np.asarray(rankdata(far), dtype=np.float64) for far in np.abs(offsets).T])
    return float(_correlations(ranks)[np.triu_indices(len(BOX_EDGES), 1)].mean())


def _factors(boxes: PersonBoxes) -> tuple[float, NDArray[np.float64]]:
    """Return the spread of people's factors (of their logarithm), and each box's person's factor, (n,)."""
    spread, shifts = estimate_person_effects(np.log(_relative(boxes)), boxes.people)
    return spread, np.exp(shifts)


def _relative(boxes: PersonBoxes) -> NDArray[np.float64]:
    """Return how far off each box is: its mean absolute offset, over that of boxes of its size, (n,), above 0."""
    sizes = np.abs(boxes.offsets)
    far = np.empty(boxes.offsets.shape)
    for inside in _classes(boxes.sides_of_edges):
        far[inside] = sizes[inside] / max(float(sizes[inside].mean()), 1e-9)
    return np.maximum(far.mean(axis=1), 1e-6)


def box_iou(offsets: ArrayLike) -> NDArray[np.float64]:
    """Return the IoU of boxes with those they were drawn around, from offsets over the sides, (n, 4) to (n,)."""
    top, left, bottom, right = np.asarray(offsets, dtype=np.float64).T
    height = np.maximum(1 + top + bottom, 0)
    width = np.maximum(1 + left + right, 0)
    shared_height = np.maximum(1 + np.minimum(top, 0) + np.minimum(bottom, 0), 0)
    shared_width = np.maximum(1 + np.minimum(left, 0) + np.minimum(right, 0), 0)
    shared = shared_height * shared_width
    return shared / np.maximum(1 + height * width - shared, 1e-12)
