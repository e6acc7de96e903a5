"""User shift: four measures of how a simulated user differs from people in behaviour and performance.

Source: Marinov, Kim, Kleesiek and Stiefelhagen, Rethinking annotator simulation, arXiv 2404.01816
(2024): label conformity, centredness, diversity of clicks over components, and performance. The
paper defines the measures for clicks on lesions of a volume; here they apply to any marked pixels,
also in images. The paper leaves some choices open, which the formulas below fill in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.connected_components import label_components, label_grown_components
from segarena.arrays.distance_transform import squared_distance
from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.statistics.intervals import PairedDifference, paired_difference

BehaviourArray = NDArray[np.float64]

BEHAVIOUR_MEASURES: dict[str, str] = {
    "conformity": "share of marks that agree with the label they lie on",
    "centredness": "mean depth of agreeing marks on the object, divided by the maximum depth of their component",
    "diversity": "number of components with an agreeing mark, divided by the largest possible number",
}
"""Measures of behaviour in a dialogue, with definitions, in order; performance is the fourth measure."""


def measure_behaviour(
    positions: ArrayLike,
    is_positive: ArrayLike,
    target: Mask,
) -> BehaviourArray:
    """Return the `BEHAVIOUR_MEASURES` of a user's marks in one dialogue.

    >>> target = np.zeros((7, 20), bool)
    >>> target[1:6, 1:6] = target[1:6, 9:14] = True
    >>> measure_behaviour([[3, 3], [3, 11], [3, 7], [1, 1]], [True, True, False, False], target).round(2).tolist()
    [0.75, 1.0, 1.0]

    Args:
        positions: int (n, axes): clicks, or the pixels of strokes. Diversity is meaningful for
            clicks only.
        is_positive: bool (n,): whether each mark claims to be on the object.
        target: bool mask of the object in an image or volume.

    Returns:
        float64 (3,): conformity is NaN without marks, the other two without a positive mark on
        the object. Diversity is divided by the number of components or of agreeing positive marks,
        whichever is smaller: 1 means that each mark is on another component, as far as possible.

    Raises:
        InvalidInput: shapes do not match, or positions lie outside the target.
    """
    places = np.asarray(positions, dtype=np.int64)
    signs = np.asarray(is_positive, dtype=np.bool_)
    has_right_shape = places.shape == (len(signs), target.ndim)
    if not has_right_shape or (places < 0).any() or (places >= target.shape).any():
        raise InvalidInput(
            f"marks: expected integer positions (n, {target.ndim}) within {target.shape} and n signs"
        )
    index = tuple(places.T)
    agrees = target[index] == signs
    good = tuple(places[agrees & signs].T)
    if not len(places):
        return np.full(3, np.nan)
    if not good[0].size:
        return np.array([agrees.mean(), np.nan, np.nan])
    if target.ndim == 2:
        labels: NDArray[Any] = label_components(target)
    else:
        labels = label_grown_components(target)
    squared = squared_distance(target)
    components = int(labels.max())
    deepest = np.zeros(components + 1)
    np.maximum.at(deepest, labels[target], squared[target])
    hit = labels[good]
    # Each component has its own maximum depth: a click at the centre of a small component counts 1.
    centredness = np.sqrt(squared[good] / deepest[hit]).mean()
    # With more marks than components, the marks cannot all be on different components, and vice
    # versa.
    diversity = len(np.unique(hit)) / min(components, len(hit))
    return np.array([agrees.mean(), centredness, diversity])


def compute_user_shift(
    simulated: ArrayLike,
    people: ArrayLike,
    groups: Sequence[Any] | NDArray[Any] | None = None,
    *,
    seed: int = 0,
) -> list[PairedDifference]:
    """Return the difference in each measure between the simulated user and people, with intervals over groups.

    >>> [shift.difference for shift in compute_user_shift([[1.0, 0.9], [1.0, 0.7]], [[0.5, 0.5], [0.5, np.nan]])]
    [0.5, 0.4]

    Args:
        simulated: real (n, measures), one row per dialogue: its behaviour, and its performance
            such as Dice after a round or the area under its curve.
        people: the same for people's dialogues about the same targets, in the same order.
        groups: group of each row; None makes each row its own group.
        seed: seed of the sign flips.

    Returns:
        for each measure, the user's mean minus people's mean, over the rows in which both are
            finite.

    Raises:
        InvalidInput: shapes differ.
    """
    one = np.asarray(simulated, dtype=np.float64)
    two = np.asarray(people, dtype=np.float64)
    if one.ndim != 2 or one.shape != two.shape:
        raise InvalidInput(
            f"shift: expected rows of the same dialogues, got shapes {one.shape} and {two.shape}"
        )
    names = np.arange(len(one)) if groups is None else np.asarray(groups)
    is_known = np.isfinite(one) & np.isfinite(two)
    differences: list[PairedDifference] = []
    for column, rows in enumerate(is_known.T):
        differences.append(
            paired_difference(one[rows, column], two[rows, column], names[rows], seed=seed)
        )
    return differences
