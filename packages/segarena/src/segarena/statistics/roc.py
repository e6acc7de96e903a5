"""Area under the ROC curve (AUC), and its bootstrap over groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import draw_counts
from segarena.statistics.two_samples import Floats


def area_under_roc(first: ArrayLike, second: ArrayLike) -> float:
    """Return the probability that a value of `second` is above one of `first`, where ties count half.

    >>> area_under_roc([0.1, 0.4], [0.4, 0.8])
    0.875

    Raises:
        InvalidInput: an input has no values, more than one axis, or NaN.
    """
    low = np.asarray(first, dtype=np.float64)
    high = np.asarray(second, dtype=np.float64)
    if not _is_valid(low) or not _is_valid(high):
        raise InvalidInput(
            f"ROC: expected two lists of values without NaN, got shapes {low.shape} and {high.shape}"
        )
    wins = _below(np.sort(low), high).sum()
    pairs = low.size * high.size
    return float(wins / pairs)


def _is_valid(values: Floats) -> bool:
    return values.ndim == 1 and values.size > 0 and not np.isnan(values).any()


def area_over_groups(
    first: Floats,
    second: Floats,
    groups: NDArray[np.int64],
    repeats: int,
    rng: np.random.Generator,
) -> tuple[float, Floats]:
    """Return the AUC, averaged over several scores, and its bootstrap values over groups.

    >>> scores = np.array([[0.1, 0.4]]), np.array([[0.4, 0.8]])
    >>> area, draws = area_over_groups(*scores, np.array([0, 1, 0, 1]), 3, np.random.default_rng(0))
    >>> area, draws.tolist()
    (0.875, [1.0, 0.875, 1.0])

    Args:
        first: (scores, n1), several scores of each value of the first sample.
        second: (scores, n2), the same for the second sample.
        groups: (n1 + n2,) group of each value, indexed from 0, groups of the first sample's values before
            those of the second.
        repeats: number of bootstrap samples.
        rng: random generator; its use depends only on the number of groups.

    Returns:
        The AUC, and the AUC of each bootstrap sample, (repeats,): NaN for a bootstrap sample without
        values of the first or of the second sample.
    """
    wins, sizes = _wins(first, second, groups)
    areas: list[Floats] = []
    for times in draw_counts(len(sizes), repeats, rng):
        # A pair of groups counts as often as a bootstrap sample contains both.
        drawn_wins = ((times @ wins) * times).sum(axis=1)
        drawn_pairs = (times @ sizes).prod(axis=1)
        with np.errstate(invalid="ignore"):  # 0 / 0 where a draw has no values of one sample
            areas.append(drawn_wins / drawn_pairs)
    area = wins.sum() / sizes.sum(axis=0).prod()
    return float(area), np.concatenate(areas)


def _wins(
    first: Floats,
    second: Floats,
    groups: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Count, for each pair of groups, the value pairs in which the second value is above the first; ties count half.

    Returns:
        The counts, (groups of first, groups of second), averaged over the scores; and the number of values of each
        sample per group, (groups, 2).
    """
    count = int(groups.max()) + 1
    scores, first_size = first.shape
    first_groups = groups[:first_size]
    second_groups = groups[first_size:]
    wins = np.zeros((count, count))
    for low, high in zip(first, second, strict=True):
        for group in np.unique(first_groups):
            own = np.sort(low[first_groups == group])
            below = _below(own, high)
            wins[group] += np.bincount(second_groups, weights=below, minlength=count)
    first_sizes = np.bincount(first_groups, minlength=count)
    second_sizes = np.bincount(second_groups, minlength=count)
    sizes = np.stack([first_sizes, second_sizes], axis=1)
    return wins / scores, sizes.astype(np.float64)


def _below(ordered: Floats, values: Floats) -> Floats:
    """Return the number of values in `ordered` below each value; equal values count half."""
    below = np.searchsorted(ordered, values, "left")
    at_most = np.searchsorted(ordered, values, "right")
    return (below + at_most) / 2
