"""Distances between curves: the discrete Frechet distance and dynamic time warping.

Both minimise over all monotone couplings of the points of two curves, from their first points to their last. The
Frechet distance is the longest distance of coupled points, dynamic time warping the sum of these distances.
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
        first: real (n, axes), points in order, one or more.
        second: real (m, axes).

    Raises:
        InvalidInput: other shapes, or points that are not finite.

    Source: Eiter and Mannila, Computing discrete Frechet distance, TU Wien 1994.
    """
    return float(_walked(_leashes(first, second), np.maximum)[0])


def time_warping(first: ArrayLike, second: ArrayLike) -> float:
    """Return the dynamic time warping distance of two curves, without a warping window.

    >>> time_warping([[0, 0], [0, 4]], [[3, 0], [3, 4]])
    6.0

    Arguments and errors are those of `frechet`.

    Source: Sakoe and Chiba, Dynamic programming algorithm optimization for spoken word recognition, 1978, symmetric
    form without weights.
    """
    return float(_walked(_leashes(first, second), np.add)[0])


def frechet_matrix(
    curves: Sequence[ArrayLike], *, points: int = 32, either_way: bool = False
) -> Floats:
    """Return the Frechet distances of every pair of curves, (n, n), resampled by `resample_curve`.

    >>> frechet_matrix([[[0, 0], [0, 4]], [[3, 0], [3, 4]]]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]

    Args:
        curves: n of them, each (any number of points, axes).
        points: number of points to which each curve is resampled.
        either_way: whether a curve may be reversed, for curves whose direction has no meaning.
    """
    return _matrix(curves, points, np.maximum, either_way=either_way)


def time_warping_matrix(
    curves: Sequence[ArrayLike], *, points: int = 32, either_way: bool = False
) -> Floats:
    """Return the time warping distance per point of every pair of curves; else as `frechet_matrix`.

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
    given = _curve(curve)
    segment_lengths = np.linalg.norm(np.diff(given, axis=0), axis=1)
    arc_lengths = np.concatenate([[0.0], np.cumsum(segment_lengths)])
    wanted = np.linspace(0, arc_lengths[-1], points)
    return np.stack([np.interp(wanted, arc_lengths, axis) for axis in given.T], axis=1)


def _matrix(
    curves: Sequence[ArrayLike], points: int, join: Callable[..., Any], *, either_way: bool
) -> Floats:
    if len(curves):
        resampled = np.stack([resample_curve(curve, points) for curve in curves])
    else:
        resampled = np.empty((0, points, 2))
    rows, columns = np.triu_indices(len(resampled), 1)
    matrix = np.zeros((len(resampled), len(resampled)))
    for part in row_chunks(len(rows), points * points, most=_MAX_CELLS):
        first = resampled[rows[part]]
        second = resampled[columns[part]]
        distances = _walked(_between(first, second), join)
        if either_way:
            reversed_distances = _walked(_between(first, second[:, ::-1]), join)
            distances = np.minimum(distances, reversed_distances)
        matrix[rows[part], columns[part]] = distances
        matrix[columns[part], rows[part]] = distances
    return matrix


def _curve(curve: ArrayLike) -> Floats:
    given = np.asarray(curve, dtype=np.float64)
    if given.ndim != 2 or not given.size or not np.isfinite(given).all():
        raise InvalidInput(
            f"curve: expected finite points (n, axes), one or more, got shape {given.shape}"
        )
    return given


def _leashes(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the distances of every point of one curve from every point of the other, (1, n, m)."""
    one = _curve(first)
    two = _curve(second)
    if one.shape[1] != two.shape[1]:
        raise InvalidInput(f"curves: expected the same axes, got {one.shape[1]} and {two.shape[1]}")
    return _between(one[None], two[None])


def _between(first: Floats, second: Floats) -> Floats:
    return np.linalg.norm(first[:, :, None] - second[:, None], axis=3)


def _walked(leashes: Floats, join: Callable[..., Any]) -> Floats:
    """Return the cost of the best coupling of each pair, by dynamic programming over anti-diagonals.

    The cells of an anti-diagonal do not depend on each other, so that all of them, of all pairs, are computed at once.

    Args:
        leashes: point distances, (pairs, n, m), 0 or more.
        join: combines the distance of a step with the cost of the steps before it: maximum or sum.
    """
    pairs, n, m = leashes.shape
    best = np.full((pairs, n + 1, m + 1), np.inf)
    best[:, 0, 0] = 0
    for diagonal in range(n + m - 1):
        one = np.arange(max(0, diagonal - m + 1), min(n, diagonal + 1))
        two = diagonal - one
        both_step = best[:, one, two]
        one_steps = np.minimum(best[:, one + 1, two], best[:, one, two + 1])
        before = np.minimum(both_step, one_steps)
        best[:, one + 1, two + 1] = join(leashes[:, one, two], before)
    return best[:, n, m]
