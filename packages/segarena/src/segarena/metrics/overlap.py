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
"""Tolerance for comparing recorded values with values recomputed from counts."""


def iou(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    empty: float = 1.0,
) -> float:
    """Return intersection over union.

    >>> iou([[1, 1, 0]], [[0, 1, 1]])
    0.3333333333333333
    >>> iou([[0]], [[0]])
    1.0

    Args:
        prediction: bool (or 0 and 1), any number of axes.
        target: same shape.
        ignore: same shape, True for ignored pixels; None if all count.
        empty: value if both masks are empty outside ignored pixels. Published click benchmarks
            divide 0 by 0 here and return NaN, which is `empty=nan`.

    Raises:
        InvalidMask: shapes differ, or values other than 0 and 1.
    """
    return _iou(Comparison.of(prediction, target, ignore), empty)


def dice(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    empty: float = 1.0,
) -> float:
    """Return twice the intersection over the sum of both areas.

    >>> dice([[1, 1, 0]], [[0, 1, 1]])
    0.5

    The arguments, the value for two empty masks and the errors are those of `iou`. Unless both
    masks are empty, dice = 2 iou / (1 + iou).
    """
    return Dice(empty=empty)(Comparison.of(prediction, target, ignore))


def precision(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    empty: float = 1.0,
) -> float:
    """Return the share of predicted pixels that belong to the target.

    >>> precision([[1, 1, 1, 0]], [[0, 0, 1, 1]])
    0.3333333333333333

    The precision of an empty prediction is 0 unless the target is empty too. Arguments and errors
    are those of `iou`.
    """
    return Precision(empty=empty)(Comparison.of(prediction, target, ignore))


def recall(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    empty: float = 1.0,
) -> float:
    """Return the share of the target's pixels that are predicted.

    >>> recall([[1, 1, 1, 0]], [[0, 0, 1, 1]])
    0.5

    The recall of an empty target is 0 unless the prediction is empty too. Arguments and errors are
    those of `iou`.
    """
    return Recall(empty=empty)(Comparison.of(prediction, target, ignore))


@metric("iou")
class Iou:
    """IoU with the four pixel counts from which every overlap measure can be recomputed.

    Args:
        empty: value for two empty masks; published click benchmarks use "nan".
    """

    columns = ("iou", "intersection", "union", "prediction_area", "target_area")
    titles = MappingProxyType({"iou": "IoU"})
    shown = ("iou",)

    def __init__(self, *, empty: float | str = 1.0) -> None:
        self._empty = float(empty)

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return IoU and pixel counts, without ignored pixels."""
        return {
            "iou": _iou(comparison, self._empty),
            "intersection": comparison.intersection,
            "union": comparison.union,
            "prediction_area": comparison.prediction_area,
            "target_area": comparison.target_area,
        }

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return True for rounds whose IoU and counts cannot come from one pair of masks."""
        del parts
        value = values["iou"]
        shared = values["intersection"]
        union = values["union"]
        predicted = values["prediction_area"]
        target = values["target_area"]
        # NaN counts mark a round without values, which is not a contradiction.
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.where(union == 0, self._empty, shared / union)
            is_other_value = np.abs(value - expected) > TOLERANCE
            is_missing = np.isnan(value) & np.isfinite(expected)
            is_other_union = predicted + target - shared != union
            is_too_large = shared > np.minimum(predicted, target)
            is_impossible = is_other_union | is_too_large | (shared < 0)
        return is_other_value | is_missing | (is_impossible & np.isfinite(union))


class _Share:
    """Intersection as a share of the predicted pixels, the target's pixels, or a weighted mean of both counts.

    Args:
        empty: value for two empty masks.

    Attributes:
        columns: a single name, as it appears in the records.
        predicted_weight: weight of the predicted pixels in the denominator, 0 to 1; the target's pixels have weight
            1 - `predicted_weight`.
    """

    columns: tuple[str, ...]
    predicted_weight: float

    def __init__(self, *, empty: float | str = 1.0) -> None:
        self._empty = float(empty)

    def _whole(self, predicted: Any, target: Any) -> Any:
        target_weight = 1 - self.predicted_weight
        return self.predicted_weight * predicted + target_weight * target

    def __call__(self, comparison: Comparison) -> float:
        """Return the share; `empty` if both masks are empty, 0 if only one is and the denominator is 0."""
        if not comparison.union:
            return self._empty
        whole = self._whole(comparison.prediction_area, comparison.target_area)
        if not whole:
            return 0.0
        return comparison.intersection / whole

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return True for values outside 0 to 1, and for values that contradict the counts, if `iou` recorded them."""
        del parts
        value = values[self.columns[0]]
        is_wrong = (value < 0) | (value > 1)
        counts = {"intersection", "union", "prediction_area", "target_area"}
        if counts <= values.keys():
            whole = self._whole(values["prediction_area"], values["target_area"])
            with np.errstate(invalid="ignore", divide="ignore"):
                expected = values["intersection"] / whole
                is_other_value = np.abs(value - expected) > TOLERANCE
                is_wrong |= (whole > 0) & is_other_value
        return is_wrong


@metric("dice")
class Dice(_Share):
    """Dice coefficient.

    Args:
        empty: result for two empty masks.
    """

    columns = ("dice",)
    titles = MappingProxyType({"dice": "Dice"})
    predicted_weight = 0.5


@metric("precision")
class Precision(_Share):
    """Share of predicted pixels that belong to the target; 0 if only the prediction is empty.

    Args:
        empty: result for two empty masks.
    """

    columns = ("precision",)
    titles = MappingProxyType({"precision": "Precision"})
    predicted_weight = 1.0


@metric("recall")
class Recall(_Share):
    """Share of the target's pixels that are predicted; 0 if only the target is empty.

    Args:
        empty: result for two empty masks.
    """

    columns = ("recall",)
    titles = MappingProxyType({"recall": "Recall"})
    predicted_weight = 0.0


def _iou(comparison: Comparison, empty: float) -> float:
    if not comparison.union:
        return empty
    return comparison.intersection / comparison.union
