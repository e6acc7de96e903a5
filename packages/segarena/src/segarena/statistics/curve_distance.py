"""Distances between curves: the discrete Frechet distance and dynamic time warping.

Both couple the points of two curves in order, from their first points to their last. The Frechet
distance is the smallest possible value of the largest distance of coupled points. Dynamic time
warping gives the smallest possible sum of their distances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput

Floats = NDArray[np.float64]

_MAX_CELLS = 1 << 20  # distances of points in memory at a time: 8 MB


def frechet(first: ArrayLike, second: ArrayLike) -> float:
    """Return the discrete Frechet distance of two curves.

    >>> frechet([[0, 0], [0, 4]], [[3, 0], [3, 4]])
    3.0

    Args:
        first: real (n, axes), one or more points in order.
        second: real (m, axes).

    Raises:
        InvalidInput: a shape is invalid, or points are not finite.

    Source: Eiter and Mannila, Computing discrete Frechet distance, TU Wien 1994.
    """
    costs = _coupling_costs(_point_distances(first, second), np.maximum)
    return float(costs[0])


def time_warping(first: ArrayLike, second: ArrayLike) -> float:
    """Return the dynamic time warping distance of two curves, without a warping window.

    >>> time_warping([[0, 0], [0, 4]], [[3, 0], [3, 4]])
    6.0

    Arguments and errors are those of `frechet`.

    Source: Sakoe and Chiba, Dynamic programming algorithm optimization for spoken word recognition, 1978, symmetric
    form without weights.
    """
    costs = _coupling_costs(_point_distances(first, second), np.add)
    return float(costs[0])


def frechet_matrix(
    curves: Sequence[ArrayLike],
    *,
    points: int = 32,
    either_way: bool = False,
) -> Floats:
    """Return the Frechet distance of every pair of curves, (n, n), resampled by `resample_curve`.

    >>> frechet_matrix([[[0, 0], [0, 4]], [[3, 0], [3, 4]]]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]

    Args:
        curves: n curves, each (any number of points, axes).
        points: number of points to which each curve is resampled.
        either_way: whether a curve may be reversed, for curves whose direction has no meaning.
    """
    return _matrix(curves, points, np.maximum, either_way=either_way)


def time_warping_matrix(
    curves: Sequence[ArrayLike],
    *,
    points: int = 32,
    either_way: bool = False,
) -> Floats:
    """Return the time warping distance per point of every pair of curves; otherwise like `frechet_matrix`.

    >>> time_warping_matrix([[[0, 0], [0, 4]], [[3, 0], [3, 4]]]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    return _matrix(curves, points, np.add, either_way=either_way) / points


def resample_curve(curve: ArrayLike, points: int) -> Floats:
    """Resample a curve to `points` positions at equal arc lengths; a curve of length 0 repeats its first point.

    >>> resample_curve([[0, 0], [0, 1], [0, 4]], 3).tolist()
    [[0.0, 0.0], [0.0, 2.0], [0.0, 4.0]]

    Args:
        curve: real (n, axes), n at least 1.
        points: at least 2.
    """
    vertices = _curve(curve)
    steps = np.diff(vertices, axis=0)
    segment_lengths = np.linalg.norm(steps, axis=1)
    arc_lengths = np.concatenate([[0.0], np.cumsum(segment_lengths)])
    wanted = np.linspace(0, arc_lengths[-1], points)
    coordinates = [np.interp(wanted, arc_lengths, axis) for axis in vertices.T]
    return np.stack(coordinates, axis=1)


def _matrix(
    curves: Sequence[ArrayLike],
    points: int,
    join: Callable[..., Any],
    *,
    either_way: bool,
) -> Floats:
    if len(curves):
        resampled = np.stack([resample_curve(curve, points) for curve in curves])
    else:
        resampled = np.empty((0, points, 2))
    count = len(resampled)
    all_rows, all_columns = np.triu_indices(count, 1)
    matrix = np.zeros((count, count))
    for chunk in row_chunks(len(all_rows), points * points, most=_MAX_CELLS):
        rows = all_rows[chunk]
        columns = all_columns[chunk]
        first = resampled[rows]
        second = resampled[columns]
        costs = _coupling_costs(_all_distances(first, second), join)
        if either_way:
            second_reversed = second[:, ::-1]
            reversed_costs = _coupling_costs(_all_distances(first, second_reversed), join)
            costs = np.minimum(costs, reversed_costs)
        matrix[rows, columns] = costs
        matrix[columns, rows] = costs
    return matrix


def _curve(curve: ArrayLike) -> Floats:
    vertices = np.asarray(curve, dtype=np.float64)
    if vertices.ndim != 2 or not vertices.size or not np.isfinite(vertices).all():
        raise InvalidInput(
            f"curve: expected finite points (n, axes), one or more, got shape {vertices.shape}"
        )
    return vertices


def _point_distances(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the distances of every point of one curve from every point of the other, (1, n, m)."""
    one = _curve(first)
    two = _curve(second)
    if one.shape[1] != two.shape[1]:
        raise InvalidInput(f"curves: expected the same axes, got {one.shape[1]} and {two.shape[1]}")
    return _all_distances(one[None], two[None])


def _all_distances(first: Floats, second: Floats) -> Floats:
    """Return the distances of all points of paired curves, (pairs, n, axes) and (pairs, m, axes), as (pairs, n, m)."""
    offsets = first[:, :, None] - second[:, None]
    return np.linalg.norm(offsets, axis=3)


def _coupling_costs(distances: Floats, join: Callable[..., Any]) -> Floats:
    """Return the cost of the best coupling of each pair, by dynamic programming over anti-diagonals.

    The cells of an anti-diagonal do not depend on each other, so all cells of all pairs on it are
    computed at once.

    Args:
        distances: point distances, (pairs, n, m), 0 or more.
        join: function that combines the distance of a step with the cost of the previous steps: maximum or sum.
    """
    pairs, n, m = distances.shape
    # Row 0 and column 0 stand for couplings without points, so that the first points need no
    # special case.
    best = np.full((pairs, n + 1, m + 1), np.inf)
    best[:, 0, 0] = 0
    for diagonal in range(n + m - 1):
        first_row = max(0, diagonal - m + 1)
        stop_row = min(n, diagonal + 1)
        row = np.arange(first_row, stop_row)
        column = diagonal - row
        both_step = best[:, row, column]
        second_steps = best[:, row + 1, column]
        first_steps = best[:, row, column + 1]
        before = np.minimum(both_step, np.minimum(second_steps, first_steps))
        best[:, row + 1, column + 1] = join(distances[:, row, column], before)
    return best[:, n, m]
