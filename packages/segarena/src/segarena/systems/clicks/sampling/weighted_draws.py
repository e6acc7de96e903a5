"""Weighted sampling: from all weights, or from a range of the cumulated sorted weights."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_FULL_SORT_LIMIT = 1 << 14
"""Number of weights up to which a complete sort is cheaper than sorting one class."""
_FLOAT32_DIGITS = 24
_FLOAT64_DIGITS = 53
_KEY_SHIFT = 16  # leaves sign, exponent and 7 bits of the mantissa of a float32


class SamplingWeights:
    """Weights for repeated draws; intermediate results are cached between draws.

    Args:
        values: float64 or float32 (n,), none negative. Sums are float64. Draws need a sum above 0.
    """

    def __init__(self, values: NDArray[np.floating]) -> None:
        self.values = values
        self._sorted: dict[
            int, tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.float64]]
        ] = {}

    @cached_property
    def total(self) -> float:
        """The sum; 0 without weights."""
        return float(self.values.sum(dtype=np.float64))

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The running sum, in the given order."""
        return np.cumsum(self.values, dtype=np.float64)

    def draw(self, low: float, high: float, uniform: float) -> int:
        """Draw an index from the mass between `low` and `high` of the sorted weights.

        Equal weights count in the given order. With bounds 0 and 1 the order does not affect the
        distribution, and the weights are not sorted.

        Args:
            low: lower bound, as a share of the total.
            high: upper bound, as a share of the total.
            uniform: a random number in [0, 1).
        """
        if low == 0.0 and high == 1.0:
            mass = uniform * self.sums[-1]
            return _index_at(self.sums, mass)
        share = low + uniform * (high - low)
        return self._at_rank(share)

    def draw_published(self, low: float, high: float, uniform: float) -> int:
        """Draw an index from all weights between the weights found at the bounds, as published.

        Sums are float64. The published code compares two float32 sums that are rounded
        differently, and so can never draw the likeliest pixels of large maps.
        """
        ordered, sums = self._ordered
        total = sums[-1]
        first = int(np.searchsorted(sums, low * total, side="left"))
        last = int(np.searchsorted(sums, high * total, side="right"))
        last = min(last, len(sums) - 1)
        # All weights of these values count, also equal ones beyond the bounds.
        is_inside = (self.values >= ordered[first]) & (self.values <= ordered[last])
        values = np.where(is_inside, self.values, 0)
        sums_inside = np.cumsum(values, dtype=np.float64)
        return _index_at(sums_inside, uniform * sums_inside[-1])

    def _at_rank(self, share: float) -> int:
        """Return the index where the sum of the sorted weights exceeds `share` of the total.

        Few weights are sorted completely, if their sums are exact in any order. Of many weights
        only one class is sorted: the weights about as large as the wanted one.
        """
        if self._can_sort_fully:
            ordered, sums = self._ordered
            rank = _index_at(sums, share * sums[-1])
            equals = np.flatnonzero(self.values == ordered[rank])
            first_rank = ordered.searchsorted(ordered[rank])
            return int(equals[rank - first_rank])
        _, sums = self._classes
        mass = share * sums[-1]
        key = _index_at(sums, mass)
        if key not in self._sorted:
            self._sorted[key] = self._sort_class(key)
        inside, ordered, class_sums = self._sorted[key]
        mass_below = sums[key - 1] if key else 0.0
        rank = _index_at(class_sums, mass - mass_below)
        if ordered[0] == ordered[-1]:
            return int(inside[rank])
        equals = inside[self.values[inside] == ordered[rank]]
        first_rank = np.searchsorted(ordered, ordered[rank])
        return int(equals[rank - first_rank])

    @cached_property
    def _can_sort_fully(self) -> bool:
        """Whether there are few weights, of float32, whose sums are exact.

        Every weight is a multiple of the last digit of the smallest one. A float64 sum keeps this
        digit as long as it needs fewer than 53 binary digits.
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
        """Return the indices of one class, their weights sorted, and the running sum of those."""
        keys, _ = self._classes
        inside = np.flatnonzero(keys == key)
        ordered = self.values[inside]
        # In depth maps many classes hold a single value, which needs no sorting.
        if ordered.min() != ordered.max():
            ordered = np.sort(ordered)
        return inside, ordered, np.cumsum(ordered, dtype=np.float64)

    @cached_property
    def _classes(self) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """Size class of each weight, and the running sum over the classes in ascending order.

        The leading bits of a non-negative float, read as an integer, order floats by size.
        """
        values = self.values
        if values.dtype != np.float32:
            with np.errstate(over="ignore", under="ignore"):
                values = values.astype(np.float32)
        bits = values.view(np.uint32)
        keys = (bits >> _KEY_SHIFT).astype(np.uint16)
        masses = np.bincount(keys, weights=self.values)
        return keys, np.cumsum(masses, dtype=np.float64)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        ordered = np.sort(self.values)
        return ordered, np.cumsum(ordered, dtype=np.float64)


def _index_at(sums: NDArray[np.float64], mass: float) -> int:
    """Return the index at which a running sum exceeds `mass`; never one with weight 0."""
    index = int(np.searchsorted(sums, mass, side="right"))
    # Rounding can lift the mass to the total; then the last index with a weight is right.
    last = int(np.searchsorted(sums, sums[-1], side="left"))
    return min(index, last)
