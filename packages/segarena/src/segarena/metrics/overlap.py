"""Overlap of two masks: IoU (Jaccard), Dice (F1), precision and recall."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Comparison
from segarena.registry import metric

TOLERANCE = 1e-9
"""Of recorded values against what they must agree with."""


def iou(prediction: Any, target: Any, ignore: Any = None, *, empty: float = 1.0) -> float:
    """Return intersection over union.

    >>> iou([[1, 1, 0]], [[0, 1, 1]])
    0.3333333333333333
    >>> iou([[0]], [[0]])
    1.0

    Args:
        prediction: bool (or 0 and 1), any number of axes.
        target: same shape.
        ignore: same shape, True for ignored pixels; None if all count.
        empty: value for two masks without any counted pixel. Published click benchmarks divide 0 by
            0 here and get NaN: `empty=nan`.

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
    return Dice(empty=empty)(Comparison.of(prediction, target, ignore))


def precision(prediction: Any, target: Any, ignore: Any = None, *, empty: float = 1.0) -> float:
    """Return the share of the predicted pixels that are target.

    >>> precision([[1, 1, 1, 0]], [[0, 0, 1, 1]])
    0.3333333333333333

    The precision of an empty prediction is 0 unless the target is empty too. Arguments and errors
    are those of `iou`.
    """
    return Precision(empty=empty)(Comparison.of(prediction, target, ignore))


def recall(prediction: Any, target: Any, ignore: Any = None, *, empty: float = 1.0) -> float:
    """Return the share of the target's pixels that are predicted.

    >>> recall([[1, 1, 1, 0]], [[0, 0, 1, 1]])
    0.5

    The recall of an empty target is 0 unless the prediction is empty too. Arguments and errors are
    those of `iou`.
    """
    return Recall(empty=empty)(Comparison.of(prediction, target, ignore))


@metric("iou")
class Iou:
    """IoU and the four pixel counts from which every measure of overlap can be computed again.

    Args:
        empty: what two empty masks give; "nan" as in published click benchmarks.
    """

    columns = ("iou", "intersection", "union", "prediction_area", "target_area")
    titles = MappingProxyType({"iou": "IoU"})
    shown = ("iou",)

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

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return where IoU and counts cannot be of one pair of masks."""
        del parts
        value, shared, union, predicted, target = (values[name] for name in self.columns)
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.where(union == 0, self._empty, shared / union)
            is_other = (np.abs(value - expected) > TOLERANCE) | (
                np.isnan(value) & np.isfinite(expected)
            )
            is_odd = (
                (predicted + target - shared != union)
                | (shared > np.minimum(predicted, target))
                | (shared < 0)
            )
        return is_other | (is_odd & np.isfinite(union))


class _Share:
    """Pixels in both masks, as a share of those predicted, of those of the target, or of the mean of the two.

    Args:
        empty: what two empty masks give.

    Attributes:
        columns: one name, as it appears in the records.
        predicted_weight: how much the predicted pixels count in the denominator; the target's have the rest of 1.
    """

    columns: tuple[str, ...]
    predicted_weight: float

    def __init__(self, *, empty: float | str = 1.0) -> None:
        self._empty = float(empty)

    def _whole(self, predicted: Any, target: Any) -> Any:
        return self.predicted_weight * predicted + (1 - self.predicted_weight) * target

    def __call__(self, comparison: Comparison) -> float:
        """Return the share; 0 where it is not defined and only one mask is empty."""
        whole = self._whole(comparison.prediction_area, comparison.target_area)
        if comparison.union:
            return comparison.intersection / whole if whole else 0.0
        return self._empty

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return where the value is no share, or not the one of the counts that another metric recorded."""
        del parts
        value = values[self.columns[0]]
        is_wrong = (value < 0) | (value > 1)
        if {"intersection", "union", "prediction_area", "target_area"} <= values.keys():
            whole = self._whole(values["prediction_area"], values["target_area"])
            with np.errstate(invalid="ignore", divide="ignore"):
                is_wrong |= (whole > 0) & (
                    np.abs(value - values["intersection"] / whole) > TOLERANCE
                )
        return is_wrong


@metric("dice")
class Dice(_Share):
    """Dice coefficient.

    Args:
        empty: what two empty masks give.
    """

    columns = ("dice",)
    titles = MappingProxyType({"dice": "Dice"})
    predicted_weight = 0.5


@metric("precision")
class Precision(_Share):
    """Share of the predicted pixels that are target; 0 where nothing is predicted and something should be.

    Args:
        empty: what two empty masks give.
    """

    columns = ("precision",)
    titles = MappingProxyType({"precision": "Precision"})
    predicted_weight = 1.0


@metric("recall")
class Recall(_Share):
    """Share of the target's pixels that are predicted; 0 where there is no target and something is predicted.

    Args:
        empty: what two empty masks give.
    """

    columns = ("recall",)
    titles = MappingProxyType({"recall": "Recall"})
    predicted_weight = 0.0


def _iou(comparison: Comparison, empty: float) -> float:
    return comparison.intersection / comparison.union if comparison.union else empty
