"""Exact polygon geometry: area, perimeter, convex hull, self-intersections, containment, clipping to the frame.

A polygon is float64 (N, 2): the rows and columns of its vertices, closed without repeating the
first one. Coordinates are continuous: pixel (r, c) is the square from (r, c) to (r + 1, c + 1).
Orientation tests are free of rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polygon_points import Points
from segarena.samples import Mask

# Shewchuk's error bound for the rounding of a 2 x 2 determinant of differences, with a safety
# margin.
_ROUNDING = 4 * np.finfo(np.float64).eps
# Maximum number of edge pairs in a batch, which bounds its memory.
_PAIRS_AT_ONCE = 1 << 18


# A scribble can cross itself millions of times, and every crossing would become a defect in a
# report.
_MOST_CROSSINGS = 1000


class Crossing(NamedTuple):
    """Two edges of a polygon that meet although they should not: indices of their first vertices, and the position."""

    first: int
    second: int
    row: float
    column: float


def area(points: Points) -> float:
    """Return the area in square pixels, 0 for fewer than three vertices; opposite loops cancel out."""
    if len(points) < 3:
        return 0.0
    # Coordinates relative to the first vertex keep full precision for a small polygon far from the
    # origin.
    rows, columns = (points - points[0]).T
    next_rows = np.roll(rows, -1)
    next_columns = np.roll(columns, -1)
    doubled = float(np.dot(rows, next_columns) - np.dot(columns, next_rows))
    return abs(doubled) / 2


def perimeter(points: Points) -> float:
    """Return the length of the closed outline in pixels; 0 for fewer than two vertices."""
    if len(points) < 2:
        return 0.0
    steps = np.roll(points, -1, axis=0) - points
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    return float(lengths.sum())


def convex_hull(points: Points) -> Points:
    """Return the corners of the convex hull, without points on a line between their neighbours.

    Source: Andrew's monotone chain, 1979.
    """
    distinct = {tuple(point) for point in points.tolist()}
    corners = sorted(distinct)
    if len(corners) < 3:
        return np.array(corners, dtype=np.float64).reshape(-1, 2)

    def half_hull(ordered: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for corner in ordered:
            while len(chain) > 1 and orientation(chain[-2], chain[-1], corner) <= 0:
                chain.pop()
            chain.append(corner)
        return chain[:-1]

    lower = half_hull(corners)
    upper = half_hull(corners[::-1])
    return np.array(lower + upper, dtype=np.float64)


def orientation(
    a: Sequence[float],
    b: Sequence[float],
    c: Sequence[float],
) -> int:
    """Return the side of the line from `a` to `b` on which `c` lies, computed exactly: 1, -1 or 0 (on it)."""
    a_row, a_column = a
    b_row, b_column = b
    c_row, c_column = c
    left = (b_row - a_row) * (c_column - a_column)
    right = (b_column - a_column) * (c_row - a_row)
    error_bound = _ROUNDING * (abs(left) + abs(right))
    if abs(left - right) > error_bound:
        return 1 if left > right else -1
    # The floating-point result is smaller than its error bound: repeat it with exact fractions.
    down_to_b = Fraction(b_row) - Fraction(a_row)
    right_to_b = Fraction(b_column) - Fraction(a_column)
    down_to_c = Fraction(c_row) - Fraction(a_row)
    right_to_c = Fraction(c_column) - Fraction(a_column)
    exact_left = down_to_b * right_to_c
    exact_right = right_to_b * down_to_c
    return (exact_left > exact_right) - (exact_left < exact_right)


def orientations(
    a: Points,
    b: Points,
    c: Points,
) -> NDArray[np.int8]:
    """Return the `orientation` of each row of three (N, 2) arrays."""
    a_row, a_column = a.T
    b_row, b_column = b.T
    c_row, c_column = c.T
    left = (b_row - a_row) * (c_column - a_column)
    right = (b_column - a_column) * (c_row - a_row)
    sides = np.sign(left - right).astype(np.int8)
    # Products with a factor of zero are exact, so edges along the axes need no exact repetition.
    left_is_zero = (b_row == a_row) | (c_column == a_column)
    right_is_zero = (b_column == a_column) | (c_row == a_row)
    # Neighbouring edges share a vertex. Both products then have the same factors, or only zeros.
    at_end = (b_row == c_row) & (b_column == c_column)
    is_exact = (left_is_zero & right_is_zero) | at_end
    error_bound = _ROUNDING * (np.abs(left) + np.abs(right))
    is_close = np.abs(left - right) <= error_bound
    for index in np.flatnonzero(~is_exact & is_close):
        sides[index] = orientation(a[index].tolist(), b[index].tolist(), c[index].tolist())
    return sides


def crossings(points: Points) -> list[Crossing]:
    """Return where the outline meets itself: edges that cross, touch or overlap, spikes, and vertices used twice.

    An empty list means that the polygon is simple. Only pairs of edges with overlapping bounding
    boxes are tested, and the search stops after a thousand crossings.
    """
    count = len(points)
    if count < 3:
        return []
    ends = np.roll(points, -1, axis=0)
    found: list[Crossing] = []
    for first, second in _near_pairs(points, ends):
        hit = _meets(points, ends, first, second)
        pairs = np.stack([first[hit], second[hit]], axis=1)
        for one, other in pairs.tolist():
            row, column = _intersection(points[one], ends[one], points[other], ends[other])
            found.append(Crossing(one, other, row, column))
        if len(found) >= _MOST_CROSSINGS:
            break
    return sorted(found)


def first_meeting(
    rings: Sequence[Points],
    shape: tuple[int, int],
) -> tuple[float, float] | None:
    """Return a vertex (row, column) near which two of several polygons meet; None if none do.

    Edges on the frame of (H, W) pixels do not count, because clipping puts polygons there.
    """
    edges = [_edges_inside(ring, shape) for ring in rings]
    if len(edges) < 2:
        return None
    starts = np.concatenate([ring_starts for ring_starts, _ in edges])
    ends = np.concatenate([ring_ends for _, ring_ends in edges])
    ring_of = np.repeat(np.arange(len(edges)), [len(ring_starts) for ring_starts, _ in edges])
    for first, second in _near_pairs(starts, ends):
        differ = ring_of[first] != ring_of[second]
        a = starts[first[differ]]
        b = ends[first[differ]]
        c = starts[second[differ]]
        d = ends[second[differ]]
        crosses_first = orientations(a, b, c) * orientations(a, b, d) <= 0
        crosses_second = orientations(c, d, a) * orientations(c, d, b) <= 0
        hits = np.flatnonzero(crosses_first & crosses_second)
        if len(hits):
            row, column = c[hits[0]].tolist()
            return row, column
    return None


def _edges_inside(points: Points, shape: tuple[int, int]) -> tuple[Points, Points]:
    """Return the starts and ends of the edges of a polygon that do not run along the frame."""
    ends = np.roll(points, -1, axis=0)
    is_along = (points == ends) & ((points == 0) | (points == shape))
    inside = ~is_along.any(axis=1)
    return points[inside], ends[inside]


def are_holes(rings: Sequence[Points]) -> list[bool]:
    """Return, for polygons that do not meet, which of them lie inside an odd number of the others."""
    drawn = [index for index, ring in enumerate(rings) if len(ring)]
    firsts = np.array([rings[index][0] for index in drawn], dtype=np.float64).reshape(-1, 2)
    is_hole = np.zeros(len(rings), dtype=np.bool_)
    for outer in drawn:
        ring = rings[outer]
        # Most polygons are far apart, and comparing bounding boxes is cheap.
        in_box = ((firsts >= ring.min(axis=0)) & (firsts <= ring.max(axis=0))).all(axis=1)
        near = [place for place in np.flatnonzero(in_box).tolist() if drawn[place] != outer]
        inside = contains_points(ring, firsts[near])
        for place, is_inside in zip(near, inside.tolist(), strict=True):
            is_hole[drawn[place]] ^= is_inside
    return is_hole.tolist()


def total_area(rings: Sequence[Points], *, has_holes: bool) -> float:
    """Return the sum of the areas of polygons in square pixels; holes are subtracted."""
    holes = are_holes(rings) if has_holes else [False] * len(rings)
    total = 0.0
    for ring, is_hole in zip(rings, holes, strict=True):
        total += -area(ring) if is_hole else area(ring)
    return total


def contains_points(polygon: Points, points: Points) -> Mask:
    """Return whether each of `points` (M, 2) is inside the polygon (even-odd rule) or on its outline."""
    inside = np.zeros(len(points), dtype=np.bool_)
    on_outline = np.zeros(len(points), dtype=np.bool_)
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        is_down = start[0] <= end[0]
        low = start if is_down else end
        high = end if is_down else start
        lows = np.broadcast_to(low, points.shape)
        highs = np.broadcast_to(high, points.shape)
        side = orientations(lows, highs, points)
        in_row_range = (points[:, 0] >= low[0]) & (points[:, 0] < high[0])
        inside ^= in_row_range & (side > 0)
        above_minimum = points >= np.minimum(low, high)
        below_maximum = points <= np.maximum(low, high)
        in_box = (above_minimum & below_maximum).all(axis=1)
        on_outline |= in_box & (side == 0)
    return inside | on_outline


def clip_to_frame(points: Points, shape: tuple[int, int]) -> Points:
    """Clip a polygon to the frame of (H, W) pixels; the result is empty if no part is inside.

    A part that leaves the frame and returns stays connected along the border (Sutherland and
    Hodgman).
    """
    for axis in (0, 1):
        points = _clip_half_plane(points, axis, sign=1.0, limit=0.0)
        points = _clip_half_plane(points, axis, sign=-1.0, limit=-float(shape[axis]))
    return points


def without_repeats(points: Points) -> Points:
    """Remove vertices that equal the next one, including a repetition of the first vertex at the end."""
    if len(points) < 2:
        return points
    differs = points != np.roll(points, -1, axis=0)
    return points[differs.any(axis=1)]


def _clip_half_plane(
    points: Points,
    axis: int,
    *,
    sign: float,
    limit: float,
) -> Points:
    """Keep the part of a polygon where `sign` times the coordinate along `axis` is at least `limit`."""
    if not len(points):
        return points
    heights = sign * points[:, axis] - limit
    kept: list[NDArray[np.float64]] = []
    for index in range(len(points)):
        before = heights[index - 1]
        here = heights[index]
        if (before >= 0) != (here >= 0):
            share = before / (before - here)
            corner = points[index - 1] + share * (points[index] - points[index - 1])
            corner[axis] = sign * limit
            kept.append(corner)
        if here >= 0:
            kept.append(points[index])
    return np.array(kept, dtype=np.float64).reshape(-1, 2)


def _near_pairs(
    points: Points, ends: Points
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield pairs of edges whose bounding boxes overlap, in batches.

    Edges are sorted along the axis on which fewer of them overlap. The teeth of a comb, for
    example, are long, but along the other axis each overlaps only with its neighbours.
    """
    lows = np.minimum(points, ends)
    highs = np.maximum(points, ends)
    orders: list[NDArray[np.int64]] = []
    counts: list[NDArray[np.int64]] = []
    for axis in (0, 1):
        order = np.argsort(lows[:, axis], kind="stable")
        stops = np.searchsorted(lows[order, axis], highs[order, axis], side="right")
        orders.append(order)
        # Number of later edges that start before this one ends.
        counts.append(stops - np.arange(len(order)) - 1)
    axis = int(counts[1].sum() < counts[0].sum())
    order = orders[axis]
    count = counts[axis]
    batch_ends = np.arange(_PAIRS_AT_ONCE, count.sum(), _PAIRS_AT_ONCE)
    splits = np.searchsorted(np.cumsum(count), batch_ends)
    for block in np.split(np.arange(len(order)), splits):
        first = np.repeat(block, count[block])
        starts = np.repeat(np.cumsum(count[block]) - count[block], count[block])
        second = first + 1 + np.arange(len(first)) - starts
        one = order[first]
        other = order[second]
        across = 1 - axis
        one_begins_first = lows[one, across] <= highs[other, across]
        other_begins_first = lows[other, across] <= highs[one, across]
        near = one_begins_first & other_begins_first
        yield np.minimum(one, other)[near], np.maximum(one, other)[near]


def _meets(
    points: Points,
    ends: Points,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> Mask:
    """Return, for each pair of edges, whether they meet although they should not."""
    a = points[first]
    b = ends[first]
    c = points[second]
    d = ends[second]
    side_of_c = orientations(a, b, c)
    side_of_d = orientations(a, b, d)
    side_of_a = orientations(c, d, a)
    side_of_b = orientations(c, d, b)
    # All orientations of collinear edges are 0. Such edges meet, because their bounding boxes
    # overlap.
    crosses = (side_of_c * side_of_d <= 0) & (side_of_a * side_of_b <= 0)
    # Neighbours share a vertex, which is an error only if one of them runs back over the other.
    last = len(points) - 1
    follows = second == first + 1
    precedes = (first == 0) & (second == last)
    is_opposed = ((b - a) * (d - c)).sum(axis=1) < 0
    has_no_length = (a == b).all(axis=1) | (c == d).all(axis=1)
    folds_after = (side_of_d == 0) & is_opposed
    folds_before = (side_of_c == 0) & is_opposed
    wrong_neighbour_before = np.where(precedes, folds_before | has_no_length, crosses)
    return np.where(follows, folds_after | has_no_length, wrong_neighbour_before)


def _intersection(
    a: Points,
    b: Points,
    c: Points,
    d: Points,
) -> tuple[float, float]:
    """Return a point of edge a-b that is on edge c-d, (row, column)."""
    first_edge = b - a
    down, right = first_edge
    other_down, other_right = d - c
    start_down, start_right = c - a
    determinant = down * other_right - right * other_down
    if determinant == 0:
        return _shared_end(a, b, c, d)
    share = (start_down * other_right - start_right * other_down) / determinant
    # Rounding may put the parameter slightly outside the edge.
    row, column = a + np.clip(share, 0, 1) * first_edge
    return float(row), float(column)


def _shared_end(
    a: Points,
    b: Points,
    c: Points,
    d: Points,
) -> tuple[float, float]:
    """Return an endpoint of one of two collinear edges that is on the other edge, not at its end if possible."""
    touching: list[Points] = []
    inner: list[Points] = []
    for point, start, end in ((d, a, b), (a, c, d), (c, a, b), (b, c, d)):
        if ((point - start) * (point - end)).sum() > 0:
            continue
        touching.append(point)
        if (point != start).any() and (point != end).any():
            inner.append(point)
    point = (inner or touching or [d])[0]
    return float(point[0]), float(point[1])
