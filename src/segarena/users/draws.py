"""Drawing from weights: by their share of the whole, or between two shares of the sorted whole."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_KEY_SHIFT = 16  # leaves sign, exponent and 7 bits of the mantissa of a float32


class Weights:
    """Weights that are drawn from, possibly many times; what the draws have in common is computed once.

    Args:
        values: float64 (n,), none negative, with a sum above 0.
    """

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The running sum, in the order given."""
        return np.cumsum(self.values)

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
        kept = np.cumsum(np.where(inside, self.values, 0.0))
        return _index_at(kept, uniform * kept[-1])

    def _at_rank(self, share: float) -> int:
        """Return the index where the running sum of the sorted weights passes `share` of the whole.

        Only the weights of one class are sorted: the one that holds the share.
        """
        keys, sums = self._classes
        mass = share * sums[-1]
        key = _index_at(sums, mass)
        inside = np.flatnonzero(keys == key)
        order = inside[np.argsort(self.values[inside], kind="stable")]
        below = sums[key - 1] if key else 0.0
        return int(order[_index_at(np.cumsum(self.values[order]), mass - below)])

    @cached_property
    def _classes(self) -> tuple[NDArray[np.uint16], NDArray[np.float64]]:
        """Return each weight's class, ascending with the weight, and the running sum over classes.

        The leading bits of a float that is not negative, read as a whole number, order it by size.
        """
        with np.errstate(over="ignore", under="ignore"):
            bits = self.values.astype(np.float32).view(np.uint32)
        keys = (bits >> _KEY_SHIFT).astype(np.uint16)
        masses: NDArray[np.float64] = np.bincount(keys, weights=self.values).astype(np.float64, copy=False)
        return keys, np.cumsum(masses)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        ordered = np.sort(self.values)
        return ordered, np.cumsum(ordered)


def _index_at(sums: NDArray[np.float64], mass: float) -> int:
    """Return the index where a running sum passes `mass`; never one that adds nothing to it."""
    index = int(np.searchsorted(sums, mass, side="right"))
    # Rounding can lift the mass to the total itself; then the last index that adds something is meant.
    return min(index, int(np.searchsorted(sums, sums[-1], side="left")))
