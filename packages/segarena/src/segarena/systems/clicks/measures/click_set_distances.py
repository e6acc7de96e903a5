"""Comparison of two sets of clicks: PL1, Wasserstein distance, and a two-sample KS test.

Clicks are arrays (n, 2) of (row, column). Distances are in units of the object's bounding box,
given as (height, width). The metrics compare people who saw the target in different display modes
(RClicks, Table 1) or used different devices (Table 8). With clicks sampled from a map as one of the
sets, they also compare click models with people
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
"""Height and width of the object's bounding box in pixels."""

DistanceUnit: TypeAlias = Literal["box_diagonal", "box_sides"]
KS_SIGNIFICANCE = 0.05
"""Two sets count as equally distributed if the p-value is above this value."""
_CHUNK_SIZE = 1 << 20  # distances in memory at once: 8 MB


@dataclass(frozen=True, slots=True)
class ClickSetComparison:
    """Metrics of the agreement between two sets of clicks.

    Attributes:
        pl1: mean L1 distance over all pairs, with rows in units of the box height and columns in
            units of the box width.
        wd: Wasserstein distance, in units of the box diagonal.
        ks: 1.0 if the p-value is above 0.05; 0.0 otherwise, including NaN.
        p_value: p-value of the two-dimensional KS test; NaN if undefined, see `KsTestResults`.
        clicks: number of clicks in each set.
    """

    pl1: float
    wd: float
    ks: float
    p_value: float
    clicks: tuple[int, int]


def box_size(target: Mask) -> BoxSize:
    """Return (height, width) of the bounding box of `target`, counting both end pixels.

    Raises:
        InvalidMask: the target is empty, so distances have no unit.
    """
    window = bounding_window(target)
    if is_empty(window) or target.ndim != 2:
        raise InvalidMask(
            f"target: expected an image mask (H, W) with at least one pixel, got {target.sum()} in shape {target.shape}"
        )
    rows, columns = window
    return rows.stop - rows.start, columns.stop - columns.start


def box_unit(box: BoxSize, normalise: DistanceUnit) -> NDArray[np.float64]:
    """Return the divisors for row and column distances in pixels (see `wasserstein`).

    Raises:
        InvalidInput: the box is empty, or the value of `normalise` is unknown.
    """
    if min(box) < 1:
        raise InvalidInput(f"box: expected a height and width of at least 1 pixel, got {box}")
    if normalise not in ("box_diagonal", "box_sides"):
        raise InvalidInput(f"normalise: expected 'box_diagonal' or 'box_sides', got {normalise!r}")
    if normalise == "box_diagonal":
        # The published code and its tables divide by the diagonal, although the paper says "width
        # and height".
        return np.full(2, math.hypot(*box))
    return np.asarray(box, dtype=np.float64)


def check_clicks_array(clicks: ArrayLike) -> NDArray[np.float64]:
    """Return `clicks` as float64 (n, 2), with n >= 1.

    Raises:
        InvalidInput: the shape is not (n, 2), there are no clicks, or a coordinate is not finite.
    """
    array = np.asarray(clicks, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array) or not np.isfinite(array).all():
        raise InvalidInput(
            f"clicks: expected finite (row, column) pairs, at least one, got shape {np.shape(clicks)}"
        )
    return array


def pairwise_l1(
    first: ArrayLike,
    second: ArrayLike,
    box: BoxSize,
) -> float:
    """Return PL1: the mean over all pairs of |row difference| / height + |column difference| / width.

    The two coordinates are added, so each can be summed separately over sorted values, in O(n log
    n) instead of O(n * n). PL1 of two equal sets is not 0, unless they are a single point.

    Raises:
        InvalidInput: the box is empty, or the clicks are invalid (see `check_clicks_array`).

    Source: RClicks, section 4.2 (a).
    """
    unit = box_unit(box, "box_sides")
    one = check_clicks_array(first) / unit
    two = check_clicks_array(second) / unit
    row_distance = _mean_distance(one[:, 0], two[:, 0])
    column_distance = _mean_distance(one[:, 1], two[:, 1])
    return row_distance + column_distance


def wasserstein(
    first: ArrayLike,
    second: ArrayLike,
    box: BoxSize,
    *,
    normalise: DistanceUnit = "box_diagonal",
) -> float:
    """Return the Wasserstein distance: the least mean distance by which one set moves onto the other.

    Sets of equal size are matched one to one, which is exact and fast. Sets of different size are
    solved by SciPy's linear program.

    Args:
        first: clicks, (n, 2).
        second: clicks, (m, 2).
        box: (height, width) of the object's bounding box.
        normalise: "box_diagonal" measures distances in pixels and divides by the diagonal of the
            box, as the published code does. "box_sides" divides rows by the height and columns by
            the width, which is a possible reading of the paper's text.

    Raises:
        InvalidInput: the value of `normalise` is unknown, the box is empty, or the clicks are
            invalid (see `check_clicks_array`).

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
    """Return the Wasserstein distance between each of `sets` (B, n, 2) and `points` (n, 2).

    The distances are computed by optimal assignment.
    """
    from scipy.optimize import linear_sum_assignment

    distances = np.empty(len(sets))
    for chunk in row_chunks(len(sets), len(points) ** 2, most=_CHUNK_SIZE):
        squares = np.square(sets[chunk, :, None, 0] - points[:, 0])
        squares += np.square(sets[chunk, :, None, 1] - points[:, 1])
        costs = np.sqrt(squares, out=squares)
        # Subtracting a constant from a row or column leaves the optimal assignment unchanged and
        # speeds up the solver.
        reduced = costs - costs.min(axis=1, keepdims=True)
        reduced -= reduced.min(axis=2, keepdims=True)
        # The distances of all sets are gathered at once: a loop over the sets would double the
        # time.
        matches = np.array([linear_sum_assignment(table)[1] for table in reduced])
        matched = np.take_along_axis(costs, matches[:, :, None], axis=2)
        distances[chunk] = matched[:, :, 0].mean(axis=1)
    return distances


def compare_click_sets(
    first: ArrayLike,
    second: ArrayLike,
    box: BoxSize,
) -> ClickSetComparison:
    """Compare two sets of real clicks on one object directly, without resampling.

    Raises:
        InvalidInput: the box is empty, or the clicks are invalid (see `check_clicks_array`).

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
    """Compare mouse clicks with clicks on a phone; return None if either device has too few clicks.

    Args:
        pc: clicks made with a mouse, (n, 2), may be empty.
        mobile: clicks on a phone, (m, 2), may be empty.
        box: (height, width) of the object's bounding box.
        least_clicks: minimum number of clicks per device. The published code requires at least 10;
            the paper says "more than 10".
        protocol: "published" reproduces an error in the published PL1 and WD, which use the column
            of PC clicks for their row as well; KS is not affected.

    Source: RClicks, Table 8.
    """
    fewest = min(len(np.asarray(pc)), len(np.asarray(mobile)))
    if fewest < max(1, least_clicks):
        return None
    compared = compare_click_sets(pc, mobile, box)
    if protocol == "careful":
        return compared
    # The published code passes (x, x) instead of (x, y) for the PC clicks, which explains the
    # inflated values of its Table 8.
    columns_twice = check_clicks_array(pc)[:, [1, 1]]
    return replace(
        compared,
        pl1=pairwise_l1(columns_twice, mobile, box),
        wd=wasserstein(columns_twice, mobile, box),
    )


def _mean_distance(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the mean absolute difference over all pairs of values from two lists."""
    # |a - b| is a - b for every b below a, and b - a for every b above it; running sums of the
    # sorted values give both parts.
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first)
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    distance_to_lower = below * first - sums[below]
    distance_to_higher = sums[-1] - sums[below] - (len(ordered) - below) * first
    return float((distance_to_lower + distance_to_higher).mean()) / len(ordered)
