"""How good a model of where people click is: its map compared with the real clicks on one object.

A click model gives a map (H, W) of non-negative numbers, proportional to the probability of a click. Two
metrics read the map at the real clicks (NSS, PDE); three compare the real clicks with sets of as many drawn
from it (PL1, WD, KS). Source: RClicks, sections 4.2 and 4.4, Tables 3, 6 and 7.
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
    """A click model compared with the real clicks on one object.

    Attributes:
        pl1: mean L1 distance of drawn and real clicks, in box sides; lower is better.
        wd: Wasserstein distance of drawn and real clicks, mean over draws, in box diagonals; lower is better.
        ks: share of the draws that a KS test does not tell from the real clicks; higher is better.
        nss: standardised map at the real clicks; higher is better, 0 is chance.
        pde: probability of the pixels that were clicked; higher is better; small where images are large.
        clicks: how many real clicks.
    """

    pl1: float
    wd: float
    ks: float
    nss: float
    pde: float
    clicks: int


def draw_clicks(probability: ArrayLike, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` pixels (row, column) drawn with replacement, each as likely as the map says.

    Pixels of probability 0 are never drawn. One uniform number per click, looked up in the float64 running sum.

    Raises:
        InvalidInput: the map is not (H, W), has negative or non-finite values, or is 0 everywhere.
    """
    return _draw(_shares(probability, "careful"), count, rng)


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
    """Return all five metrics of one map and the real clicks on the same object.

    PL1, WD and KS see the same `draws` sets of n clicks from the map; the published code draws new ones for each. A
    constant map has NSS 0. Clicks outside the map are refused: one where nothing can be clicked has no likelihood.

    Args:
        probability: (H, W), its scale does not matter.
        clicks: (n, 2) whole pixels inside the map, n at least 1. With one click, or all in one line along an axis, KS
            is 0, because the test has no p-value then.
        box: (height, width) of the object, not of the error area; see `box_size`.
        rng: of the draws.
        draws: how many sets.
        normalise: unit of WD, see `wasserstein`.
        protocol: "published" adds 1e-9 to the sum of the map, and for NSS to its deviation, which lowers NSS by less
            than 0.1 % on images of usual size.

    Raises:
        InvalidInput: the map as in `draw_clicks`, no clicks, fractions of pixels, a click outside the map, or `draws`
            below 1.
    """
    if draws < 1:
        raise InvalidInput(f"draws: expected at least 1, got {draws}")
    shares = _shares(probability, protocol)
    real = _pixels_inside(clicks, shares.shape)
    drawn = _draw(shares, draws * len(real), rng).reshape(draws, len(real), 2)
    unit = box_unit(box, normalise)
    return ClickModelQuality(
        pl1=pairwise_l1(drawn.reshape(-1, 2), real, box),
        wd=float(matched_distances(drawn / unit, real / unit).mean()),
        # A NaN p-value compares False: not the same distribution.
        ks=float((ks2d(drawn, real).p_values > KS_SIGNIFICANCE).mean()),
        nss=_saliency(shares, real, protocol),
        pde=float(shares[real[:, 0], real[:, 1]].mean()),
        clicks=len(real),
    )


def mean_quality(
    rows: Sequence[ClickModelQuality] | Sequence[ClickSetComparison],
    clusters: Sequence[Any] | None = None,
) -> dict[str, Interval]:
    """Return the plain mean of each metric over instances, with its bootstrap interval; empty without rows.

    Every instance weighs the same, however many clicks it has and whichever round they belong to. `clusters` are the
    images of the instances, see `bootstrap_mean`.
    """
    if rows:
        names = [field.name for field in fields(rows[0]) if field.name in _AVERAGED]
    else:
        names = []
    means: dict[str, Interval] = {}
    for name in names:
        values = [getattr(row, name) for row in rows]
        means[name] = bootstrap_mean(values, clusters)
    return means


def _shares(probability: ArrayLike, protocol: Protocol) -> NDArray[np.float64]:
    given = np.asarray(probability, dtype=np.float64)
    if (
        given.ndim != 2
        or not np.isfinite(given).all()
        or given.min(initial=0) < 0
        or not given.any()
    ):
        raise InvalidInput(
            f"map: expected (H, W) numbers, none negative, some above 0, got shape {given.shape}"
        )
    return given / (given.sum() + _epsilon(protocol))


def _epsilon(protocol: Protocol) -> float:
    return _PUBLISHED_EPSILON if protocol == "published" else 0.0


def _draw(shares: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    up_to = np.cumsum(shares)
    up_to /= up_to[-1]  # the last one is exactly 1, and every uniform number below it
    chosen = np.searchsorted(up_to, rng.random(count), side="right")
    return np.stack(np.unravel_index(chosen, shares.shape), axis=1)


def _saliency(shares: NDArray[np.float64], pixels: NDArray[np.int64], protocol: Protocol) -> float:
    if shares.min() == shares.max():  # its deviation is rounding, or 0
        return 0.0
    at_clicks = shares[pixels[:, 0], pixels[:, 1]].mean()
    return float((at_clicks - shares.mean()) / (shares.std() + _epsilon(protocol)))


def _pixels_inside(clicks: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    given = check_clicks_array(clicks)
    if (given != np.floor(given)).any():
        raise InvalidInput("clicks: expected whole pixels, got fractions; round them first")
    if (given < 0).any() or (given >= shape).any():
        raise InvalidInput(
            f"clicks: some lie outside the map of shape {shape}; clip them or leave them out"
        )
    return given.astype(np.int64)
