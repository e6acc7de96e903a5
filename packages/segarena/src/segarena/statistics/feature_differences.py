"""Differences between two samples, feature by feature, to explain why a classifier distinguishes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from segarena.statistics.two_samples import Floats, stack_samples


@dataclass(frozen=True, slots=True, eq=False)
class FeatureDifferences:
    """Differences between two samples, feature by feature.

    Attributes:
        ks: float64 (k,), Kolmogorov-Smirnov distance: the largest difference between the two distribution functions.
        above: float64 (k,), probability that a value of the second sample is above one of the first, where ties count
            half: above 0.5 the second sample tends to higher values, below 0.5 to lower ones.
        medians: float64 (2, k), medians of the first and of the second sample.
    """

    ks: Floats
    above: Floats
    medians: Floats


def feature_differences(first: ArrayLike, second: ArrayLike) -> FeatureDifferences:
    """Compare two samples in each feature.

    >>> found = feature_differences([[1.0, 5.0], [2.0, 6.0]], [[3.0, 6.0], [4.0, 5.0]])
    >>> found.ks.tolist(), found.above.tolist()
    ([1.0, 0.0], [1.0, 0.5])

    Args:
        first: real (n1, k), finite.
        second: real (n2, k).

    Raises:
        InvalidInput: shapes do not match, there are no values, or values are not finite.
    """
    values, (count, _) = stack_samples(first, second)
    one = np.sort(values[:count], axis=0)
    two = np.sort(values[count:], axis=0)
    distances: list[float] = []
    probabilities: list[float] = []
    for first_values, second_values in zip(one.T, two.T, strict=True):
        distance, probability = _compare_sorted(first_values, second_values)
        distances.append(distance)
        probabilities.append(probability)
    medians = np.stack([np.median(one, axis=0), np.median(two, axis=0)])
    return FeatureDifferences(np.array(distances), np.array(probabilities), medians)


def _compare_sorted(one: Floats, two: Floats) -> tuple[float, float]:
    """Return the KS distance of two sorted samples, and the probability that `two` is above `one`."""
    pooled = np.concatenate([one, two])
    first_shares = np.searchsorted(one, pooled, "right") / len(one)
    second_shares = np.searchsorted(two, pooled, "right") / len(two)
    distance = np.abs(first_shares - second_shares).max()
    # Values of `one` below each value of `two` count twice, equal ones once.
    below = np.searchsorted(one, two, "left")
    at_most = np.searchsorted(one, two, "right")
    twice_below = below + at_most
    probability = twice_below.mean() / (2 * len(one))
    return float(distance), float(probability)
