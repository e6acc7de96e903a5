"""How far two curves are apart when they are walked along together: the discrete Frechet distance and time warping.

Two walkers go along one curve each, from its first point to its last, never back. The Frechet distance is the longest
leash that they need when they go as well as they can; dynamic time warping adds up the leash over all their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput

Floats = NDArray[np.float64]

_AT_ONCE = 1 << 20  # distances of points held at once: 8 MB


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
    """Return the sum of distances along the best walk, without a limit to how far it warps.

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
    """Return the Frechet distances of every pair of curves, (n, n); see `evenly` for the points.

    >>> frechet_matrix([[[0, 0], [0, 4]], [[3, 0], [3, 4]]]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]

    Args:
        curves: n of them, each (any number of points, axes).
        points: that each is walked by.
        either_way: whether a curve may be walked from its end, where its direction says nothing.
    """
    return _matrix(curves, points, np.maximum, either_way=either_way)


def time_warping_matrix(
    curves: Sequence[ArrayLike], *, points: int = 32, either_way: bool = False
) -> Floats:
    """Return the time warping of every pair of curves over the number of points; else as `frechet_matrix`.

    >>> time_warping_matrix([[[0, 0], [0, 4]], [[3, 0], [3, 4]]]).tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    return _matrix(curves, points, np.add, either_way=either_way) / points


def resample_curve(curve: ArrayLike, points: int) -> Floats:
    """Return `points` positions at equal steps along a curve; a curve of no length is its first point many times.

    >>> resample_curve([[0, 0], [0, 1], [0, 4]], 3).tolist()
    [[0.0, 0.0], [0.0, 2.0], [0.0, 4.0]]

    Args:
        curve: real (n, axes), n at least 1.
        points: at least 2.
    """
    given = _curve(curve)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(given, axis=0), axis=1))])
    wanted = np.linspace(0, along[-1], points)
    return np.stack([np.interp(wanted, along, axis) for axis in given.T], axis=1)


def _matrix(
    curves: Sequence[ArrayLike], points: int, join: Callable[..., Any], *, either_way: bool
) -> Floats:
    if len(curves):
        walked = np.stack([resample_curve(curve, points) for curve in curves])
    else:
        walked = np.empty((0, points, 2))
    rows, columns = np.triu_indices(len(walked), 1)
    found = np.zeros((len(walked), len(walked)))
    for part in row_chunks(len(rows), points * points, most=_AT_ONCE):
        one = walked[rows[part]]
        two = walked[columns[part]]
        apart = _walked(_between(one, two), join)
        if either_way:
            apart = np.minimum(apart, _walked(_between(one, two[:, ::-1]), join))
        found[rows[part], columns[part]] = found[columns[part], rows[part]] = apart
    return found


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
    """Return what the best walk of each pair costs; all pairs at once, a diagonal of each table after the other.

    Args:
        leashes: (pairs, n, m), 0 or more.
        join: what the leash of a step does to the cost of the steps before it.
    """
    pairs, n, m = leashes.shape
    best = np.full((pairs, n + 1, m + 1), np.inf)
    best[:, 0, 0] = 0
    for diagonal in range(n + m - 1):
        one = np.arange(max(0, diagonal - m + 1), min(n, diagonal + 1))
        two = diagonal - one
        before = np.minimum(
            best[:, one, two], np.minimum(best[:, one + 1, two], best[:, one, two + 1])
        )
        best[:, one + 1, two + 1] = join(leashes[:, one, two], before)
    return best[:, n, m]
