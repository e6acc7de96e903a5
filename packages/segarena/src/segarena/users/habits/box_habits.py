"""Where the edges of people's boxes fall: a spread that depends on the object's size, with heavy tails.

An offset is how far an edge lies outside that of the smallest box around the object, negative where it cuts the object,
over the length of the side that it shortens or lengthens: the height for top and bottom, the width for left and right.
Each size class has the quantiles of these offsets; between classes they are interpolated over the logarithm of the
side. The four edges of a box hang together by a t copula: one that is far off is seldom alone. People differ by a
factor.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

BOX_EDGES = ("top", "left", "bottom", "right")


class SizeClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sides of about one length.

    Attributes:
        side_px: the length that the quantiles are of.
        edges: how many edges they were taken from; 0 where they were computed.
        quantiles: of the offsets at the habits' `levels`: a row for each of `EDGES`, or one for all four.
    """

    side_px: float
    edges: int
    quantiles: tuple[tuple[float, ...], ...]


class BoxHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How people's boxes lie around objects.

    Attributes:
        source: where the numbers come from.
        between_people: standard deviation of the logarithm of a person's factor, by which their offsets are larger.
        tail: degrees of freedom of the copula; the smaller, the more the edges of one box are far off together.
        correlation: of the copula, (4, 4) in the order of `EDGES`.
        levels: the shares at which quantiles are given, ascending from 0 to 1.
        sizes: ascending by side.
    """

    source: str
    between_people: float
    tail: float
    correlation: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]
    sizes: tuple[SizeClass, ...]

    def factor(self, person: np.random.Generator) -> float:
        """Return by which factor the offsets of somebody are larger than those of people on the average."""
        return math.exp(self.between_people * float(person.standard_normal()))

    def offsets_px(self, sides_px: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return how far the edges of boxes lie outside those of objects, (n, 4) px, in the order of `EDGES`.

        Args:
            sides_px: height and width of each object's smallest box, (n, 2).
            rng: draws them.
        """
        sides = np.asarray(sides_px, dtype=np.float64)[:, [0, 1, 0, 1]]
        shares = self.shares(len(sides), rng)
        found = [
            self.offsets(sides[:, edge], shares[:, edge], edge) for edge in range(len(BOX_EDGES))
        ]
        return sides * np.stack(found, axis=1)

    def offsets(self, sides_px: ArrayLike, shares: ArrayLike, edge: int) -> NDArray[np.float64]:
        """Return the offset of one edge that a share of people's are at most, (n,) over the sides."""
        known = np.log([one.side_px for one in self.sizes])
        place = np.interp(
            np.log(np.asarray(sides_px, dtype=np.float64)), known, np.arange(len(known))
        )
        rows = [one.quantiles[edge % len(one.quantiles)] for one in self.sizes]
        at = np.stack([np.interp(np.asarray(shares), self.levels, row) for row in rows])
        below = np.minimum(place.astype(np.int64), len(known) - 1)
        above = np.minimum(below + 1, len(known) - 1)
        every = np.arange(len(place))
        return at[below, every] + (place - below) * (at[above, every] - at[below, every])

    def shares(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return which share of its distribution each edge of `count` boxes is at, (count, 4): each is uniform."""
        return copula_shares(count, np.asarray(self.correlation), self.tail, rng)


def copula_shares(
    count: int, correlation: NDArray[np.float64], tail: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return draws of a t copula, (count, k), each uniform by itself; `correlation` (k, k), `tail` above 0."""
    from scipy.special import stdtr

    normal = rng.standard_normal((count, len(correlation))) @ np.linalg.cholesky(correlation).T
    common = np.sqrt(rng.chisquare(tail, (count, 1)) / tail)
    return np.asarray(stdtr(tail, normal / common), dtype=np.float64)
