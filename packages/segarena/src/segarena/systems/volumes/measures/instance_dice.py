"""Dice of several instances in one case: paired by prompt, or matched as published.

All values are computed from the result of `count_instances`, or from the same counts in records,
without masks.
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
    """Voxel counts of the predictions and targets in one case. Instances may overlap.

    Raises:
        InvalidInput: the shapes do not match, or a target is empty.
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
            raise InvalidInput("instance counts: expected nonempty targets; leave out empty ones")

    @property
    def dice(self) -> NDArray[np.float64]:
        """Dice of every prediction and target pair, (predictions, targets)."""
        # Never 0, because empty targets are rejected.
        area_sums = self.prediction_areas[:, None] + self.target_areas[None, :]
        return 2.0 * self.intersections / area_sums


def count_instances(predictions: Sequence[Any], targets: Sequence[Any]) -> InstanceCounts:
    """Count the voxels of boolean masks of equal shape, and of their pairwise intersections.

    Raises:
        InvalidMask: the shapes differ, or there are values other than 0 and 1.
        InvalidInput: a target is empty.
    """
    shape = next((np.shape(mask) for mask in (*targets, *predictions)), None)
    prediction_masks = [as_mask(mask, shape, name="prediction") for mask in predictions]
    target_masks = [as_mask(mask, shape, name="target") for mask in targets]
    prediction_windows = [bounding_window(mask) for mask in prediction_masks]
    target_windows = [bounding_window(mask) for mask in target_masks]
    intersections = np.zeros((len(predictions), len(targets)), dtype=np.int64)
    for row, column in np.ndindex(intersections.shape):
        # Masks can overlap only where their windows do.
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
    counts = np.zeros(len(masks), dtype=np.int64)
    for index, (mask, window) in enumerate(zip(masks, windows, strict=True)):
        # Counting inside the window is sufficient, and much faster for small targets.
        counts[index] = np.count_nonzero(mask[window])
    return counts


def paired_dice(counts: InstanceCounts) -> NDArray[np.float64]:
    """Return the Dice of each target with the prediction made for it, which has the same index.

    An empty prediction has Dice 0 and is counted once. Targets are never empty here, so every value
    is defined.

    Raises:
        InvalidInput: the numbers of predictions and targets differ; a target without a prediction
            needs an empty one.
    """
    if len(counts.prediction_areas) != len(counts.target_areas):
        raise InvalidInput(
            f"paired Dice: expected a prediction for each of {len(counts.target_areas)} targets, "
            f"got {len(counts.prediction_areas)}; use an empty mask if there was no prediction"
        )
    return np.diagonal(counts.dice).copy()


def lw_dice(counts: InstanceCounts, *, empty_predictions: EmptyPredictions = "ignored") -> float:
    """Return the instance Dice of a case as published, with the matching that maximises the sum of Dice.

    Matched pairs with Dice 0 are split up again. The value is a mean in which each pair contributes
    its Dice, and each unmatched prediction and unmatched target contributes 0. As a result, a
    prediction made for one target may be credited to another. The value is NaN if there is neither
    a target nor a prediction that counts. If several matchings have the same sum, SciPy's choice is
    used.

    Args:
        counts: voxel counts of the case.
        empty_predictions: "ignored": an empty prediction does not count, and its target counts as
            missed once. "published": an empty prediction also contributes a 0, unless it is the
            first prediction of the case, so the value depends on the order of instances.

    Raises:
        InvalidInput: the value of `empty_predictions` is unknown.

    Source: RadioActive's published evaluation (`lw_dice`); the paper describes the mean of
    `paired_dice` instead. The published code computes Dice in single precision, this function in
    double precision.
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
    # A pair combines two instances into one term of the mean.
    rows = sum(dice.shape) - np.count_nonzero(matched)
    return float(matched.sum()) / rows if rows else math.nan
