"""From the counts of all images to the numbers of a table: ODS, OIS, AP, R50.

Source: BSDS500, `collect_eval_bdry`; R50: Dollár's toolbox, as the amodal paper prints it.
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
"""Which of several equal recalls stays in the curve that AP integrates: MATLAB's `unique` kept the last in old
releases and keeps the first in new ones."""

_STEPS = 100  # between two thresholds


@dataclass(frozen=True, slots=True)
class EdgePoint:
    """A point of a curve: where, and recall, precision and F there."""

    threshold: float
    recall: float
    precision: float

    @property
    def f(self) -> float:
        """The F measure."""
        return f_measure(self.recall, self.precision)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EdgeSummary:
    """What a detector reaches on a set.

    Attributes:
        ods: at the best threshold for the whole set.
        ois: with the best threshold for each image; its threshold is NaN.
        ap: area under the curve, up to 1.01: 101 samples of weight 0.01 are added.
        r50: recall where precision is 0.5; NaN when the curve stays on one side of it.
        curve: each threshold.
        images: per image its best point.
    """

    ods: EdgePoint
    ois: EdgePoint
    ap: float
    r50: float
    curve: tuple[EdgePoint, ...]
    images: tuple[EdgePoint, ...]


def f_measure(recall: float, precision: float) -> float:
    """Return the harmonic mean of recall and precision; 0 when both are 0."""
    return 2 * recall * precision / (recall + precision) if recall + precision > 0 else 0.0


def summarise_edges(
    counts: Sequence[EdgeCounts], *, occurrence: Occurrence = "first"
) -> EdgeSummary:
    """Return the summary of a set of images, one or more, all with as many thresholds.

    `occurrence` is which of several equal recalls the curve under AP keeps.
    """
    if (
        not counts
        or len({len(one.thresholds) for one in counts}) != 1
        or not len(counts[0].thresholds)
    ):
        raise InvalidInput(
            "edge counts: expected one image or more, all at the same number of thresholds, 1 or more"
        )
    thresholds = counts[0].thresholds
    pooled = sum((one.table for one in counts), np.zeros((len(thresholds), 4)))
    recall, precision = _rates(pooled)
    best = sum(
        (one.table[int(np.argmax(_f(one.recall, one.precision)))] for one in counts), np.zeros(4)
    )
    return EdgeSummary(
        ods=_best(thresholds, recall, precision),
        ois=EdgePoint(float("nan"), *map(float, _rates(best))),
        ap=_area(recall, precision, occurrence),
        r50=recall_at_precision(recall, precision, 0.5),
        curve=tuple(map(EdgePoint, thresholds.tolist(), recall.tolist(), precision.tolist())),
        images=tuple(_best(one.thresholds, one.recall, one.precision) for one in counts),
    )


def recall_at_precision(
    recall: NDArray[np.float64], precision: NDArray[np.float64], level: float
) -> float:
    """Return the highest recall at which the curve, straight between its points, has this precision; NaN if nowhere.

    A curve that stays above the level does not say how far it would reach: NaN as well.
    """
    found: list[float] = [float(r) for r, p in zip(recall, precision, strict=True) if p == level]
    for index in range(len(recall) - 1):
        before = precision[index] - level
        after = precision[index + 1] - level
        if before * after < 0:
            share = before / (before - after)
            found.append(float(recall[index] + share * (recall[index + 1] - recall[index])))
    return max(found, default=float("nan"))


def _rates(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return table[..., 0] / np.maximum(table[..., 1], 1), table[..., 2] / np.maximum(
        table[..., 3], 1
    )


def _f(recall: NDArray[np.float64], precision: NDArray[np.float64]) -> NDArray[np.float64]:
    total = recall + precision
    return 2 * recall * precision / np.where(total > 0, total, 1)


def _best(
    thresholds: NDArray[np.float64], recall: NDArray[np.float64], precision: NDArray[np.float64]
) -> EdgePoint:
    """Return the point of the highest F, straight between the thresholds; the first of equal ones."""
    parts = np.linspace(0, 1, _STEPS)
    best = (float(thresholds[0]), float(recall[0]), float(precision[0]))
    highest = f_measure(*best[1:])
    for index in range(1, len(thresholds)):
        t, r, p = (
            values[index] * parts + values[index - 1] * (1 - parts)
            for values in (thresholds, recall, precision)
        )
        f = _f(r, p)
        at = int(np.argmax(f))
        if f[at] > highest:
            best = (float(t[at]), float(r[at]), float(p[at]))
            highest = float(f[at])
    return EdgePoint(*best)


def _area(
    recall: NDArray[np.float64], precision: NDArray[np.float64], occurrence: Occurrence
) -> float:
    if occurrence == "first":
        levels, index = np.unique(recall, return_index=True)
    else:
        levels, turned = np.unique(recall[::-1], return_index=True)
        index = len(recall) - 1 - turned
    if len(levels) < 2:
        return 0.0
    samples = np.interp(np.arange(101) / 100, levels, precision[index], left=0.0, right=0.0)
    return float(samples.sum() * 0.01)  # 101 samples of weight 0.01, as published: up to 1.01
