"""Box habits: distributions of the edges of human boxes by object size, with heavy tails.

An offset is the distance of an edge beyond that of the smallest box around the object (negative
inside), divided by the length of the side that it changes: the height for top and bottom, the width
for left and right. Each size class has quantiles of these offsets, and between classes they are
interpolated over the logarithm of the side. A t copula makes extreme offsets of the four edges
occur together. People differ by a factor.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

BOX_EDGES = ("top", "left", "bottom", "right")
SIDE_OF_EDGE = (0, 1, 0, 1)
"""Axis of the side that each of `BOX_EDGES` changes: 0 is the height, 1 the width."""


class SizeClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Offset quantiles for sides of about the same length.

    Attributes:
        side_px: side length to which the quantiles belong.
        edges: number of edges from which the quantiles were computed; 0 if they come from published
            figures.
        quantiles: offsets at the habits' `levels`: one row for each of `BOX_EDGES`, or one row for
            all four.
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
        tail: degrees of freedom of the copula; with fewer, several edges of a box are far off
            together more often.
        correlation: correlation matrix of the copula, (4, 4) in the order of `BOX_EDGES`.
        levels: probabilities of the quantiles, ascending from 0 to 1.
        sizes: size classes, ascending by side.
    """

    source: str
    between_people: float
    tail: float
    correlation: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]
    sizes: tuple[SizeClass, ...]

    def factor(self, person: np.random.Generator) -> float:
        """Sample a person's factor: the ratio of their offsets to the average person's."""
        return math.exp(self.between_people * float(person.standard_normal()))

    def offsets_px(self, sides_px: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
        """Sample the offsets, in pixels, of boxes around objects, (n, 4), in the order of `BOX_EDGES`.

        Args:
            sides_px: height and width of each object's smallest box, (n, 2).
            rng: random generator.
        """
        sides = np.asarray(sides_px, dtype=np.float64)[:, SIDE_OF_EDGE]
        shares = self.shares(len(sides), rng)
        offsets: list[NDArray[np.float64]] = []
        for edge in range(len(BOX_EDGES)):
            edge_offsets = self.offsets(sides[:, edge], shares[:, edge], edge)
            offsets.append(edge_offsets)
        return sides * np.stack(offsets, axis=1)

    def offsets(
        self,
        sides_px: ArrayLike,
        shares: ArrayLike,
        edge: int,
    ) -> NDArray[np.float64]:
        """Return one edge's offset quantiles at the probabilities `shares`, one for each side length, (n,)."""
        log_sides = np.log(np.asarray(sides_px, dtype=np.float64))
        class_log_sides = np.log([size.side_px for size in self.sizes])
        class_count = len(self.sizes)
        last = class_count - 1
        # Sides outside the range of classes get the offsets of the first or last class.
        class_position = np.interp(log_sides, class_log_sides, np.arange(class_count))
        offsets_by_class = [self._class_offsets(size, shares, edge) for size in self.sizes]
        class_offsets = np.stack(offsets_by_class)
        below = np.minimum(class_position.astype(np.int64), last)
        above = np.minimum(below + 1, last)
        box = np.arange(len(class_position))
        offsets_below = class_offsets[below, box]
        offsets_above = class_offsets[above, box]
        return offsets_below + (class_position - below) * (offsets_above - offsets_below)

    def shares(self, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Sample the probabilities whose quantiles are the edge offsets of `count` boxes, (count, 4)."""
        return copula_shares(count, np.asarray(self.correlation), self.tail, rng)

    def _class_offsets(
        self,
        size: SizeClass,
        shares: ArrayLike,
        edge: int,
    ) -> NDArray[np.float64]:
        # A single row of quantiles applies to all four edges.
        quantiles = size.quantiles[edge % len(size.quantiles)]
        return np.interp(np.asarray(shares), self.levels, quantiles)


def copula_shares(
    count: int,
    correlation: NDArray[np.float64],
    tail: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Sample from a t copula, (count, k), with uniform columns; `correlation` is (k, k), `tail` above 0."""
    # Imported here, because importing scipy.special takes longer than most commands run.
    from scipy.special import stdtr

    independent = rng.standard_normal((count, len(correlation)))
    normal = independent @ np.linalg.cholesky(correlation).T
    # A common divisor for all edges of a box gives the multivariate Student's t distribution, in
    # which they are extreme together.
    common = np.sqrt(rng.chisquare(tail, (count, 1)) / tail)
    shares = stdtr(tail, normal / common)
    return np.asarray(shares, dtype=np.float64)
