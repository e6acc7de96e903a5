"""Distances between two sets of clicks: PL1, WD, and a two-sample KS test.

Clicks are arrays (n, 2) of (row, column). Distances are in units of the object's box, given as
(height, width). They compare people who saw the target in different display modes (RClicks,
Table 1), devices (Table 8), and, with draws from a map as one set, click models with people
(`segarena.systems.clicks.measures.click_model_quality`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.boxes import bounding_window, is_empty
from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput, InvalidMask
from segarena.options import Protocol
from segarena.samples import Mask
from segarena.statistics.ks2d import ks2d

BoxSize: TypeAlias = tuple[int, int]
"""Height and width of the object's box in pixels."""

DistanceUnit: TypeAlias = Literal["box_diagonal", "box_sides"]
KS_SIGNIFICANCE = 0.05
"""Two sets count as equally distributed when the p-value is above this."""
_CHUNK_SIZE = 1 << 20  # distances in memory at once: 8 MB


@dataclass(frozen=True, slots=True)
class ClickSetComparison:
    """Agreement of two sets of clicks.

    Attributes:
        pl1: mean L1 distance of all pairs, rows in box heights and columns in box widths.
        wd: Wasserstein distance, in box diagonals.
        ks: 1.0 when the p-value is above 0.05, otherwise 0.0, also when it is NaN.
        p_value: of the two-dimensional KS test; NaN when it is not defined, see `KsTestResults`.
        clicks: number of clicks in each set.
    """

    pl1: float
    wd: float
    ks: float
    p_value: float
    clicks: tuple[int, int]


def box_size(target: Mask) -> BoxSize:
    """Return (height, width) of the smallest box around `target`, both ends included.

    Raises:
        InvalidMask: the target is empty, so distances have no unit.
    """
    window = bounding_window(target)
    if is_empty(window) or target.ndim != 2:
        raise InvalidMask(
            f"target: expected an image mask (H, W) with pixels, got {target.sum()} of {target.shape}"
        )
    rows, columns = window
    return rows.stop - rows.start, columns.stop - columns.start


def box_unit(box: BoxSize, normalise: DistanceUnit) -> NDArray[np.float64]:
    """Return the divisors of row and column distances in pixels, see `wasserstein`.

    Raises:
        InvalidInput: an empty box, or an unknown value of `normalise`.
    """
    if min(box) < 1:
        raise InvalidInput(f"box: expected a height and width of at least 1 pixel, got {box}")
    if normalise not in ("box_diagonal", "box_sides"):
        raise InvalidInput(f"normalise: expected 'box_diagonal' or 'box_sides', got {normalise!r}")
    if normalise == "box_diagonal":
        return np.full(2, math.hypot(*box))
    return np.asarray(box, dtype=np.float64)


def check_clicks_array(clicks: ArrayLike) -> NDArray[np.float64]:
    """Return `clicks` as float64 (n, 2), n at least 1.

    Raises:
        InvalidInput: another shape, no clicks, or coordinates that are not finite.
    """
    array = np.asarray(clicks, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.isfinite(array).all():
        raise InvalidInput(
            f"clicks: expected finite (row, column) pairs, at least one, got shape {np.shape(clicks)}"
        )
    return array


def pairwise_l1(first: ArrayLike, second: ArrayLike, box: BoxSize) -> float:
    """Return PL1: the mean over all pairs of |row diff.| / height + |column diff.| / width.

    The two coordinates add up, so each is summed separately over sorted values: n log n instead of
    n * n. PL1 of equal sets is not 0, unless they are a single point.

    Raises:
        InvalidInput: an empty box, or clicks as in `check_clicks_array`.

    Source: RClicks, section 4.2 (a).
    """
    unit = box_unit(box, "box_sides")
    one = check_clicks_array(first) / unit
    two = check_clicks_array(second) / unit
    row_distance = _mean_distance(one[:, 0], two[:, 0])
    column_distance = _mean_distance(one[:, 1], two[:, 1])
    return row_distance + column_distance


def wasserstein(
    first: ArrayLike, second: ArrayLike, box: BoxSize, *, normalise: DistanceUnit = "box_diagonal"
) -> float:
    """Return WD: the least mean Euclidean distance by which one set is moved onto the other.

    Sets of equal size are matched one to one, which is exact and fast; others go through scipy's
    linear program.

    Args:
        first: (n, 2).
        second: (m, 2).
        box: of the object.
        normalise: "box_diagonal" measures pixels and divides by the diagonal of the box, as the
            published code and numbers do; "box_sides" measures rows in heights and columns in
            widths, a possible reading of the paper's text.

    Raises:
        InvalidInput: an unknown value of `normalise`, an empty box, or clicks as in
            `check_clicks_array`.

    Source: RClicks, section 4.2 (b).
    """
    unit = box_unit(box, normalise)
    one = check_clicks_array(first) / unit
    two = check_clicks_array(second) / unit
    if len(one) == len(two):
        return float(matched_distances(one[None], two)[0])
    from scipy.stats import wasserstein_distance_nd

    return float(wasserstein_distance_nd(one, two))


def matched_distances(
    sets: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the Wasserstein distance of each of `sets` (B, n, 2) to `points` (n, 2).

    Computed by optimal assignment.
    """
    from scipy.optimize import linear_sum_assignment

    distances = np.empty(len(sets))
    for chunk in row_chunks(len(sets), len(points) ** 2, most=_CHUNK_SIZE):
        squares = np.square(sets[chunk, :, None, 0] - points[:, 0])
        squares += np.square(sets[chunk, :, None, 1] - points[:, 1])
        costs = np.sqrt(squares, out=squares)
        # Subtracting a constant from a row or column keeps the best assignment and speeds up the
        # solver.
        reduced = costs - costs.min(axis=1, keepdims=True)
        reduced -= reduced.min(axis=2, keepdims=True)
        # Distances are gathered for all sets at once: set by set would double the time.
        matches = np.array([linear_sum_assignment(table)[1] for table in reduced])
        matched = np.take_along_axis(costs, matches[:, :, None], axis=2)
        distances[chunk] = matched[:, :, 0].mean(axis=1)
    return distances


def compare_click_sets(first: ArrayLike, second: ArrayLike, box: BoxSize) -> ClickSetComparison:
    """Compare two sets of real clicks on one object directly, without bootstrap.

    Raises:
        InvalidInput: an empty box, or clicks as in `check_clicks_array`.

    Source: RClicks, Table 1.
    """
    one = check_clicks_array(first)
    two = check_clicks_array(second)
    p_value = float(ks2d(one, two).p_values[0])
    return ClickSetComparison(
        pl1=pairwise_l1(one, two, box),
        wd=wasserstein(one, two, box),
        ks=float(p_value > KS_SIGNIFICANCE),
        p_value=p_value,
        clicks=(len(one), len(two)),
    )


def compare_devices(
    pc: ArrayLike,
    mobile: ArrayLike,
    box: BoxSize,
    *,
    least_clicks: int = 10,
    protocol: Protocol = "careful",
) -> ClickSetComparison | None:
    """Compare clicks made with a mouse and on a phone; None with too few clicks of either.

    Args:
        pc: (n, 2), may be empty.
        mobile: (m, 2), may be empty.
        box: of the object.
        least_clicks: instances with fewer clicks of a device are left out. The published code
            takes 10 and more; the paper says "more than 10".
        protocol: "published" repeats the published PL1 and WD, which use the column of the PC
            clicks as their row too; KS is not affected.

    Source: RClicks, Table 8.
    """
    fewest = min(len(np.asarray(pc)), len(np.asarray(mobile)))
    if fewest < max(1, least_clicks):
        return None
    compared = compare_click_sets(pc, mobile, box)
    if protocol == "careful":
        return compared
    columns_twice = check_clicks_array(pc)[:, [1, 1]]
    return replace(
        compared,
        pl1=pairwise_l1(columns_twice, mobile, box),
        wd=wasserstein(columns_twice, mobile, box),
    )


def _mean_distance(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the mean absolute difference over all pairs of two lists of numbers."""
    # |a - b| is a - b for every b below a, and b - a for every b above it; running sums of the
    # sorted values give both parts.
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    distance_to_lower = below * first - sums[below]
    distance_to_higher = sums[-1] - sums[below] - (len(ordered) - below) * first
    return float((distance_to_lower + distance_to_higher).mean()) / len(ordered)
