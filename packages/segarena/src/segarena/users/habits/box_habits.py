"""Box habits: distribution of the edges of people's boxes by object size, with heavy tails.

An offset is the distance of an edge outside that of the smallest box around the object, negative
where it cuts the object, over the length of the side that it shortens or lengthens: the height for
top and bottom, the width for left and right. Each size class has the quantiles of these offsets;
between classes they are interpolated over the logarithm of the side. A t copula couples the four
edges of a box: one that is far off is seldom alone. People differ by a factor.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

BOX_EDGES = ("top", "left", "bottom", "right")
SIDE_OF_EDGE = (0, 1, 0, 1)
"""Side that each of `BOX_EDGES` shortens or lengthens: 0 is the height, 1 the width."""


class SizeClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Offset quantiles for sides of about one length.

    Attributes:
        side_px: side length that the quantiles belong to.
        edges: number of edges behind the quantiles; 0 where they were computed from published
            figures.
        quantiles: offsets at the habits' `levels`: a row for each of `BOX_EDGES`, or one for all
            four.
    """

    side_px: float
    edges: int
    quantiles: tuple[tuple[float, ...], ...]


class BoxHabits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Box habits of a population.

    Attributes:
        source: origin of the numbers.
        between_people: standard deviation of the logarithm of a person's factor, which multiplies
            their offsets.
        tail: degrees of freedom of the copula; the fewer, the more often several edges of a box are
            far off together.
        correlation: correlation matrix of the copula, (4, 4) in the order of `BOX_EDGES`.
        levels: shares at which quantiles are given, ascending from 0 to 1.
        sizes: size classes, ascending by side.
    """

    source: str
    between_people: float
    tail: float
    correlation: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]
    sizes: tuple[SizeClass, ...]

    def factor(self, person: np.random.Generator) -> float:
        """Draw a person's factor: the ratio of their offsets to the average person's."""
        return math.exp(self.between_people * float(person.standard_normal()))

    def offsets_px(self, sides_px: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the offsets of boxes around objects, (n, 4) px, in the order of `BOX_EDGES`.

        Args:
            sides_px: height and width of each object's smallest box, (n, 2).
            rng: source of the draws.
        """
        sides = np.asarray(sides_px, dtype=np.float64)[:, SIDE_OF_EDGE]
        shares = self.shares(len(sides), rng)
        offsets = [
            self.offsets(sides[:, edge], shares[:, edge], edge) for edge in range(len(BOX_EDGES))
        ]
        return sides * np.stack(offsets, axis=1)

    def offsets(self, sides_px: ArrayLike, shares: ArrayLike, edge: int) -> NDArray[np.float64]:
        """Return the quantiles of one edge's offsets at `shares` for each of the sides, (n,)."""
        log_sides = np.log(np.asarray(sides_px, dtype=np.float64))
        class_log_sides = np.log([size.side_px for size in self.sizes])
        last = len(class_log_sides) - 1
        class_position = np.interp(log_sides, class_log_sides, np.arange(last + 1))
        class_offsets = np.stack([self._class_offsets(size, shares, edge) for size in self.sizes])
        below = np.minimum(class_position.astype(np.int64), last)
        above = np.minimum(below + 1, last)
        every = np.arange(len(class_position))
        step = class_offsets[above, every] - class_offsets[below, every]
        return class_offsets[below, every] + (class_position - below) * step

    def shares(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the shares of their distributions at which the edges of `count` boxes lie, (count, 4)."""
        return copula_shares(count, np.asarray(self.correlation), self.tail, rng)

    def _class_offsets(self, size: SizeClass, shares: ArrayLike, edge: int) -> NDArray[np.float64]:
        # One row of quantiles serves all four edges.
        quantiles = size.quantiles[edge % len(size.quantiles)]
        return np.interp(np.asarray(shares), self.levels, quantiles)


def copula_shares(
    count: int, correlation: NDArray[np.float64], tail: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw from a t copula, (count, k), each column uniform; `correlation` is (k, k), `tail` above 0."""
    # Loaded here: scipy.special takes longer to import than most commands run.
    from scipy.special import stdtr

    normal = rng.standard_normal((count, len(correlation))) @ np.linalg.cholesky(correlation).T
    common = np.sqrt(rng.chisquare(tail, (count, 1)) / tail)
    return np.asarray(stdtr(tail, normal / common), dtype=np.float64)
