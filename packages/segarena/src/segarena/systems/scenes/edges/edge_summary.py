"""Summary of edge counts over a set of images: ODS, OIS, AP and R50.

Source: BSDS500, `collect_eval_bdry`. R50 is from Dollár's toolbox, as printed in the amodal paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.systems.scenes.edges.edge_counts import EdgeCounts

Occurrence: TypeAlias = Literal["first", "last"]
"""Which of several points with equal recall AP keeps: MATLAB's `unique` kept the last in old
releases and keeps the first in new ones."""

_STEPS = 100  # points between two thresholds


@dataclass(frozen=True, slots=True)
class EdgePoint:
    """A point of a precision-recall curve: threshold, recall, precision and F."""

    threshold: float
    recall: float
    precision: float

    @property
    def f(self) -> float:
        """The F measure."""
        return f_measure(self.recall, self.precision)


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class EdgeSummary:
    """Results of an edge detector on a set of images.

    Attributes:
        ods: point at the best threshold for the whole set.
        ois: point with the best threshold of each image; its threshold is NaN.
        ap: average precision, up to 1.01, because it adds 101 samples of weight 0.01.
        r50: recall at a precision of 0.5; NaN if the curve does not cross 0.5.
        curve: one point per threshold.
        images: the best point of each image.
    """

    ods: EdgePoint
    ois: EdgePoint
    ap: float
    r50: float
    curve: tuple[EdgePoint, ...]
    images: tuple[EdgePoint, ...]


def f_measure(recall: float, precision: float) -> float:
    """Return the harmonic mean of recall and precision; 0 if both are 0."""
    if recall + precision <= 0:
        return 0.0
    return 2 * recall * precision / (recall + precision)


def summarise_edges(
    counts: Sequence[EdgeCounts], *, occurrence: Occurrence = "first"
) -> EdgeSummary:
    """Summarize the counts of one or more images, all with the same number of thresholds.

    `occurrence` decides which of several points with equal recall stays in the curve that AP
    integrates.
    """
    sizes = {len(one.thresholds) for one in counts}
    if len(sizes) != 1 or 0 in sizes:
        raise InvalidInput(
            "edge counts: expected one image or more, all at the same number of thresholds, 1 or more"
        )
    thresholds = counts[0].thresholds
    pooled = np.zeros((len(thresholds), 4))
    best_counts = np.zeros(4)
    for one in counts:
        pooled = pooled + one.table
        # Like the benchmark, OIS uses the raw F of each threshold, while ODS and the per-image
        # table interpolate between thresholds.
        best = int(np.argmax(_f_measures(one.recall, one.precision)))
        best_counts = best_counts + one.table[best]
    recall, precision = _rates(pooled)
    best_recall, best_precision = _rates(best_counts)
    points = np.stack([thresholds, recall, precision], axis=1)
    curve = [EdgePoint(*point) for point in points.tolist()]
    images = [_best_point(one.thresholds, one.recall, one.precision) for one in counts]
    return EdgeSummary(
        ods=_best_point(thresholds, recall, precision),
        ois=EdgePoint(float("nan"), float(best_recall), float(best_precision)),
        ap=_average_precision(recall, precision, occurrence),
        r50=recall_at_precision(recall, precision, 0.5),
        curve=tuple(curve),
        images=tuple(images),
    )


def recall_at_precision(
    recall: NDArray[np.float64],
    precision: NDArray[np.float64],
    level: float,
) -> float:
    """Return the highest recall at which the piecewise linear curve has precision `level`, or NaN.

    The result is also NaN for a curve that stays above the level, because its course at higher
    recall is unknown.
    """
    found: list[float] = recall[precision == level].tolist()
    for index in range(len(recall) - 1):
        before = precision[index] - level
        after = precision[index + 1] - level
        if before * after < 0:
            share = before / (before - after)
            crossing = recall[index] + share * (recall[index + 1] - recall[index])
            found.append(float(crossing))
    return max(found, default=float("nan"))


def _rates(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return recall and precision from counts (..., 4) in the order of `EdgeCounts.table`."""
    target_matched, target, prediction_matched, prediction = np.moveaxis(table, -1, 0)
    # Like the benchmark, a denominator of 0 is replaced by 1, which gives 0.
    recall = target_matched / np.maximum(target, 1)
    precision = prediction_matched / np.maximum(prediction, 1)
    return recall, precision


def _f_measures(recall: NDArray[np.float64], precision: NDArray[np.float64]) -> NDArray[np.float64]:
    total = recall + precision
    return 2 * recall * precision / np.where(total > 0, total, 1)


def _best_point(
    thresholds: NDArray[np.float64],
    recall: NDArray[np.float64],
    precision: NDArray[np.float64],
) -> EdgePoint:
    """Return the point with the highest F, interpolated between thresholds; ties go to the first point."""
    parts = np.linspace(0, 1, _STEPS)
    best = EdgePoint(float(thresholds[0]), float(recall[0]), float(precision[0]))
    highest = best.f
    for index in range(1, len(thresholds)):
        rest = 1 - parts
        between_thresholds = thresholds[index] * parts + thresholds[index - 1] * rest
        between_recalls = recall[index] * parts + recall[index - 1] * rest
        between_precisions = precision[index] * parts + precision[index - 1] * rest
        f = _f_measures(between_recalls, between_precisions)
        at = int(np.argmax(f))
        if f[at] > highest:
            highest = float(f[at])
            best = EdgePoint(
                float(between_thresholds[at]),
                float(between_recalls[at]),
                float(between_precisions[at]),
            )
    return best


def _average_precision(
    recall: NDArray[np.float64],
    precision: NDArray[np.float64],
    occurrence: Occurrence,
) -> float:
    if occurrence == "first":
        levels, index = np.unique(recall, return_index=True)
    else:
        levels, reversed_index = np.unique(recall[::-1], return_index=True)
        index = len(recall) - 1 - reversed_index
    if len(levels) < 2:
        return 0.0
    samples = np.interp(np.arange(101) / 100, levels, precision[index], left=0.0, right=0.0)
    return float(samples.sum() * 0.01)  # 101 samples of weight 0.01, as published: up to 1.01
