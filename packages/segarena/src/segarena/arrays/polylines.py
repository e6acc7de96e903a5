"""Rasterized polylines and Bezier curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Positions in drawing order, (N, 2) as (row, column)."""

# Below this many points the smallest weight, 2 ** -(points - 1), is a normal float64.
_MAX_RECURSIVE_POINTS = 1000


def rasterize_polyline(corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pixels of the polyline through `corners`, (N, 2) as (row, column), in drawing order.

    Bresenham's line along the longer axis, along rows when both are equally long; half a pixel rounds away from the
    segment's start. Every segment holds both its ends, so inner corners come twice; a single corner is one pixel.

    >>> rasterize_polyline(np.array([[0, 0], [1, 3]])).tolist()
    [[0, 0], [0, 1], [1, 2], [1, 3]]

    Source: the DAVIS Interactive Challenge's masks of scribbles.
    """
    if len(corners) < 2:
        return corners.copy()
    steps = np.diff(corners, axis=0)
    longer = np.abs(steps).max(axis=1)
    pixels = longer + 1
    first_pixels = np.cumsum(pixels) - pixels
    segment = np.repeat(np.arange(len(steps)), pixels)
    along = np.arange(len(segment)) - np.repeat(first_pixels, pixels)
    # The longer axis moves by one each time; for the other this is the closed form of Bresenham's error term.
    doubled = 2 * np.abs(steps)[segment] * along[:, None] + longer[segment, None]
    moved = doubled // (2 * np.maximum(longer, 1)[segment, None])
    return corners[segment] + np.sign(steps)[segment] * moved


def bezier_curve(points: Points, samples: int) -> Points:
    """Return `samples` positions on the Bezier curve with the control points `points`, at equal parameter steps.

    The curve begins and ends exactly at the first and last point; the others only attract it. One point gives itself,
    once.

    >>> bezier_curve(np.array([[0.0, 0.0], [4.0, 2.0], [0.0, 4.0]]), 3).tolist()
    [[0.0, 0.0], [2.0, 2.0], [0.0, 4.0]]

    Args:
        points: (N, 2), N at least 1.
        samples: at least 2.

    Returns:
        (samples, 2), rounded to a millionth of a pixel, which hides differences in the order of summation.
    """
    if len(points) == 1:
        return points.astype(np.float64)
    shares = np.linspace(0, 1, samples)
    # The weights at 1 - t are those at t backwards; up to one half none underflows.
    first_half = shares[: (samples + 1) // 2]
    bernstein = _weights if len(points) <= _MAX_RECURSIVE_POINTS else _weights_of_many
    weights = bernstein(len(points) - 1, first_half)
    from_start = weights @ points
    from_end = weights[: samples // 2] @ points[::-1]
    curve = np.concatenate([from_start, from_end[::-1]])
    curve[0] = points[0]
    curve[-1] = points[-1]
    return np.round(curve, 6)


def _weights(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Bernstein polynomials at shares up to one half, (shares, degree + 1), by recursion over the degree."""
    order = np.arange(1, degree + 1)
    odds = shares / (1 - shares)
    binomial_ratios = (degree + 1 - order) / order
    factors = np.empty((len(shares), degree + 1))
    factors[:, 0] = (1 - shares) ** degree
    factors[:, 1:] = np.outer(odds, binomial_ratios)
    return np.cumprod(factors, axis=1, out=factors)


def _weights_of_many(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same by logarithms: slower, but without underflow for any degree."""
    order = np.arange(1, degree + 1)
    log_ratios = np.log((degree + 1 - order) / order)
    log_binomials = np.concatenate([[0.0], np.cumsum(log_ratios)])
    powers = np.arange(degree + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weights = (
            log_binomials
            + powers * np.log(shares)[:, None]
            + (degree - powers) * np.log1p(-shares)[:, None]
        )
    weights = np.exp(log_weights)
    weights[shares == 0] = powers == 0
    return weights
