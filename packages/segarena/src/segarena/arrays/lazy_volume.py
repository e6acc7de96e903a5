"""Masks of volumes that are made plane by plane, when they are looked at, and never held whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from segarena.samples import Mask


@dataclass(frozen=True, slots=True, eq=False)
class LazyVolume:
    """What `combine` says of two masks, read as an array is: by plane, or one plane after the other.

    >>> import numpy as np
    >>> wrong = LazyVolume(np.not_equal, np.ones((2, 1, 3), bool), np.zeros((2, 1, 3), bool))
    >>> wrong.shape, wrong[1].tolist(), len(list(wrong))
    ((2, 1, 3), [[True, True, True]], 2)

    Attributes:
        combine: of two masks of a plane, an elementwise function: `np.greater` says where only the first is on.
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
        """The same volume, planes being what columns were, rows still rows: (W, H, D)."""
        return LazyVolume(self.combine, self.first.T, self.second.T)

    def __getitem__(self, plane: int) -> Mask:
        """Return one plane, bool (H, W)."""
        return self.combine(self.first[plane], self.second[plane])

    def __iter__(self) -> Iterator[Mask]:
        """Yield the planes in order; none is kept."""
        return (self[plane] for plane in range(len(self.first)))

    def __len__(self) -> int:
        """How many planes there are."""
        return len(self.first)


VolumeMask: TypeAlias = Mask | LazyVolume
"""A mask of a volume that is there, or is made."""
