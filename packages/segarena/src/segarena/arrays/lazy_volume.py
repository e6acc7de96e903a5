"""Volume masks that are computed plane by plane on access and are never entirely in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from segarena.samples import Mask


@dataclass(frozen=True, slots=True, eq=False)
class LazyVolume:
    """An elementwise combination of two masks with the interface of an array: index or iterate over its planes.

    >>> import numpy as np
    >>> wrong = LazyVolume(np.not_equal, np.ones((2, 1, 3), bool), np.zeros((2, 1, 3), bool))
    >>> wrong.shape, wrong[1].tolist(), len(list(wrong))
    ((2, 1, 3), [[True, True, True]], 2)

    Attributes:
        combine: an elementwise function of the two masks of a plane, such as `np.greater` for pixels that are True
            only in the first.
        first: bool (D, H, W).
        second: bool, same shape.
    """

    combine: Callable[[Mask, Mask], Any]
    first: Mask
    second: Mask

    @property
    def shape(self) -> tuple[int, ...]:
        """(D, H, W)."""
        return self.first.shape

    @property
    def turned(self) -> LazyVolume:
        """The transposed volume, (W, H, D): planes and columns are exchanged, rows stay."""
        return LazyVolume(self.combine, self.first.T, self.second.T)

    def __getitem__(self, plane: int) -> Mask:
        """Return one plane, bool (H, W)."""
        return self.combine(self.first[plane], self.second[plane])

    def __iter__(self) -> Iterator[Mask]:
        """Yield the planes in order, without caching them."""
        return (self[plane] for plane in range(len(self.first)))

    def __len__(self) -> int:
        """Return the number of planes."""
        return len(self.first)


VolumeMask: TypeAlias = Mask | LazyVolume
"""A volume mask, either an array or computed on access."""
