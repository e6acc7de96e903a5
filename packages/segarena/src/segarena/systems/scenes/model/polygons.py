"""Polygons, exactly: area, perimeter, hull, crossings, containment, and cutting at the frame.

A polygon is float64 (N, 2), rows and columns of its vertices, closed without repeating the first one. Coordinates
are continuous: pixel (r, c) is the square from (r, c) to (r + 1, c + 1). Which side of a line a point lies on is
decided without rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import Mask

Points: TypeAlias = NDArray[np.float64]

# Shewchuk's bound on the rounding of a 2 x 2 determinant of differences, with room to spare.
_ROUNDING = 4 * np.finfo(np.float64).eps
_PAIRS_AT_ONCE = 1 << 18
_ENOUGH = 1000
_FARTHEST = 1e9


class Crossing(NamedTuple):
    """Two sides of a polygon that meet where they should not: by index of their first vertices, and where."""

    first: int
    second: int
    row: float
    column: float


def as_points(points: Any, *, name: str = "polygon") -> Points:
    """Return `points` as float64 (N, 2), rows and columns.

    Raises:
        InvalidInput: another shape, not numbers, not finite, or so large that no image has them.
    """
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidInput(
            f"{name}: expected numbers (N, 2), rows and columns, got something else"
        ) from cause
    if array.size == 0:
        return np.zeros((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(f"{name}: expected shape (N, 2), rows and columns, got {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name}: expected finite coordinates, got NaN or infinity")
    if np.abs(array).max() > _FARTHEST:
        raise InvalidInput(
            f"{name}: expected coordinates of at most {_FARTHEST:g} pixels, got {np.abs(array).max():g}"
        )
    return array


def area(points: Points) -> float:
    """Return the area in square pixels, 0 below three vertices; where it crosses itself, opposite loops cancel."""
    if len(points) < 3:
        return 0.0
    # Relative to the first vertex, so that a small polygon far from the origin keeps its digits.
    rows, columns = (points - points[0]).T
    return abs(float(np.dot(rows, np.roll(columns, -1)) - np.dot(columns, np.roll(rows, -1)))) / 2


def perimeter(points: Points) -> float:
    """Return the length of the closed outline in pixels; 0 below two vertices."""
    if len(points) > 1:
        return float(np.hypot(*(np.roll(points, -1, axis=0) - points).T).sum())
    return 0.0


def convex_hull(points: Points) -> Points:
    """Return the corners of the convex hull, none of them on a line between its neighbours."""
    corners = sorted(set(map(tuple, points.tolist())))
    if len(corners) < 3:
        return np.array(corners, dtype=np.float64).reshape(-1, 2)

    def half(ordered: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for corner in ordered:
            while len(chain) > 1 and orientation(chain[-2], chain[-1], corner) <= 0:
                chain.pop()
            chain.append(corner)
        return chain[:-1]

    return np.array(half(corners) + half(corners[::-1]), dtype=np.float64)


def orientation(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> int:
    """Return on which side of the line from `a` to `b` the point `c` lies: 1, -1, or 0 on it. Exact."""
    left = (b[0] - a[0]) * (c[1] - a[1])
    right = (b[1] - a[1]) * (c[0] - a[0])
    if abs(left - right) > _ROUNDING * (abs(left) + abs(right)):
        return 1 if left > right else -1
    (ar, ac), (br, bc), (cr, cc) = ((Fraction(row), Fraction(column)) for row, column in (a, b, c))
    exact = (br - ar) * (cc - ac) - (bc - ac) * (cr - ar)
    return (exact > 0) - (exact < 0)


def orientations(a: Points, b: Points, c: Points) -> NDArray[np.int8]:
    """Return `turn` for every row of three (N, 2) arrays."""
    left = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1])
    right = (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    sides = np.sign(left - right).astype(np.int8)
    # Factors of zero are exact: sides along the axes are sure at once.
    is_sure = ((b[:, 0] == a[:, 0]) | (c[:, 1] == a[:, 1])) & (
        (b[:, 1] == a[:, 1]) | (c[:, 0] == a[:, 0])
    )
    for index in np.flatnonzero(
        ~is_sure & (np.abs(left - right) <= _ROUNDING * (np.abs(left) + np.abs(right)))
    ):
        sides[index] = orientation(*(points[index].tolist() for points in (a, b, c)))
    return sides


def crossings(points: Points) -> list[Crossing]:
    """Return where the outline meets itself: sides that cross, touch or overlap, spikes, vertices used twice.

    An empty list means a simple polygon. Only pairs of sides whose boxes meet are looked at, and of a hopeless tangle
    no more after a thousand were found.
    """
    count = len(points)
    if count < 3:
        return []
    ends = np.roll(points, -1, axis=0)
    found: list[Crossing] = []
    for first, second in _near_pairs(points, ends):
        hit = _meets(points, ends, first, second)
        for one, other in zip(first[hit].tolist(), second[hit].tolist(), strict=True):
            row, column = _where(points[one], ends[one], points[other], ends[other])
            found.append(Crossing(one, other, row, column))
        if len(found) >= _ENOUGH:
            break
    return sorted(found)


def contains_points(polygon: Points, points: Points) -> Mask:
    """Tell for each of `points` (M, 2) whether it lies in the polygon or on its outline, by the even-odd rule."""
    inside = np.zeros(len(points), dtype=np.bool_)
    on_outline = np.zeros(len(points), dtype=np.bool_)
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        low, high = (start, end) if start[0] <= end[0] else (end, start)
        side = orientations(
            np.broadcast_to(low, points.shape), np.broadcast_to(high, points.shape), points
        )
        inside ^= (points[:, 0] >= low[0]) & (points[:, 0] < high[0]) & (side > 0)
        within = ((points >= np.minimum(low, high)) & (points <= np.maximum(low, high))).all(axis=1)
        on_outline |= within & (side == 0)
    return inside | on_outline


def clip_to_frame(points: Points, shape: tuple[int, int]) -> Points:
    """Return the part of a polygon inside the frame of (H, W) pixels; empty when there is none.

    A part that leaves the frame and comes back stays connected along the border (Sutherland and Hodgman).
    """
    for axis in (0, 1):
        for sign, limit in ((1.0, 0.0), (-1.0, -float(shape[axis]))):
            points = _cut(points, axis, sign, limit)
    return points


def without_repeats(points: Points) -> Points:
    """Return the polygon without vertices equal to the one after them, the closing repeat included."""
    if len(points) > 1:
        return points[(points != np.roll(points, -1, axis=0)).any(axis=1)]
    return points


def _cut(points: Points, axis: int, sign: float, limit: float) -> Points:
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
    """Yield pairs of sides whose boxes meet, in batches.

    Sides are sorted along the axis on which fewer of them meet: a comb has long teeth, but each beside the next.
    """
    lows = np.minimum(points, ends)
    highs = np.maximum(points, ends)
    orders = [np.argsort(lows[:, axis], kind="stable") for axis in (0, 1)]
    counts = [
        np.searchsorted(lows[order, axis], highs[order, axis], side="right")
        - np.arange(len(order))
        - 1
        for axis, order in enumerate(orders)
    ]
    axis = int(counts[1].sum() < counts[0].sum())
    order = orders[axis]
    count = counts[axis]
    splits = np.searchsorted(
        np.cumsum(count), np.arange(_PAIRS_AT_ONCE, count.sum(), _PAIRS_AT_ONCE)
    )
    for block in np.split(np.arange(len(order)), splits):
        first = np.repeat(block, count[block])
        starts = np.repeat(np.cumsum(count[block]) - count[block], count[block])
        second = first + 1 + np.arange(len(first)) - starts
        one = order[first]
        other = order[second]
        near = (lows[one, 1 - axis] <= highs[other, 1 - axis]) & (
            lows[other, 1 - axis] <= highs[one, 1 - axis]
        )
        yield np.minimum(one, other)[near], np.maximum(one, other)[near]


def _meets(
    points: Points, ends: Points, first: NDArray[np.int64], second: NDArray[np.int64]
) -> Mask:
    a = points[first]
    b = ends[first]
    c = points[second]
    d = ends[second]
    sides = (
        orientations(a, b, c),
        orientations(a, b, d),
        orientations(c, d, a),
        orientations(c, d, b),
    )
    crosses = (sides[0] * sides[1] <= 0) & (sides[2] * sides[3] <= 0)
    # Sides on one line have all turns 0, and meet because their boxes do.
    count = len(points)
    follows = second == first + 1
    precedes = (first == 0) & (second == count - 1)
    # Neighbours share a vertex by right; they are wrong only when one runs back over the other.
    is_opposed = ((b - a) * (d - c)).sum(axis=1) < 0
    back = (sides[1] == 0) & is_opposed
    back_before = (sides[0] == 0) & is_opposed
    lengthless = (a == b).all(axis=1) | (c == d).all(axis=1)
    return np.where(
        follows, back | lengthless, np.where(precedes, back_before | lengthless, crosses)
    )


def _where(a: Points, b: Points, c: Points, d: Points) -> tuple[float, float]:
    across = b - a
    along = d - c
    bottom = across[0] * along[1] - across[1] * along[0]
    if bottom == 0:
        return _where_on_line(a, b, c, d)
    share = ((c[0] - a[0]) * along[1] - (c[1] - a[1]) * along[0]) / bottom
    point = a + np.clip(share, 0, 1) * across
    return float(point[0]), float(point[1])


def _where_on_line(a: Points, b: Points, c: Points, d: Points) -> tuple[float, float]:
    """Return an end of one side that lies on the other, best one that is not also an end of it."""
    ends = [(d, a, b), (a, c, d), (c, a, b), (b, c, d)]
    touching = [
        (point, low, high)
        for point, low, high in ends
        if ((point - low) * (point - high)).sum() <= 0
    ]
    inner = [end for end in touching if (end[0] != end[1]).any() and (end[0] != end[2]).any()]
    point = (inner or touching or ends)[0][0]
    return float(point[0]), float(point[1])
