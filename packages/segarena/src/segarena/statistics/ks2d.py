"""The two-dimensional Kolmogorov-Smirnov test of whether two sets of points come from one distribution.

Fasano and Franceschini's variant of Peacock's test, with the p-value of Numerical Recipes, as RClicks uses it
(section 4.2, metric KS). Every point of either set divides the plane into four quadrants; D is the largest difference
of the two sets' shares in a quadrant. Many sets are tested against one at once by comparison matrices: the real clicks
against 100 draws from a click model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput
from segarena.statistics.correlations import pearson

_AT_ONCE = 1 << 20  # comparisons in memory at a time, of both coordinates: 4 MB


@dataclass(frozen=True, slots=True, eq=False)
class KsTestResults:
    """Results of testing each of B sets against one.

    Attributes:
        statistics: float64 (B,), D in 0..1.
        p_values: float64 (B,); small means "not one distribution". NaN when a coordinate is the same for all points
            of a set, or a set has a single point, because their correlation is not defined.
    """

    statistics: NDArray[np.float64]
    p_values: NDArray[np.float64]


def ks2d(sets: ArrayLike, points: ArrayLike) -> KsTestResults:
    """Return the two-sample test of each of `sets` against `points`.

    Symmetric in the two samples and in the two coordinates; not in their direction, for quadrants include the
    lower border and not the upper, and only the lower left one takes the correction of 1 / n.

    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> ks2d(square, square).p_values.round(2).tolist()
    [0.97]
    >>> ks2d(square, [[8, 8], [8, 9], [9, 8], [9, 9]]).statistics.tolist()
    [1.0]

    Args:
        sets: real (B, n, 2), or (n, 2) for a single set.
        points: real (m, 2).

    Raises:
        InvalidInput: other shapes, a set without points, or coordinates that are not finite.

    Source: Fasano and Franceschini 1987; Press et al., Numerical Recipes, "Two-dimensional K-S test". The
    correction of 1 / n follows the code that RClicks calls, not its unused second implementation.
    """
    many = _points(sets)
    one = _points(points)
    if one.shape[0] != 1:
        raise InvalidInput(f"points: expected a single set (m, 2), got shape {np.shape(points)}")
    statistics = (_greatest_difference(many, one) + _greatest_difference(one, many)) / 2
    return KsTestResults(statistics, _p_values(statistics, many, one))


def _points(points: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(points, dtype=np.float64)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] != 2 or 0 in array.shape:
        raise InvalidInput(
            f"points: expected (n, 2) with at least one point, got shape {np.shape(points)}"
        )
    if not np.isfinite(array).all():
        raise InvalidInput("points: contain NaN or infinity")
    return array


def _greatest_difference(
    own: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the one-sided D of each pair of sets: quadrants at the points of `own`, its share minus the other's."""
    corners = own.shape[1]
    one = 1.0 / corners
    greatest = np.zeros(max(len(own), len(other)))
    for part in row_chunks(corners, max(own.size, other.size), most=_AT_ONCE):
        shares = _quadrant_shares(own[:, part], own) - _quadrant_shares(own[:, part], other)
        shares[0] -= one  # the corner itself lies in this quadrant; leave it out
        furthest = np.maximum(-shares.min(axis=(0, 2)), shares.max(axis=(0, 2)) + one)
        np.maximum(greatest, furthest, out=greatest)
    return greatest


def _quadrant_shares(
    corners: NDArray[np.float64], sets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the shares of `sets` (B or 1, n, 2) around each of `corners` (B or 1, p, 2), as (4, B, p).

    The quadrants: both coordinates <= the corner's, the first alone, the second alone, neither.
    """
    n = sets.shape[1]
    first = (sets[:, None, :, 0] <= corners[:, :, None, 0]).astype(np.float32)
    second = (sets[:, None, :, 1] <= corners[:, :, None, 1]).astype(np.float32)
    in_both = np.einsum("bpn,bpn->bp", first, second).astype(np.float64)
    in_first = first.sum(axis=2, dtype=np.float64)
    in_second = second.sum(axis=2, dtype=np.float64)
    counts = np.stack(
        [in_both, in_first - in_both, in_second - in_both, n - in_first - in_second + in_both]
    )
    return counts / n


def _p_values(
    statistics: NDArray[np.float64], many: NDArray[np.float64], one: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return p-values by the formula of Numerical Recipes."""
    from scipy.special import kolmogorov

    n = many.shape[1]
    m = one.shape[1]
    root = np.sqrt(n * m / (n + m))
    many_correlation = pearson(many[..., 0], many[..., 1])
    one_correlation = pearson(one[..., 0], one[..., 1])
    mean_squared = (many_correlation**2 + one_correlation**2) / 2
    spread = np.sqrt(np.maximum(0.0, 1 - mean_squared))
    scaled = statistics * root / (1 + spread * (0.25 - 0.75 / root))
    p_values: Any = kolmogorov(scaled)
    return p_values
