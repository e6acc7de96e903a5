"""How two samples differ in each feature by itself: what to look at once they can be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from segarena.statistics.two_samples import Floats, stack_samples


@dataclass(frozen=True, slots=True, eq=False)
class FeatureDifferences:
    """How two samples differ, feature by feature.

    Attributes:
        ks: float64 (k,), the Kolmogorov-Smirnov distance: how far the shares of values up to any number differ at most.
        above: float64 (k,), the chance that a value of the second sample is above one of the first, ties counting half:
            above 0.5 the second has more of it, below it less.
        medians: float64 (2, k), of the first sample and of the second.
    """

    ks: Floats
    above: Floats
    medians: Floats


def feature_differences(first: ArrayLike, second: ArrayLike) -> FeatureDifferences:
    """Return how two samples differ in each feature.

    >>> found = feature_differences([[1.0, 5.0], [2.0, 6.0]], [[3.0, 6.0], [4.0, 5.0]])
    >>> found.ks.tolist(), found.above.tolist()
    ([1.0, 0.0], [1.0, 0.5])

    Args:
        first: real (n1, k), finite.
        second: real (n2, k).

    Raises:
        InvalidInput: other shapes, no values, or values that are not finite.
    """
    values, (count, _) = stack_samples(first, second)
    one = np.sort(values[:count], axis=0)
    two = np.sort(values[count:], axis=0)
    apart = [_apart(*pair) for pair in zip(one.T, two.T, strict=True)]
    ks, above = np.array(apart).T
    return FeatureDifferences(ks, above, np.stack([np.median(one, axis=0), np.median(two, axis=0)]))


def _apart(one: Floats, two: Floats) -> tuple[float, float]:
    """Return the distance, and the chance that `two` is above, of sorted values of a feature."""
    everywhere = np.concatenate([one, two])
    shares = [np.searchsorted(sample, everywhere, "right") / len(sample) for sample in (one, two)]
    below = np.searchsorted(one, two, "left") + np.searchsorted(one, two, "right")
    return float(np.abs(shares[0] - shares[1]).max()), float(below.mean() / (2 * len(one)))
