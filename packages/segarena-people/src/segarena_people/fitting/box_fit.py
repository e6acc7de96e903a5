"""Fit of box errors to boxes that people drew."""

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
"""Probabilities at which quantiles are stored; denser in the tails."""

FEWEST_BOXES = 10
"""Minimum number of boxes for a fit."""

# Number of edges per size class, up to `_MOST_CLASSES` classes: tail quantiles need many edges, but
# a class must not mix the offsets of large and small objects.
_EDGES_PER_CLASS = 400
_MOST_CLASSES = 12
# Minimum number of boxes in a class for separate quantiles of each edge. The lower edge differs
# from the others because people include shadows below objects.
_FEWEST_PER_EDGE = 150
_TAIL_GRID = (2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 100.0)
# Fixed, so that the same boxes give the same tail.
_SEED = 19


@dataclass(frozen=True, slots=True, eq=False)
class PersonBoxes:
    """Boxes that people drew, relative to the tight boxes around their goals.

    Attributes:
        sides_px: height and width of the tight box around each goal, (n, 2).
        offsets_px: distance by which each drawn edge lies outside that box, (n, 4) in the order of
            `BOX_EDGES`.
        people: person who drew each box; "" if unknown.
    """

    sides_px: NDArray[np.float64]
    offsets_px: NDArray[np.float64]
    people: Sequence[str]

    @property
    def sides_of_edges(self) -> NDArray[np.float64]:
        """For each edge, the length of the side that the edge's offset lengthens, (n, 4)."""
        return self.sides_px[:, SIDE_OF_EDGE]

    @property
    def offsets(self) -> NDArray[np.float64]:
        """Offsets divided by `sides_of_edges`, (n, 4)."""
        return self.offsets_px / self.sides_of_edges


def fit_boxes(boxes: PersonBoxes, source: str) -> BoxHabits:
    """Fit box errors; the same boxes in the same order give the same result.

    All size classes contain about equally many edges. Per-person factors are estimated if at least
    two people drew at least five boxes each; the quantiles then describe offsets divided by the
    factor of their person.

    Raises:
        InvalidInput: there are fewer than 10 boxes, an offset is not finite, or a side is not
            positive.
    """
    if len(boxes.offsets_px) < FEWEST_BOXES:
        raise InvalidInput(
            f"boxes: expected at least {FEWEST_BOXES} for a fit, got {len(boxes.offsets_px)}; collect more"
        )
    has_finite_offsets = bool(np.isfinite(boxes.offsets_px).all())
    if not has_finite_offsets or not (boxes.sides_px > 0).all():
        raise InvalidInput("boxes: expected finite offsets, and objects of at least one pixel")
    spread, factors = _factors(boxes)
    offsets = boxes.offsets / factors[:, None]
    sides = boxes.sides_of_edges
    sizes: list[SizeClass] = []
    for inside in _class_members(sides):
        sizes.append(_size_class(offsets, sides, inside))
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
    """Return the correlations of the edges' normal scores, (4, 4), shrunk towards 0 for small samples."""
    count = len(offsets)
    scores = _normal_scores(offsets, sides)
    # With few boxes a correlation is mostly chance, so shrink it more.
    table = _correlations(scores.T) * count / (count + FEWEST_BOXES)
    np.fill_diagonal(table, 1.0)
    return tuple(map(tuple, table.round(4).tolist()))


def _correlations(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations between rows; 0 if a row is constant."""
    deviations = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.sqrt((deviations**2).sum(axis=1))
    # The bound makes the correlation of a constant row 0 instead of dividing 0 by 0.
    return deviations @ deviations.T / np.maximum(np.outer(lengths, lengths), 1e-12)


def _class_members(sides: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return, for each size class, a mask of the edges in it, bool (n, 4)."""
    count = min(max(1, sides.size // _EDGES_PER_CLASS), _MOST_CLASSES)
    # With few distinct sides the quantiles coincide; each boundary must be unique.
    shares = np.arange(1, count) / count
    boundaries = np.unique(np.quantile(sides, shares))
    class_of_edge = np.searchsorted(boundaries, sides, side="right")
    return [class_of_edge == number for number in np.unique(class_of_edge)]


def _size_class(
    offsets: NDArray[np.float64],
    sides: NDArray[np.float64],
    inside: NDArray[np.bool_],
) -> SizeClass:
    """Return the quantiles of each edge in a size class; pooled over the four edges if data are scarce."""
    samples = [offsets[inside[:, edge], edge] for edge in range(len(BOX_EDGES))]
    if min(map(len, samples)) < _FEWEST_PER_EDGE:
        # The four edges share one set of quantiles, which then come from four times as many values.
        samples = [offsets[inside]]
    quantiles: list[tuple[float, ...]] = []
    for sample in samples:
        rounded = np.quantile(sample, QUANTILE_LEVELS).round(5)
        quantiles.append(tuple(rounded.tolist()))
    # Geometric mean, because box errors are interpolated over the logarithm of the side.
    mean_log_side = float(np.log(sides[inside]).mean())
    return SizeClass(
        side_px=round(math.exp(mean_log_side), 2),
        edges=int(inside.sum()),
        quantiles=tuple(quantiles),
    )


def _normal_scores(offsets: NDArray[np.float64], sides: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert the offsets to normal scores, (n, 4), by their ranks within each size class."""
    # Imported here because importing scipy.stats takes longer than most commands run.
    from scipy.special import ndtri
    from scipy.stats import rankdata

    scores = np.empty(offsets.shape)
    for inside in _class_members(sides):
        ranks = np.asarray(rankdata(offsets[inside]), dtype=np.float64)
        # Midpoint ranks: rank / count would be 1 for the last value, whose normal score is
        # infinite.
        scores[inside] = ndtri((ranks - 0.5) / len(ranks))
    return scores


def _choose_tail(habits: BoxHabits, boxes: PersonBoxes) -> BoxHabits:
    """Return the parameters with the copula tail that best matches how often edges have large errors together."""
    observed = _joint_extremeness(boxes.offsets)

    def mismatch(candidate: BoxHabits) -> float:
        # The same seed for all candidates, so that they differ only in the tail.
        return abs(_joint_extremeness(_simulated_offsets(candidate, boxes)) - observed)

    candidates = [msgspec.structs.replace(habits, tail=tail) for tail in _TAIL_GRID]
    return min(candidates, key=mismatch)


def _simulated_offsets(habits: BoxHabits, boxes: PersonBoxes) -> NDArray[np.float64]:
    """Simulate offsets around the same goals, relative to their sides, rounded to px like real boxes."""
    offsets_px = habits.offsets_px(boxes.sides_px, np.random.default_rng(_SEED))
    # Drawn edges lie on whole pixels, which matters for small objects.
    return np.round(offsets_px) / boxes.sides_of_edges


def _joint_extremeness(offsets: NDArray[np.float64]) -> float:
    """Return the rank correlation of absolute offsets between two edges, averaged over pairs of edges."""
    from scipy.stats import rankdata

    # Absolute values: edges of careless boxes are far off in any direction.
    edges = np.abs(offsets).T
    ranks: list[NDArray[np.float64]] = []
    for edge in edges:
        ranks.append(np.asarray(rankdata(edge), dtype=np.float64))
    pairs = np.triu_indices(len(BOX_EDGES), 1)
    return float(_correlations(np.stack(ranks))[pairs].mean())


def _factors(boxes: PersonBoxes) -> tuple[float, NDArray[np.float64]]:
    """Return the standard deviation of people's log error factors, and the factor of each box's person, (n,)."""
    spread, effects = estimate_person_effects(np.log(_relative_errors(boxes)), boxes.people)
    return spread, np.exp(effects)


def _relative_errors(boxes: PersonBoxes) -> NDArray[np.float64]:
    """Return each box's mean absolute offset, relative to the means of its size classes, (n,), above 0."""
    errors = np.abs(boxes.offsets)
    relative = np.empty(boxes.offsets.shape)
    for inside in _class_members(boxes.sides_of_edges):
        # A class of exact boxes has no error to relate to; the bound avoids dividing by 0.
        class_mean = max(float(errors[inside].mean()), 1e-9)
        relative[inside] = errors[inside] / class_mean
    # The logarithm of the result is taken, so an exact box needs a positive error.
    return np.maximum(relative.mean(axis=1), 1e-6)


def box_iou(offsets: ArrayLike) -> NDArray[np.float64]:
    """Return the IoU between drawn boxes and tight boxes, (n,), from relative offsets (n, 4)."""
    top, left, bottom, right = np.asarray(offsets, dtype=np.float64).T
    # In units of the goal's sides, the tight box has height, width and area 1.
    height = np.maximum(1 + top + bottom, 0)
    width = np.maximum(1 + left + right, 0)
    # Only edges inside the goal's box reduce the overlap; those outside do not extend it.
    shared_height = np.maximum(1 + np.minimum(top, 0) + np.minimum(bottom, 0), 0)
    shared_width = np.maximum(1 + np.minimum(left, 0) + np.minimum(right, 0), 0)
    shared = shared_height * shared_width
    return shared / np.maximum(1 + height * width - shared, 1e-12)
