"""J and F of video object segmentation: overlap of regions and of contours, per object and frame.

Source: Perazzi et al., DAVIS, CVPR 2016; computed as in the DAVIS Interactive Challenge and the
DAVIS 2017 toolkit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.contours import (
    PackedContour,
    contour_radius_px,
    overlap_contours,
    pack_contour,
)
from segarena.comparison import Comparison
from segarena.errors import InvalidInput
from segarena.multi_object import AnyComparison, ObjectsComparison, ObjectsReference
from segarena.registry import metric
from segarena.samples import Labels, Mask, as_labels, without_void


@dataclass(frozen=True, slots=True)
class JaccardContour:
    """J and F: arrays (objects, frames)."""

    jaccard: NDArray[np.float64]
    contour: NDArray[np.float64]


Void: TypeAlias = Literal["ignore", "background"]


def jaccard_contour(
    prediction: Any,
    target: Any,
    ignore: Any = None,
    *,
    objects: int | None = None,
    # Tolerance of the published code: 0.8 % of the diagonal, which is 8 pixels at 854 x 480.
    bound_share: float = 0.008,
    void: Void = "ignore",
) -> JaccardContour:
    """Return J and F of every object in every frame.

    J is intersection over union. F is the harmonic mean of two shares: that of predicted contour
    pixels near the target's contour, and that of target contour pixels near the predicted contour.
    `segarena.arrays.label_edges` defines the contour.

    An object that is absent from both masks of a frame has J = F = 1. F is 0 if exactly one contour
    is empty and 1 if both are, even if one mask fills the frame and the other is empty.

    Args:
        prediction: integer labels (T, H, W), or (H, W) for one frame; bool for one object. Labels
            beyond the target's objects count as background.
        target: integer labels of the same shape; 255 is not an object but part of `ignore`.
        ignore: bool, same shape: pixels excluded from scoring.
        objects: number of objects to evaluate; by default the highest label of the target below
            255.
        bound_share: distance tolerance for contours, as a share of the frame's diagonal; values of
            1 or more are in pixels.
        void: "ignore": ignored pixels are removed from both masks first; "background": they are
            ordinary background, as in the published interactive challenge.

    Raises:
        InvalidInput: there are no objects, the shapes differ, or labels are outside 0 to 255.
    """
    labels, ignore = without_void(as_labels(target, name="target"), ignore)
    count = int(labels.max(initial=0)) if objects is None else objects
    if count < 1:
        raise InvalidInput(
            "J and F: expected at least one object, got none; pass the number of `objects`"
        )
    comparison = ObjectsComparison(np.asarray(prediction), ObjectsReference(labels, count, ignore))
    return JaccardContourMetric(bound_share=bound_share, void=void).of(comparison)


@metric("jaccard-contour")
@dataclass(kw_only=True, eq=False)
class JaccardContourMetric:
    """J, F and their mean, averaged over frames and objects; the table of parts contains J and F.

    Args:
        bound_share: distance tolerance for contours, as a share of the frame's diagonal; values of
            1 or more are in pixels.
        void: "ignore": ignored pixels are removed from both masks; "background": they are ordinary
            background, so a prediction there is wrong, as in the published interactive challenge.
    """

    columns = ("jaccard", "contour", "j_and_f")
    titles = MappingProxyType({"jaccard": "J", "contour": "F", "j_and_f": "J&F"})
    judges_objects = True

    bound_share: float = 0.008
    void: Void = "ignore"

    def __call__(self, comparison: AnyComparison) -> Mapping[str, float]:
        """Return the means over frames, then over objects."""
        values = self.of(comparison)
        jaccard = float(values.jaccard.mean())
        contour = float(values.contour.mean())
        j_and_f = (jaccard + contour) / 2
        return {"jaccard": jaccard, "contour": contour, "j_and_f": j_and_f}

    def parts(self, comparison: AnyComparison) -> Mapping[str, NDArray[np.float64]]:
        """Return J and F of each object and frame."""
        values = self.of(comparison)
        return {"jaccard": values.jaccard, "contour": values.contour}

    def contradicts(self, values: Mapping[str, Any], parts: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return which rounds have impossible values: values outside 0 to 1 or unlike the parts, or a wrong mean."""
        mean = (values["jaccard"] + values["contour"]) / 2
        is_wrong = np.abs(values["j_and_f"] - mean) > _TOLERANCE
        for name in ("jaccard", "contour"):
            value = values[name]
            is_wrong |= (value < 0) | (value > 1)
            if name in parts:
                is_wrong |= np.abs(value - parts[name]) > _TOLERANCE
        return is_wrong

    def of(self, comparison: AnyComparison) -> JaccardContour:
        """Return J and F of each object and frame, computed once per comparison."""
        # Without ignored pixels the two rules agree, so they share one cached result.
        has_void = self.void == "ignore" and comparison.reference.ignore is not None
        key = ("jaccard-contour", self.bound_share, has_void)
        return comparison.remember(key, lambda: self._measure(comparison))

    def _measure(self, comparison: AnyComparison) -> JaccardContour:
        prediction, target, ignore, objects = _stacks(comparison)
        # The published interactive package does not mask 255.
        if self.void == "background":
            ignore = None
        radius_px = contour_radius_px(target.shape[1:], self.bound_share)
        # The target's contours are the same for all predictions, so they are cached with the
        # reference.
        target_contours: dict[tuple[int, int], PackedContour] = comparison.reference.remember(
            ("truths", ignore is None, radius_px), dict[tuple[int, int], PackedContour]
        )
        jaccard = np.empty((objects, len(target)))
        contour = np.empty((objects, len(target)))
        for frame, index in np.ndindex(len(target), objects):
            void = None if ignore is None else ignore[frame]
            if (index, frame) not in target_contours:
                mask = _object_mask(target[frame], index + 1, void)
                target_contours[index, frame] = pack_contour(mask, radius_px)
            predicted_mask = _object_mask(prediction[frame], index + 1, void)
            predicted = pack_contour(predicted_mask, radius_px)
            j, f = _pair_scores(predicted, target_contours[index, frame])
            jaccard[index, frame] = j
            contour[index, frame] = f
        return JaccardContour(jaccard, contour)


_TOLERANCE = 1e-9


def _object_mask(
    labels: Labels,
    number: int,
    void: Mask | None,
) -> Mask:
    """Return the mask of one object in one frame, without void pixels."""
    mask = labels == number
    if void is None:
        return mask
    return np.greater(mask, void)


def _pair_scores(prediction: PackedContour, target: PackedContour) -> tuple[float, float]:
    """Return J and F of one object in one frame."""
    # Absent from both masks: the frame counts as correct, as in the published toolkit.
    if not (prediction.area or target.area):
        return 1.0, 1.0
    both = overlap_contours(prediction, target)
    jaccard = both.area / (prediction.area + target.area - both.area)
    if not (prediction.length and target.length):
        # F is 1 if both contours are empty, 0 if only one is.
        return jaccard, float(prediction.length == target.length)
    # Contour lengths are pixel counts.
    precision = both.first / prediction.length
    recall = both.second / target.length
    if not precision + recall:
        return jaccard, 0.0
    return jaccard, 2 * precision * recall / (precision + recall)


def _stacks(comparison: AnyComparison) -> tuple[Labels, Labels, Mask | None, int]:
    """Return prediction, target and ignore as (T, H, W), and the number of objects."""
    if isinstance(comparison, ObjectsComparison):
        several = comparison
        prediction = several.prediction
        target = several.target
        ignore = several.reference.ignore
        objects = several.objects
    else:
        one: Comparison = comparison
        prediction = one.given.view(np.uint8)
        target = one.reference.given.view(np.uint8)
        ignore = one.ignore
        objects = 1
    stack_shape = cast("Any", (-1, *target.shape[-2:]))
    if ignore is not None:
        ignore = ignore.reshape(stack_shape)
    return prediction.reshape(stack_shape), target.reshape(stack_shape), ignore, objects
