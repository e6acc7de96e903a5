"""Dice of several instances in one case: each with its own prediction, or matched as published.

Everything starts from `count_instances`, or from the same counts out of records: no masks are needed after that.
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
from segarena.samples import as_mask

VoxelCounts: TypeAlias = NDArray[np.int64]
EmptyPredictions: TypeAlias = Literal["ignored", "published"]


@dataclass(frozen=True, slots=True, eq=False)
class InstanceCounts:
    """Voxel counts of the predictions and targets of one case. Instances may overlap.

    Raises:
        InvalidInput: shapes that do not fit together, or a target without a voxel.
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
        return (
            2.0 * self.intersections / (self.prediction_areas[:, None] + self.target_areas[None, :])
        )


def count_instances(predictions: Sequence[Any], targets: Sequence[Any]) -> InstanceCounts:
    """Return the counts of bool masks of one shape; overlaps are only looked for where windows meet.

    Raises:
        InvalidMask: shapes differ, or values other than 0 and 1.
        InvalidInput: a target without a voxel.
    """
    shape = next((np.shape(mask) for mask in (*targets, *predictions)), None)
    found = (
        [as_mask(mask, shape, name="prediction") for mask in predictions],
        [as_mask(mask, shape, name="target") for mask in targets],
    )
    windows: list[list[Window]] = []
    areas: list[VoxelCounts] = []
    for masks in found:
        around = [bounding_window(mask) for mask in masks]
        counts = [
            np.count_nonzero(mask[window]) for mask, window in zip(masks, around, strict=True)
        ]
        windows.append(around)
        areas.append(np.array(counts, dtype=np.int64))
    intersections = np.zeros((len(predictions), len(targets)), dtype=np.int64)
    for row, column in np.ndindex(intersections.shape):
        both: Window = intersect_windows(windows[0][row], windows[1][column])
        if not is_empty(both):
            intersections[row, column] = np.count_nonzero(
                found[0][row][both] & found[1][column][both]
            )
    return InstanceCounts(intersections, areas[0], areas[1])


def paired_dice(counts: InstanceCounts) -> NDArray[np.float64]:
    """Return the Dice of each target with the prediction made for it: number k belongs to number k.

    An empty prediction has Dice 0, once. Targets are never empty here, so every value is defined.

    Raises:
        InvalidInput: not as many predictions as targets; an object that was not answered has an empty prediction.
    """
    if len(counts.prediction_areas) != len(counts.target_areas):
        raise InvalidInput(
            f"paired Dice: expected a prediction for each of {len(counts.target_areas)} targets, "
            f"got {len(counts.prediction_areas)}; give an empty one where there was no answer"
        )
    return np.diagonal(counts.dice).copy()


def lw_dice(counts: InstanceCounts, *, empty_predictions: EmptyPredictions = "ignored") -> float:
    """Return the instance Dice of a case as published: predictions and targets matched for the largest sum of Dice.

    Pairs of Dice 0 are no pairs. Each pair adds its Dice, each prediction and each target without a partner adds 0; the
    value is the mean. A prediction of one target may so be credited to another. NaN when there is neither a
    target nor a prediction that counts. Of several matchings with the same sum SciPy's is taken.

    Args:
        counts: of the case.
        empty_predictions: "ignored": one without a voxel is none, and its target is missed once. "published": it adds
            a 0 of its own besides, unless it is the first prediction of the case; the value then depends on the
            order of instances.

    Raises:
        InvalidInput: another word for `empty_predictions`.

    Source: RadioActive's published evaluation (`lw_dice`); the paper describes the mean of `paired_dice` instead. Its
    Dice values are single precision, ours double.
    """
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
    rows = sum(dice.shape) - np.count_nonzero(matched)
    return float(matched.sum()) / rows if rows else math.nan
