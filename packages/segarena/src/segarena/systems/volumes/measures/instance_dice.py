"""Dice of several instances in one case: each with its own prediction, or matched as published.

Everything is computed from the result of `count_instances`, or from the same counts in records, without masks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, intersect_windows, is_empty
from segarena.errors import InvalidInput
from segarena.samples import Mask, as_mask

VoxelCounts: TypeAlias = NDArray[np.int64]
EmptyPredictions: TypeAlias = Literal["ignored", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class InstanceCounts:
    """Voxel counts of the predictions and targets of one case. Instances may overlap.

    Raises:
        InvalidInput: the shapes do not match, or a target has no voxel.
    """

    intersections: VoxelCounts  # (predictions, targets), voxels in both
    prediction_areas: VoxelCounts  # (predictions,)
    target_areas: VoxelCounts  # (targets,), all above 0

    def __post_init__(self) -> None:
        shape = (len(self.prediction_areas), len(self.target_areas))
        if self.intersections.shape != shape:
            raise InvalidInput(
                f"instance counts: expected {shape} intersections, got {self.intersections.shape}"
            )
        if not (self.target_areas > 0).all():
            raise InvalidInput(
                "instance counts: expected every target to have a voxel; leave out those without"
            )

    @property
    def dice(self) -> NDArray[np.float64]:
        """Dice of every prediction with every target, (predictions, targets)."""
        area_sums = self.prediction_areas[:, None] + self.target_areas[None, :]
        return 2.0 * self.intersections / area_sums


def count_instances(predictions: Sequence[Any], targets: Sequence[Any]) -> InstanceCounts:
    """Count the voxels of bool masks of one shape and of their intersections.

    Raises:
        InvalidMask: shapes differ, or values other than 0 and 1.
        InvalidInput: a target has no voxel.
    """
    shape = next((np.shape(mask) for mask in (*targets, *predictions)), None)
    prediction_masks = [as_mask(mask, shape, name="prediction") for mask in predictions]
    target_masks = [as_mask(mask, shape, name="target") for mask in targets]
    prediction_windows = [bounding_window(mask) for mask in prediction_masks]
    target_windows = [bounding_window(mask) for mask in target_masks]
    intersections = np.zeros((len(predictions), len(targets)), dtype=np.int64)
    for row, column in np.ndindex(intersections.shape):
        # Masks can only overlap where their windows do.
        both: Window = intersect_windows(prediction_windows[row], target_windows[column])
        if not is_empty(both):
            overlap = prediction_masks[row][both] & target_masks[column][both]
            intersections[row, column] = np.count_nonzero(overlap)
    return InstanceCounts(
        intersections,
        _count_voxels(prediction_masks, prediction_windows),
        _count_voxels(target_masks, target_windows),
    )


def _count_voxels(masks: Sequence[Mask], windows: Sequence[Window]) -> VoxelCounts:
    counts = [np.count_nonzero(mask[window]) for mask, window in zip(masks, windows, strict=True)]
    return np.array(counts, dtype=np.int64)


def paired_dice(counts: InstanceCounts) -> NDArray[np.float64]:
    """Return the Dice of each target with the prediction made for it: number k belongs to number k.

    An empty prediction has Dice 0, once. Targets are never empty here, so every value is defined.

    Raises:
        InvalidInput: the numbers of predictions and targets differ; a target without an answer needs an empty
            prediction.
    """
    if len(counts.prediction_areas) != len(counts.target_areas):
        raise InvalidInput(
            f"paired Dice: expected a prediction for each of {len(counts.target_areas)} targets, "
            f"got {len(counts.prediction_areas)}; give an empty one where there was no answer"
        )
    return np.diagonal(counts.dice).copy()


def lw_dice(counts: InstanceCounts, *, empty_predictions: EmptyPredictions = "ignored") -> float:
    """Return the instance Dice of a case as published: predictions and targets matched for the largest sum of Dice.

    Pairs with Dice 0 are dissolved. Each pair adds its Dice, each prediction and each target without a partner adds 0;
    the value is the mean. A prediction made for one target may thus be credited to another. NaN when there is neither a
    target nor a prediction that counts. Of several matchings with the same sum, SciPy's choice is taken.

    Args:
        counts: of the case.
        empty_predictions: "ignored": a prediction without a voxel does not count, and its target is missed once.
            "published": it adds a 0 of its own besides, unless it is the first prediction of the case; the value then
            depends on the order of instances.

    Raises:
        InvalidInput: another word for `empty_predictions`.

    Source: RadioActive's published evaluation (`lw_dice`); the paper describes the mean of `paired_dice` instead. Its
    Dice values are single precision, ours double.
    """
    # Imported late because SciPy makes `import segarena` slower.
    from scipy.optimize import linear_sum_assignment

    if empty_predictions not in get_args(EmptyPredictions):
        raise InvalidInput(
            f"empty_predictions: expected 'ignored' or 'published', got {empty_predictions!r}"
        )
    counted = counts.prediction_areas > 0
    if empty_predictions == "published":
        counted[1:] = True
    dice = counts.dice[counted]
    matched = dice[linear_sum_assignment(dice, maximize=True)]
    # A pair makes one row of the mean out of two instances.
    rows = sum(dice.shape) - np.count_nonzero(matched)
    return float(matched.sum()) / rows if rows else math.nan
