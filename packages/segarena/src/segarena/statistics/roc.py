"""The area under the ROC curve, and its bootstrap over groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import draw_counts
from segarena.statistics.two_samples import Floats


def area_under_roc(first: ArrayLike, second: ArrayLike) -> float:
    """Return the probability that a value of the second is above one of the first, ties counting half.

    >>> area_under_roc([0.1, 0.4], [0.4, 0.8])
    0.875

    Raises:
        InvalidInput: no values in one of them, other axes, or NaN.
    """
    low = np.asarray(first, dtype=np.float64)
    high = np.asarray(second, dtype=np.float64)
    if (
        low.ndim != 1
        or high.ndim != 1
        or not low.size
        or not high.size
        or np.isnan(low).any()
        or np.isnan(high).any()
    ):
        raise InvalidInput(
            f"ROC: expected values without NaN in both, got shapes {low.shape} and {high.shape}"
        )
    return float(_below(np.sort(low), high).sum() / (low.size * high.size))


def area_over_groups(
    first: Floats, second: Floats, groups: NDArray[np.int64], repeats: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """Return the area, mean over several scores, and its bootstrap draws over groups.

    >>> scores = np.array([[0.1, 0.4]]), np.array([[0.4, 0.8]])
    >>> area, draws = area_over_groups(*scores, np.array([0, 1, 0, 1]), 3, np.random.default_rng(0))
    >>> area, draws.tolist()
    (0.875, [1.0, 0.875, 1.0])

    Args:
        first: (scores, n1).
        second: (scores, n2).
        groups: (n1 + n2,) group of each value, numbered from 0, those of the first before those of the second.
        repeats: number of draws.
        rng: generator, advanced by the draws, which depend only on the number of groups.

    Returns:
        The area, and that of each draw, (repeats,): NaN for a draw without values of one of the
        samples.
    """
    wins, sizes = _wins(first, second, groups)
    areas: list[Floats] = []
    for times in draw_counts(len(sizes), repeats, rng):
        won = ((times @ wins) * times).sum(axis=1)
        pairs = (times @ sizes).prod(axis=1)
        with np.errstate(invalid="ignore"):  # 0 / 0 where a draw has no values of one sample
            areas.append(won / pairs)
    area = wins.sum() / sizes.sum(axis=0).prod()
    return float(area), np.concatenate(areas)


def _wins(first: Floats, second: Floats, groups: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Count for each pair of groups the value pairs in which the second sample is above the first.

    Returns:
        the counts, (groups of first, groups of second), and the values of each sample in each group, (groups, 2).
    """
    count = int(groups.max()) + 1
    one = groups[: first.shape[1]]
    two = groups[first.shape[1] :]
    wins = np.zeros((count, count))
    for low, high in zip(first, second, strict=True):
        for group in np.unique(one):
            below = _below(np.sort(low[one == group]), high)
            wins[group] += np.bincount(two, weights=below, minlength=count)
    sizes = np.stack([np.bincount(part, minlength=count) for part in (one, two)], axis=1)
    return wins / len(first), sizes.astype(np.float64)


def _below(ordered: Floats, values: Floats) -> Floats:
    """Return how many of `ordered` are below each value, equal ones counting half."""
    below = np.searchsorted(ordered, values, "left")
    at_most = np.searchsorted(ordered, values, "right")
    return (below + at_most) / 2
