"""Weighted sampling from all elements, or from a range of the cumulative distribution of sorted weights."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_FULL_SORT_LIMIT = 1 << 14
"""Number of weights up to which sorting all of them is faster than sorting one size class."""
# Binary digits of the significands of IEEE 754 single and double precision, including the implicit
# leading one.
_FLOAT32_DIGITS = 24
_FLOAT64_DIGITS = 53
_KEY_SHIFT = 16  # leaves sign, exponent and 7 bits of the mantissa of a float32


class SamplingWeights:
    """Weights for repeated sampling, with cached intermediate results.

    Args:
        values: float64 or float32 (n,), non-negative. Sums are computed in float64. Sampling
            requires a positive sum.
    """

    def __init__(self, values: NDArray[np.floating]) -> None:
        self.values = values
        self._sorted: dict[
            int, tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.float64]]
        ] = {}

    @cached_property
    def total(self) -> float:
        """Sum of the weights; 0 if there are none."""
        return float(self.values.sum(dtype=np.float64))

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """Cumulative sum of the weights, in the given order."""
        return np.cumsum(self.values, dtype=np.float64)

    def draw(
        self,
        low: float,
        high: float,
        uniform: float,
    ) -> int:
        """Sample an index, with the sorted weights restricted to the shares `low` to `high` of their sum.

        Equal weights keep the given order. With the bounds 0 and 1 the order does not affect the
        distribution, so the weights are not sorted.

        Args:
            low: lower bound, as a share of the total.
            high: upper bound, as a share of the total.
            uniform: a uniform random number in [0, 1).
        """
        # The usual case of an unrestricted user. Skipping the sort matters here, because the map of
        # a photograph can have millions of pixels.
        if low == 0.0 and high == 1.0:
            mass = uniform * self.sums[-1]
            return _index_at(self.sums, mass)
        share = low + uniform * (high - low)
        return self._at_rank(share)

    def draw_published(
        self,
        low: float,
        high: float,
        uniform: float,
    ) -> int:
        """Sample among the indices whose weights lie between the weights at the two bounds, as published.

        Sums are computed in float64. The published code compares two float32 sums that are rounded
        differently; on large maps it can therefore never sample the most likely pixels.
        """
        ordered, sums = self._ordered
        total = sums[-1]
        # The published code takes the first sum that reaches the lower bound but the first that
        # exceeds the upper one, hence the two sides.
        first = int(np.searchsorted(sums, low * total, side="left"))
        last = int(np.searchsorted(sums, high * total, side="right"))
        last = min(last, len(sums) - 1)
        # All weights between the two values count, including equal weights beyond the bounds.
        is_inside = (self.values >= ordered[first]) & (self.values <= ordered[last])
        values = np.where(is_inside, self.values, 0)
        sums_inside = np.cumsum(values, dtype=np.float64)
        return _index_at(sums_inside, uniform * sums_inside[-1])

    def _at_rank(self, share: float) -> int:
        """Return the index where the cumulative sum of the sorted weights exceeds `share` of the total.

        Small arrays are sorted completely if their sums are exact in any order. In large arrays,
        only one class is sorted: the weights of about the same size as the weight sought.
        """
        if self._can_sort_fully:
            ordered, sums = self._ordered
            rank = _index_at(sums, share * sums[-1])
            # Sorting loses the positions. The rank among equal weights recovers the index, because
            # equal weights keep the given order.
            equals = np.flatnonzero(self.values == ordered[rank])
            first_rank = ordered.searchsorted(ordered[rank])
            return int(equals[rank - first_rank])
        _, sums = self._classes
        mass = share * sums[-1]
        key = _index_at(sums, mass)
        if key not in self._sorted:
            self._sorted[key] = self._sort_class(key)
        inside, ordered, class_sums = self._sorted[key]
        # The classes below contribute their whole mass, so their weights never need sorting.
        mass_below = sums[key - 1] if key else 0.0
        rank = _index_at(class_sums, mass - mass_below)
        if ordered[0] == ordered[-1]:
            return int(inside[rank])
        equals = inside[self.values[inside] == ordered[rank]]
        first_rank = np.searchsorted(ordered, ordered[rank])
        return int(equals[rank - first_rank])

    @cached_property
    def _can_sort_fully(self) -> bool:
        """Test whether the weights are few, of type float32, and have exact sums.

        Every weight is a multiple of the last binary digit of the smallest weight. A float64 sum is
        exact as long as it needs at most 53 binary digits down to that digit.
        """
        if self.values.dtype != np.float32 or len(self.values) > _FULL_SORT_LIMIT:
            return False
        ordered, sums = self._ordered
        smallest = ordered[ordered.searchsorted(np.float32(0), side="right")]
        _, exponent = math.frexp(smallest)
        exact_exponent = exponent - _FLOAT32_DIGITS + _FLOAT64_DIGITS - 1
        return float(sums[-1]) < math.ldexp(1.0, exact_exponent)

    def _sort_class(
        self, key: int
    ) -> tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.float64]]:
        """Return the indices of one size class, its sorted weights, and their cumulative sum."""
        keys, _ = self._classes
        inside = np.flatnonzero(keys == key)
        ordered = self.values[inside]
        # In depth maps, many classes contain only a single value and need no sorting.
        if ordered.min() != ordered.max():
            ordered = np.sort(ordered)
        return inside, ordered, np.cumsum(ordered, dtype=np.float64)

    @cached_property
    def _classes(self) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """Size class of each weight, and the cumulative sum over the classes in ascending order.

        The classes are the leading bits of the float; read as integers, they order non-negative
        floats by size.
        """
        values = self.values
        if values.dtype != np.float32:
            # Casting may overflow to infinity or underflow to 0, but it is monotonic, so the
            # classes stay in order.
            with np.errstate(over="ignore", under="ignore"):
                values = values.astype(np.float32)
        bits = values.view(np.uint32)
        keys = (bits >> _KEY_SHIFT).astype(np.uint16)
        # Masses are summed from the original weights, not from the rounded ones that define the
        # classes.
        masses = np.bincount(keys, weights=self.values)
        return keys, np.cumsum(masses, dtype=np.float64)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        ordered = np.sort(self.values)
        return ordered, np.cumsum(ordered, dtype=np.float64)


def _index_at(sums: NDArray[np.float64], mass: float) -> int:
    """Return the index at which a cumulative sum exceeds `mass`; never an index with weight 0."""
    index = int(np.searchsorted(sums, mass, side="right"))
    # Rounding can raise the mass to the total; then the last index with a positive weight is
    # correct.
    last = int(np.searchsorted(sums, sums[-1], side="left"))
    return min(index, last)
