"""Lines through pixels: whole pixels from corner to corner, and smooth curves that points pull on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Positions in drawing order, (N, 2) as (row, column)."""

# Below this many points the smallest weight, 2 ** -(points - 1), is a normal float64.
_MOST_AT_ONCE = 1000


def rasterize_polyline(corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pixels of the polyline through `corners`, (N, 2) as (row, column), in drawing order.

    Bresenham's line along the longer axis, along rows when both are equally long; half a pixel goes to the far side.
    Every segment holds both its ends, so inner corners come twice, and a single corner is one pixel.

    >>> rasterize_polyline(np.array([[0, 0], [1, 3]])).tolist()
    [[0, 0], [0, 1], [1, 2], [1, 3]]

    Source: the DAVIS Interactive Challenge's masks of scribbles.
    """
    if len(corners) < 2:
        return corners.copy()
    steps = np.diff(corners, axis=0)
    longer = np.abs(steps).max(axis=1)
    segment = np.repeat(np.arange(len(steps)), longer + 1)
    along = np.arange(len(segment)) - np.repeat(np.cumsum(longer + 1) - (longer + 1), longer + 1)
    twice = 2 * np.maximum(longer, 1)[segment, None]
    # The longer axis moves by one each time; for the other one this is the sum of all steps of the error term so far.
    moved = (2 * np.abs(steps)[segment] * along[:, None] + longer[segment, None]) // twice
    return corners[segment] + np.sign(steps)[segment] * moved


def bezier_curve(points: Points, samples: int) -> Points:
    """Return `samples` positions on the Bezier curve whose control points are all `points`, at equal steps of it.

    The curve begins and ends exactly at the first and last point and touches none of the others: the more points, the
    smoother it is. One point gives itself, once.

    >>> bezier_curve(np.array([[0.0, 0.0], [4.0, 2.0], [0.0, 4.0]]), 3).tolist()
    [[0.0, 0.0], [2.0, 2.0], [0.0, 4.0]]

    Args:
        points: (N, 2), N at least 1.
        samples: at least 2.

    Returns:
        (samples, 2), rounded to a millionth of a pixel: what sums in another order would change is far below.
    """
    if len(points) == 1:
        return points.astype(np.float64)
    shares = np.linspace(0, 1, samples)
    # Weights at a share t are those at 1 - t, backwards; and at most one half, none is too small for a float.
    first = shares[: (samples + 1) // 2]
    weigh = _weights if len(points) <= _MOST_AT_ONCE else _weights_of_many
    weights = weigh(len(points) - 1, first)
    curve = np.concatenate([weights @ points, (weights[: samples // 2] @ points[::-1])[::-1]])
    curve[0], curve[-1] = points[0], points[-1]
    return np.round(curve, 6)


def _weights(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Bernstein polynomials at shares up to one half, (shares, degree + 1), each from the one before."""
    order = np.arange(1, degree + 1)
    factors = np.empty((len(shares), degree + 1))
    factors[:, 0] = (1 - shares) ** degree
    factors[:, 1:] = np.outer(shares / (1 - shares), (degree + 1 - order) / order)
    return np.cumprod(factors, axis=1, out=factors)


def _weights_of_many(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same by logarithms: slower, for any degree."""
    order = np.arange(1, degree + 1)
    choose = np.concatenate([[0.0], np.cumsum(np.log((degree + 1 - order) / order))])
    powers = np.arange(degree + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (
            choose
            + powers * np.log(shares)[:, None]
            + (degree - powers) * np.log1p(-shares)[:, None]
        )
    weights = np.exp(logs)
    weights[shares == 0] = powers == 0
    return weights
