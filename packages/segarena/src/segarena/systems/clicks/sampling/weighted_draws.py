"""Drawing from weights: by their share of the whole, or between two shares of the sorted whole."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 14
_FLOAT32_DIGITS = 24
_FLOAT64_DIGITS = 53
_KEY_SHIFT = 16  # leaves sign, exponent and 7 bits of the mantissa of a float32


class SamplingWeights:
    """Weights that are drawn from, possibly many times; what the draws have in common is computed once.

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
        """The running sum, in the order given."""
        return np.cumsum(self.values, dtype=np.float64)

    def draw(self, low: float, high: float, uniform: float) -> int:
        """Return the index drawn by `uniform`, in [0, 1), from the mass between `low` and `high` of sorted weights.

        Equal weights count in the order given. Between 0 and 1 the order does not matter, and the weights are
        taken as they come.
        """
        if (low, high) == (0.0, 1.0):
            return _index_at(self.sums, uniform * self.sums[-1])
        return self._at_rank(low + uniform * (high - low))

    def draw_published(self, low: float, high: float, uniform: float) -> int:
        """Return the index drawn by `uniform` from all weights between those found at the bounds.

        Sums are float64; the published code mixes two float32 sums and so loses the likeliest pixels of large maps.
        """
        ordered, sums = self._ordered
        first = int(np.searchsorted(sums, low * sums[-1], side="left"))
        last = min(int(np.searchsorted(sums, high * sums[-1], side="right")), len(sums) - 1)
        inside = (self.values >= ordered[first]) & (self.values <= ordered[last])
        kept = np.cumsum(np.where(inside, self.values, 0), dtype=np.float64)
        return _index_at(kept, uniform * kept[-1])

    def _at_rank(self, share: float) -> int:
        """Return the index where the running sum of the sorted weights passes `share` of the whole.

        Few weights are sorted as a whole, if their sums are the same in any order. Of others only one class is: those
        about as large as the one that is looked for.
        """
        if self._is_sorted_soon:
            ordered, sums = self._ordered
            place = _index_at(sums, share * sums[-1])
            equals = np.flatnonzero(self.values == ordered[place])
            return int(equals[place - ordered.searchsorted(ordered[place])])
        _, sums = self._classes
        mass = share * sums[-1]
        key = _index_at(sums, mass)
        if key not in self._sorted:
            self._sorted[key] = self._sort_class(key)
        inside, ordered, upto = self._sorted[key]
        place = _index_at(upto, mass - (sums[key - 1] if key else 0.0))
        if ordered[0] == ordered[-1]:
            return int(inside[place])
        equals = inside[self.values[inside] == ordered[place]]
        return int(equals[place - np.searchsorted(ordered, ordered[place])])

    @cached_property
    def _is_sorted_soon(self) -> bool:
        """Tell whether there are few weights, of float32, whose sums are exact.

        Each is a multiple of the last digit of the smallest. No sum loses such a digit while it takes less than the 53
        digits of a float64.
        """
        if self.values.dtype != np.float32 or len(self.values) > _FEW:
            return False
        ordered, sums = self._ordered
        _, exponent = math.frexp(ordered[ordered.searchsorted(np.float32(0), side="right")])
        return float(sums[-1]) < math.ldexp(1.0, exponent - _FLOAT32_DIGITS + _FLOAT64_DIGITS - 1)

    def _sort_class(
        self, key: int
    ) -> tuple[NDArray[np.int64], NDArray[np.floating], NDArray[np.float64]]:
        """Return the indices of one class, their weights sorted, and the running sum of those."""
        inside = np.flatnonzero(self._classes[0] == key)
        values = self.values[inside]
        ordered = values if values.min() == values.max() else np.sort(values)
        return inside, ordered, np.cumsum(ordered, dtype=np.float64)

    @cached_property
    def _classes(self) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """Return each weight's class, ascending with the weight, and the running sum over classes.

        The leading bits of a float that is not negative, read as a whole number, order it by size.
        """
        values = self.values
        if values.dtype != np.float32:
            with np.errstate(over="ignore", under="ignore"):
                values = values.astype(np.float32)
        bits = values.view(np.uint32)
        keys = (bits >> _KEY_SHIFT).astype(np.uint16)
        masses: NDArray[np.float64] = np.bincount(keys, weights=self.values).astype(
            np.float64, copy=False
        )
        return keys, np.cumsum(masses)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
        ordered = np.sort(self.values)
        return ordered, np.cumsum(ordered, dtype=np.float64)


def _index_at(sums: NDArray[np.float64], mass: float) -> int:
    """Return the index where a running sum passes `mass`; never one that adds nothing to it."""
    index = int(np.searchsorted(sums, mass, side="right"))
    # Rounding can lift the mass to the total itself; then the last index that adds something is meant.
    return min(index, int(np.searchsorted(sums, sums[-1], side="left")))
