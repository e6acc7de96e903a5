"""Case scores of the CVPR 2025 challenge on interactive 3D segmentation, computed from the classes of each case.

All classes of a case perform the steps in parallel: step 0 is a box, and five clicks follow. A step
that was not performed (a case without a box) and a class without a prediction score Dice 0 and NSD
0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.round_curves import area_over_last_five

_AREA_STEPS = 5
NSD_ABOVE_DSC = 0.2
"""The script computes NSD only if the mean Dice of the case exceeds this value, and writes 0 otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class CaseScores:
    """Mean Dice and NSD of one case after each step."""

    dsc: NDArray[np.float64]  # (steps,), mean Dice of the classes
    nsd: NDArray[np.float64]  # (steps,), mean NSD of the classes

    @property
    def dsc_auc(self) -> float:
        """Area under the Dice curve over the last five steps, at most 4."""
        return _area(self.dsc)

    @property
    def nsd_auc(self) -> float:
        """Area under the NSD curve over the last five steps, at most 4."""
        return _area(self.nsd)

    @property
    def dsc_final(self) -> float:
        """Dice after the last step."""
        return float(self.dsc[-1])

    @property
    def nsd_final(self) -> float:
        """NSD after the last step."""
        return float(self.nsd[-1])


def score_case(
    dice: ArrayLike,
    nsd: ArrayLike,
    *,
    nsd_above_dsc: float | None = NSD_ABOVE_DSC,
) -> CaseScores:
    """Return the scores of a case as the challenge's script computes them.

    A class whose Dice is NaN (target and prediction are empty) makes that step and the area NaN.
    This cannot happen in the script, which scores only classes of the target.

    Args:
        dice: (classes, steps), at least one class and five steps.
        nsd: (classes, steps), at a tolerance of 2 mm.
        nsd_above_dsc: NSD is set to 0 in steps whose mean Dice does not exceed this value; None
            disables the rule.

    Raises:
        InvalidInput: `dice` or `nsd` has a different shape.
    """
    class_dice = np.asarray(dice, dtype=np.float64)
    class_nsd = np.asarray(nsd, dtype=np.float64)
    is_table = class_dice.ndim == 2 and class_dice.shape == class_nsd.shape
    if not is_table or len(class_dice) < 1 or class_dice.shape[1] < _AREA_STEPS:
        raise InvalidInput(
            "case scores: expected Dice and NSD of equal shape (classes, steps), at least one class and five steps, "
            f"got {class_dice.shape} and {class_nsd.shape}"
        )
    mean_dice: Any = class_dice.mean(axis=0)
    mean_nsd = class_nsd.mean(axis=0)
    if nsd_above_dsc is not None:
        mean_nsd = np.where(mean_dice > nsd_above_dsc, mean_nsd, 0.0)
    return CaseScores(mean_dice, mean_nsd)


def _area(values: NDArray[np.float64]) -> float:
    last_steps = values[-_AREA_STEPS:]
    if np.isnan(last_steps).any():
        return math.nan
    return float(area_over_last_five(last_steps[None])[0])
