"""Two-dimensional Kolmogorov-Smirnov test of whether two point sets come from one distribution.

This is Fasano and Franceschini's variant of Peacock's test, with the p-value of Numerical Recipes,
as in RClicks (section 4.2, metric KS). Every point of either set divides the plane into four
quadrants. For each set, the largest difference between the shares of the two sets in a quadrant is
taken over its points; D is the mean of these two differences. Many sets can be tested against one
at once, such as 100 samples from a click model against the real clicks.
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
    """Results of testing each of B point sets against one other set.

    Attributes:
        statistics: float64 (B,), D in 0..1.
        p_values: float64 (B,); small values mean that the distributions differ. NaN if a coordinate is the same for all
            points of a set, or a set has a single point, because their correlation is undefined.
    """

    statistics: NDArray[np.float64]
    p_values: NDArray[np.float64]


def ks2d(sets: ArrayLike, points: ArrayLike) -> KsTestResults:
    """Run the two-sample test of each of `sets` against `points`.

    The test is symmetric in the two samples and in the two coordinates. It is not symmetric under
    reversal of a coordinate: a point on the border of two quadrants counts in the lower one, and
    the corrections of 1 / n treat the lower left quadrant differently from the others.

    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> ks2d(square, square).p_values.round(2).tolist()
    [0.97]
    >>> ks2d(square, [[8, 8], [8, 9], [9, 8], [9, 9]]).statistics.tolist()
    [1.0]

    Args:
        sets: real (B, n, 2): B sets of n points; or (n, 2) for a single set.
        points: real (m, 2): the other set.

    Raises:
        InvalidInput: a shape is invalid, a set has no points, or coordinates are not finite.

    Source: Fasano and Franceschini 1987; Press et al., Numerical Recipes, "Two-dimensional K-S test". The
    correction of 1 / n follows the code that RClicks calls, not its unused second implementation.
    """
    many = _points(sets)
    one = _points(points)
    if one.shape[0] != 1:
        raise InvalidInput(f"points: expected a single set (m, 2), got shape {np.shape(points)}")
    at_sets = _greatest_difference(many, one)
    at_points = _greatest_difference(one, many)
    statistics = (at_sets + at_points) / 2
    return KsTestResults(statistics, _p_values(statistics, many, one))


def _points(points: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim == 2:
        array = array[None]
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
    """Return the one-sided D of each pair: the largest difference of shares in a quadrant at a point of `own`."""
    corner_count = own.shape[1]
    share_of_one = 1.0 / corner_count
    greatest = np.zeros(max(len(own), len(other)))
    for chunk in row_chunks(corner_count, max(own.size, other.size), most=_AT_ONCE):
        corners = own[:, chunk]
        differences = _quadrant_shares(corners, own) - _quadrant_shares(corners, other)
        differences[0] -= share_of_one  # the corner itself lies in this quadrant; leave it out
        most_below = -differences.min(axis=(0, 2))
        # The correction of 1 / n in the code that RClicks calls; see the source of `ks2d`.
        most_above = differences.max(axis=(0, 2)) + share_of_one
        np.maximum(greatest, np.maximum(most_below, most_above), out=greatest)
    return greatest


def _quadrant_shares(
    corners: NDArray[np.float64], sets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of each set's points in each quadrant around each corner, as (4, B, p).

    `sets` has the shape (B or 1, n, 2), `corners` (B or 1, p, 2).

    The four quadrants: both coordinates are <= those of the corner, only the first is, only the
    second is, or neither is.
    """
    n = sets.shape[1]
    set_points = sets[:, None]
    corner_points = corners[:, :, None]
    # float32 takes half the memory of float64, and is exact for counts up to 16 million points.
    first = (set_points[..., 0] <= corner_points[..., 0]).astype(np.float32)
    second = (set_points[..., 1] <= corner_points[..., 1]).astype(np.float32)
    in_both = np.einsum("bpn,bpn->bp", first, second).astype(np.float64)
    in_first = first.sum(axis=2, dtype=np.float64)
    in_second = second.sum(axis=2, dtype=np.float64)
    first_alone = in_first - in_both
    second_alone = in_second - in_both
    in_neither = n - in_first - in_second + in_both
    counts = np.stack([in_both, first_alone, second_alone, in_neither])
    return counts / n


def _p_values(
    statistics: NDArray[np.float64],
    many: NDArray[np.float64],
    one: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return p-values by the formula of Numerical Recipes."""
    from scipy.special import kolmogorov

    n = many.shape[1]
    m = one.shape[1]
    effective_size_root = np.sqrt(n * m / (n + m))
    many_correlation = pearson(many[..., 0], many[..., 1])
    one_correlation = pearson(one[..., 0], one[..., 1])
    mean_squared = (many_correlation**2 + one_correlation**2) / 2
    spread = np.sqrt(np.maximum(0.0, 1 - mean_squared))
    denominator = 1 + spread * (0.25 - 0.75 / effective_size_root)
    p_values: Any = kolmogorov(statistics * effective_size_root / denominator)
    return p_values
