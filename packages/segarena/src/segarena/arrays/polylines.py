"""Rasterized polylines and Bezier curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
"""Positions in drawing order, (N, 2) as (row, column)."""

# Below this many points the smallest weight, 2 ** -(points - 1), is a normal float64.
_MAX_RECURSIVE_POINTS = 1000
# BLAS libraries sum in different orders; their results agree to many more digits than this.
_DECIMALS = 6


def rasterize_polyline(corners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pixels of the polyline through `corners`, (N, 2) as (row, column), in drawing order.

    Each segment is Bresenham's line along its longer axis, or along rows if both are equally long;
    half a pixel rounds away from the start of the segment. Every segment includes both its ends, so
    inner corners occur twice; a single corner is one pixel.

    >>> rasterize_polyline(np.array([[0, 0], [1, 3]])).tolist()
    [[0, 0], [0, 1], [1, 2], [1, 3]]

    Source: scribble masks of the DAVIS Interactive Challenge.
    """
    if len(corners) < 2:
        return corners.copy()
    steps = np.diff(corners, axis=0)
    longer = np.abs(steps).max(axis=1)
    pixels = longer + 1
    first_pixels = np.cumsum(pixels) - pixels
    # From here on every array has one row per pixel.
    segment = np.repeat(np.arange(len(steps)), pixels)
    along = np.arange(len(segment)) - first_pixels[segment]
    step = steps[segment]
    length = longer[segment, None]
    # The longer axis advances by one pixel per step; for the other axis this is the closed form of
    # Bresenham's error term.
    doubled = 2 * np.abs(step) * along[:, None] + length
    moved = doubled // (2 * np.maximum(length, 1))
    return corners[segment] + np.sign(step) * moved


def bezier_curve(points: Points, samples: int) -> Points:
    """Return `samples` positions on the Bezier curve with the control points `points`, at equal parameter steps.

    The curve begins and ends exactly at the first and last point; the other points only attract it.
    A single point returns itself, once.

    >>> bezier_curve(np.array([[0.0, 0.0], [4.0, 2.0], [0.0, 4.0]]), 3).tolist()
    [[0.0, 0.0], [2.0, 2.0], [0.0, 4.0]]

    Args:
        points: (N, 2), N at least 1.
        samples: at least 2.

    Returns:
        (samples, 2), rounded to a millionth of a pixel, which removes differences that come from the summation order.
    """
    if len(points) == 1:
        return points.astype(np.float64)
    shares = np.linspace(0, 1, samples)
    # The weights at 1 - t are the reversed weights at t; none underflows up to one half.
    first_half = shares[: (samples + 1) // 2]
    degree = len(points) - 1
    if len(points) <= _MAX_RECURSIVE_POINTS:
        weights = _weights(degree, first_half)
    else:
        weights = _weights_of_many(degree, first_half)
    from_start = weights @ points
    from_end = weights[: samples // 2] @ points[::-1]
    curve = np.concatenate([from_start, from_end[::-1]])
    # Rounding can keep the end weights from being exactly 1.
    curve[0] = points[0]
    curve[-1] = points[-1]
    return np.round(curve, _DECIMALS)


def _weights(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Bernstein polynomials at parameters up to one half, (shares, degree + 1), by recursion."""
    order = np.arange(1, degree + 1)
    odds = shares / (1 - shares)
    binomial_ratios = (degree + 1 - order) / order
    factors = np.empty((len(shares), degree + 1))
    factors[:, 0] = (1 - shares) ** degree
    factors[:, 1:] = np.outer(odds, binomial_ratios)
    return np.cumprod(factors, axis=1, out=factors)


def _weights_of_many(degree: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Bernstein polynomials by logarithms: slower than `_weights`, but without underflow at any degree."""
    order = np.arange(1, degree + 1)
    binomial_ratios = (degree + 1 - order) / order
    log_ratios = np.log(binomial_ratios)
    log_binomials = np.concatenate([[0.0], np.cumsum(log_ratios)])
    powers = np.arange(degree + 1)
    # A parameter of 0 gives 0 * -inf; its weights are set below.
    with np.errstate(divide="ignore", invalid="ignore"):
        log_shares = np.log(shares)[:, None]
        log_rests = np.log1p(-shares)[:, None]
        log_weights = log_binomials + powers * log_shares + (degree - powers) * log_rests
    weights = np.exp(log_weights)
    weights[shares == 0] = powers == 0
    return weights
