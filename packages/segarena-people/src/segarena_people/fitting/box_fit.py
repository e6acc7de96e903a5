"""Fit of box habits to boxes that people drew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.users.habits.box_habits import BOX_EDGES, SIDE_OF_EDGE, BoxHabits, SizeClass
from segarena_people.fitting.person_effects import estimate_person_effects

QUANTILE_LEVELS = (
    0.0, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.99, 0.995, 0.9975, 1.0,
)  # fmt: skip
"""Shares at which quantiles are stored, denser in the tails."""

FEWEST_BOXES = 10
"""Least number of boxes for a fit."""

_EDGES_PER_CLASS = 400
"""Edges in a size class, until there are `_MOST_CLASSES`."""
_MOST_CLASSES = 12
_FEWEST_PER_EDGE = 150
"""Minimum number of boxes in a class for separate quantiles of each edge.

Lower edges differ from the others, since shadows lie below objects.
"""
_TAIL_GRID = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 100.0)
_SEED = 19


@dataclass(frozen=True, slots=True, eq=False)
class PersonBoxes:
    """Boxes that people drew, relative to the smallest boxes around their goals.

    Attributes:
        sides_px: height and width of the smallest box around each goal, (n, 2).
        offsets_px: distances of the drawn edges outside that box, (n, 4) in the order of `EDGES`.
        people: person who drew each box; "" where unknown.
    """

    sides_px: NDArray[np.float64]
    offsets_px: NDArray[np.float64]
    people: Sequence[str]

    @property
    def sides_of_edges(self) -> NDArray[np.float64]:
        """Side that each edge shortens or lengthens, (n, 4)."""
        return self.sides_px[:, SIDE_OF_EDGE]

    @property
    def offsets(self) -> NDArray[np.float64]:
        """Offsets over these sides, (n, 4)."""
        return self.offsets_px / self.sides_of_edges


def fit_boxes(boxes: PersonBoxes, source: str) -> BoxHabits:
    """Fit box habits to boxes; the same boxes in the same order give the same habits.

    Size classes hold equally many edges. Factors of people are estimated where at least two people
    drew five boxes each; quantiles are then those of offsets divided by their person's factor.

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
    sizes = [_size_class(offsets, sides, inside) for inside in _class_members(sides)]
    habits = BoxHabits(
        source=source,
        between_people=round(spread, 4),
        tail=_TAIL_GRID[-1],  # `_choose_tail` replaces it
        correlation=_correlation(offsets, sides),
        levels=QUANTILE_LEVELS,
        sizes=tuple(sizes),
    )
    return _choose_tail(habits, boxes)


def _correlation(
    offsets: NDArray[np.float64], sides: NDArray[np.float64]
) -> tuple[tuple[float, ...], ...]:
    """Return the correlations of the edges' normal scores, (4, 4), shrunk a little where boxes are few."""
    count = len(offsets)
    scores = _normal_scores(offsets, sides)
    table = _correlations(scores.T) * count / (count + FEWEST_BOXES)
    np.fill_diagonal(table, 1.0)
    return tuple(map(tuple, table.round(4).tolist()))


def _correlations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations between rows; 0 with a constant row."""
    deviations = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt((deviations**2).sum(axis=1))
    return deviations @ deviations.T / np.maximum(np.outer(lengths, lengths), 1e-12)


def _class_members(sides: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return a mask of the edges in each size class, bool (n, 4) each."""
    count = min(max(1, sides.size // _EDGES_PER_CLASS), _MOST_CLASSES)
    boundaries = np.unique(np.quantile(sides, np.arange(1, count) / count))
    class_of_edge = np.searchsorted(boundaries, sides, side="right")
    return [class_of_edge == number for number in np.unique(class_of_edge)]


def _size_class(
    offsets: NDArray[np.float64], sides: NDArray[np.float64], inside: NDArray[np.bool_]
) -> SizeClass:
    """Return the quantiles of each edge in a size class; of all four together where there are few of one."""
    samples = [offsets[inside[:, edge], edge] for edge in range(len(BOX_EDGES))]
    if min(map(len, samples)) < _FEWEST_PER_EDGE:
        samples = [offsets[inside]]
    quantiles: list[tuple[float, ...]] = []
    for sample in samples:
        rounded = np.quantile(sample, QUANTILE_LEVELS).round(5)
        quantiles.append(tuple(rounded.tolist()))
    mean_log_side = float(np.log(sides[inside]).mean())
    return SizeClass(
        side_px=round(math.exp(mean_log_side), 2),
        edges=int(inside.sum()),
        quantiles=tuple(quantiles),
    )


def _normal_scores(offsets: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normal scores of the offsets by their ranks within the size class, (n, 4)."""
    # Loaded here: scipy.stats takes longer to import than most commands run.
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = np.empty(offsets.shape)
    for inside in _class_members(sides):
        ranks = np.asarray(rankdata(offsets[inside]), dtype=np.float64)
        scores[inside] = ndtri((ranks - 0.5) / len(ranks))
    return scores


def _choose_tail(habits: BoxHabits, boxes: PersonBoxes) -> BoxHabits:
    """Return the habits with the copula tail that best matches how often edges are far off together."""
    observed = _joint_extremeness(boxes.offsets)

    def mismatch(candidate: BoxHabits) -> float:
        return abs(_joint_extremeness(_simulated_offsets(candidate, boxes)) - observed)

    candidates = [msgspec.structs.replace(habits, tail=tail) for tail in _TAIL_GRID]
    return min(candidates, key=mismatch)


def _simulated_offsets(habits: BoxHabits, boxes: PersonBoxes) -> NDArray[np.float64]:
    """Return simulated offsets around the same goals over their sides, rounded to px as boxes are."""
    offsets_px = habits.offsets_px(boxes.sides_px, np.random.default_rng(_SEED))
    return np.round(offsets_px) / boxes.sides_of_edges


def _joint_extremeness(offsets: NDArray[np.float64]) -> float:
    """Return the mean rank correlation of absolute offsets between two edges of a box."""
    from scipy.stats import rankdata

    edges = np.abs(offsets).T
    ranks = np.stack([np.asarray(rankdata(edge), dtype=np.float64) for edge in edges])
    pairs = np.triu_indices(len(BOX_EDGES), 1)
    return float(_correlations(ranks)[pairs].mean())


def _factors(boxes: PersonBoxes) -> tuple[float, NDArray[np.float64]]:
    """Return the standard deviation of people's log factors, and the factor of each box's person, (n,)."""
    spread, effects = estimate_person_effects(np.log(_relative_errors(boxes)), boxes.people)
    return spread, np.exp(effects)


def _relative_errors(boxes: PersonBoxes) -> NDArray[np.float64]:
    """Return the mean absolute offset of each box over that of its size classes, (n,), above 0."""
    errors = np.abs(boxes.offsets)
    relative = np.empty(boxes.offsets.shape)
    for inside in _class_members(boxes.sides_of_edges):
        class_mean = max(float(errors[inside].mean()), 1e-9)
        relative[inside] = errors[inside] / class_mean
    return np.maximum(relative.mean(axis=1), 1e-6)


def box_iou(offsets: ArrayLike) -> NDArray[np.float64]:
    """Return the IoU of drawn boxes with the goals' boxes, (n,), from offsets over the sides, (n, 4)."""
    top, left, bottom, right = np.asarray(offsets, dtype=np.float64).T
    height = np.maximum(1 + top + bottom, 0)
    width = np.maximum(1 + left + right, 0)
    shared_height = np.maximum(1 + np.minimum(top, 0) + np.minimum(bottom, 0), 0)
    shared_width = np.maximum(1 + np.minimum(left, 0) + np.minimum(right, 0), 0)
    shared = shared_height * shared_width
    return shared / np.maximum(1 + height * width - shared, 1e-12)
