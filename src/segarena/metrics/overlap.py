"""Overlap of two masks: IoU (Jaccard) and Dice (F1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from segarena.comparison import Comparison
from segarena.registry import metric


def iou(prediction: Any, target: Any, ignore: Any = None, *, empty: float = 1.0) -> float:
    """Return intersection over union.

    >>> iou([[1, 1, 0]], [[0, 1, 1]])
    0.3333333333333333
    >>> iou([[0]], [[0]])
    1.0

    Args:
        prediction: bool (or 0 and 1), any number of axes.
        target: same shape.
        ignore: same shape, True where pixels count nowhere; None when all count.
        empty: what two masks without any counted pixel give. Published click benchmarks divide 0 by 0 there and
            get NaN: `empty=nan`.

    Raises:
        InvalidMask: shapes differ, or values other than 0 and 1.
    """
    return _iou(Comparison.of(prediction, target, ignore), empty)


def dice(prediction: Any, target: Any, ignore: Any = None, *, empty: float = 1.0) -> float:
    """Return twice the intersection over the sum of both areas.

    >>> dice([[1, 1, 0]], [[0, 1, 1]])
    0.5

    Arguments, the empty case and errors are those of `iou`; dice = 2 iou / (1 + iou).
    """
    return _dice(Comparison.of(prediction, target, ignore), empty)


@metric("iou")
class Iou:
    """IoU and the four pixel counts from which every measure of overlap can be computed again.

    Args:
        empty: what two empty masks give; "nan" as in published click benchmarks.
    """

    columns = ("iou", "intersection", "union", "prediction_area", "target_area")
    titles = MappingProxyType({"iou": "IoU"})

    def __init__(self, *, empty: float | str = 1.0) -> None:
        self._empty = float(empty)

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return IoU, and counts in pixels, ignored ones apart."""
        return {
            "iou": _iou(comparison, self._empty),
            "intersection": comparison.intersection,
            "union": comparison.union,
            "prediction_area": comparison.prediction_area,
            "target_area": comparison.target_area,
        }


@metric("dice")
class Dice:
    """Dice coefficient.

    Args:
        empty: what two empty masks give.
    """

    columns = ("dice",)
    titles = MappingProxyType({"dice": "Dice"})

    def __init__(self, *, empty: float | str = 1.0) -> None:
        self._empty = float(empty)

    def __call__(self, comparison: Comparison) -> float:
        """Return 2 intersection / (prediction area + target area)."""
        return _dice(comparison, self._empty)


def _iou(comparison: Comparison, empty: float) -> float:
    return comparison.intersection / comparison.union if comparison.union else empty


def _dice(comparison: Comparison, empty: float) -> float:
    both = comparison.prediction_area + comparison.target_area
    return 2 * comparison.intersection / both if both else empty
