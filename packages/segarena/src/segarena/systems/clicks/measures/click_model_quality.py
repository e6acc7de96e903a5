"""Quality of a click model: comparison of its map with the real clicks on one object.

A click model returns a map (H, W) of non-negative numbers, proportional to the probability of a
click. Two metrics evaluate the map at the real clicks (NSS, PDE). Three metrics compare the real
clicks with equally large sets of clicks sampled from the map (PL1, WD, KS). Source: RClicks,
sections 4.2 and 4.4, Tables 3, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.options import Protocol
from segarena.statistics.intervals import Interval, bootstrap_mean
from segarena.statistics.ks2d import ks2d
from segarena.systems.clicks.measures.click_set_distances import (
    KS_SIGNIFICANCE,
    BoxSize,
    ClickSetComparison,
    DistanceUnit,
    box_unit,
    check_clicks_array,
    matched_distances,
    pairwise_l1,
)

_PUBLISHED_EPSILON = 1e-9
_AVERAGED = ("pl1", "wd", "ks", "nss", "pde")


@dataclass(frozen=True, slots=True)
class ClickModelQuality:
    """Agreement of a click model with the real clicks on one object.

    Attributes:
        pl1: mean L1 distance between sampled and real clicks, in units of the box sides; lower is
            better.
        wd: Wasserstein distance between sampled and real clicks, averaged over the sampled sets, in
            box diagonals; lower is better.
        ks: share of the sampled sets that a KS test cannot distinguish from the real clicks; higher
            is better.
        nss: mean of the standardised map at the real clicks; higher is better, 0 is chance level.
        pde: mean probability of the clicked pixels; higher is better. Not comparable between image
            sizes, because each pixel of a large image has a small probability.
        clicks: number of real clicks.
    """

    pl1: float
    wd: float
    ks: float
    nss: float
    pde: float
    clicks: int


def draw_clicks(
    probability: ArrayLike,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Sample `count` pixels (row, column) with replacement, with probability proportional to the map.

    Pixels with probability 0 are never sampled. Each click uses one uniform random number and
    inverts the cumulative sum, which is computed in float64.

    Raises:
        InvalidInput: the map is not (H, W), has negative or non-finite values, or is zero
            everywhere.
    """
    return _draw(_normalised_map(probability, "careful"), count, rng)


def click_model_quality(
    probability: ArrayLike,
    clicks: ArrayLike,
    box: BoxSize,
    rng: np.random.Generator,
    *,
    draws: int = 100,
    normalise: DistanceUnit = "box_diagonal",
    protocol: Protocol = "careful",
) -> ClickModelQuality:
    """Return all five metrics of a click map, given the real clicks on the same object.

    PL1, WD and KS share the same `draws` sets of n clicks sampled from the map; the published code
    samples new sets for each metric. A constant map has an NSS of 0. Clicks outside the map raise
    an error, because they have no likelihood.

    Args:
        probability: click map (H, W), of any scale.
        clicks: real clicks, (n, 2) integer pixel positions inside the map, n >= 1. With a single
            click, or if all clicks share a row or a column, KS is 0 because the test has no
            p-value.
        box: (height, width) of the object's bounding box, not of the error's; see `box_size`.
        rng: random generator for the samples.
        draws: number of sampled sets.
        normalise: unit of the Wasserstein distance, see `wasserstein`.
        protocol: "published" adds 1e-9 to the sum of the map and, for NSS, to its standard
            deviation. This lowers NSS by less than 0.1 % on images of common sizes.

    Raises:
        InvalidInput: invalid map (see `draw_clicks`), no clicks, fractional positions, a click
            outside the map, or `draws` below 1.
    """
    if draws < 1:
        raise InvalidInput(f"draws: expected at least 1, got {draws}")
    shares = _normalised_map(probability, protocol)
    real = _check_pixels(clicks, shares.shape)
    # One call samples all sets, and the three metrics PL1, WD and KS share them.
    drawn = _draw(shares, draws * len(real), rng).reshape(draws, len(real), 2)
    unit = box_unit(box, normalise)
    distances = matched_distances(drawn / unit, real / unit)
    # A NaN p-value compares as False, so the distributions count as different.
    is_same = ks2d(drawn, real).p_values > KS_SIGNIFICANCE
    return ClickModelQuality(
        pl1=pairwise_l1(drawn.reshape(-1, 2), real, box),
        wd=float(distances.mean()),
        ks=float(is_same.mean()),
        nss=_scanpath_saliency(shares, real, protocol),
        pde=float(shares[real[:, 0], real[:, 1]].mean()),
        clicks=len(real),
    )


def mean_quality(
    rows: Sequence[ClickModelQuality] | Sequence[ClickSetComparison],
    clusters: Sequence[Any] | None = None,
) -> dict[str, Interval]:
    """Return the mean of each metric over instances, with bootstrap intervals.

    Every instance has the same weight, regardless of its number of clicks and its round. Without
    rows, the result is empty.

    Args:
        rows: the metrics of each instance.
        clusters: index of each instance's image, see `bootstrap_mean`.
    """
    if not rows:
        return {}
    names = [field.name for field in fields(rows[0]) if field.name in _AVERAGED]
    means: dict[str, Interval] = {}
    for name in names:
        values = [getattr(row, name) for row in rows]
        means[name] = bootstrap_mean(values, clusters)
    return means


def _normalised_map(probability: ArrayLike, protocol: Protocol) -> NDArray[np.float64]:
    """Return the map divided by its sum, to which the published protocol adds 1e-9."""
    values = np.asarray(probability, dtype=np.float64)
    is_finite_map = values.ndim == 2 and bool(np.isfinite(values).all())
    if not is_finite_map or values.min(initial=0) < 0 or not values.any():
        raise InvalidInput(
            "map: expected an (H, W) array of finite numbers, none negative and not all 0; "
            f"got an invalid array of shape {values.shape}"
        )
    return values / (values.sum() + _epsilon(protocol))


def _epsilon(protocol: Protocol) -> float:
    return _PUBLISHED_EPSILON if protocol == "published" else 0.0


def _draw(
    shares: NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    cumulated = np.cumsum(shares)
    # Dividing by the last value makes it exactly 1, which is above every uniform random number.
    cumulated /= cumulated[-1]
    chosen = np.searchsorted(cumulated, rng.random(count), side="right")
    rows_columns = np.unravel_index(chosen, shares.shape)
    return np.stack(rows_columns, axis=1)


def _scanpath_saliency(
    shares: NDArray[np.float64],
    pixels: NDArray[np.int64],
    protocol: Protocol,
) -> float:
    """Return the normalised scanpath saliency (NSS): the mean of the standardised map at the pixels."""
    if shares.min() == shares.max():  # the deviation of a constant is 0, or mere rounding
        return 0.0
    # Standardising is linear, so standardising the mean equals the mean of the standardised map and
    # needs no second map.
    at_clicks = shares[pixels[:, 0], pixels[:, 1]].mean()
    return float((at_clicks - shares.mean()) / (shares.std() + _epsilon(protocol)))


def _check_pixels(clicks: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    positions = check_clicks_array(clicks)
    if (positions != np.floor(positions)).any():
        raise InvalidInput("clicks: expected whole pixels, got fractions; round them first")
    if (positions < 0).any() or (positions >= shape).any():
        raise InvalidInput(
            f"clicks: some lie outside the map of shape {shape}; clip them or leave them out"
        )
    return positions.astype(np.int64)
