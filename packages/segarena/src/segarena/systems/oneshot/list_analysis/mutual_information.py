"""Mutual information of a number and a class, by distances to nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput

_JITTER = 1e-10  # of the spread; tells equal values apart, which the estimator needs


def mutual_information(
    values: ArrayLike, classes: ArrayLike, *, neighbours: int = 3, seed: int = 0
) -> float:
    """Return the mutual information of `values` and `classes` in nats; never below 0.

    Equal values are told apart by noise of 1e-10 of their spread, so results on values that repeat depend slightly on
    `seed`. Values of a class that occurs once are left out. No spread, or one class: 0.

    Args:
        values: (n,) finite numbers.
        classes: (n,) labels.
        neighbours: k of the estimator; in smaller classes all the others.
        seed: of the noise.

    Raises:
        InvalidInput: shapes differ, values are not finite, or `neighbours` is below 1.

    Source: Ross, Mutual Information between Discrete and Continuous Data Sets, PLoS ONE 2014, equation 3; after
    Kraskov et al., Physical Review E 2004.
    """
    from scipy.special import digamma

    given = np.asarray(values, dtype=np.float64)
    labels = np.unique(np.asarray(classes), return_inverse=True)[1]
    if (
        given.ndim != 1
        or given.shape != labels.shape
        or not np.isfinite(given).all()
        or neighbours < 1
    ):
        raise InvalidInput(
            f"expected finite values and a class for each, neighbours above 0; got {given.shape}, {labels.shape}"
        )
    sizes = np.bincount(labels)
    kept = sizes[labels] > 1
    given = given[kept]
    labels = labels[kept]
    spread = given.std() if len(given) else 0.0
    if not spread:
        return 0.0
    rng = np.random.default_rng(seed)
    given = given / spread + _JITTER * max(
        1.0, np.abs(given / spread).mean()
    ) * rng.standard_normal(len(given))
    radii, used = _radii(given, labels, neighbours)
    within = _within(given, radii)
    total = digamma(len(given)) + digamma(used).mean() - digamma(sizes[sizes > 0][labels]).mean()
    return max(0.0, float(total - digamma(within).mean()))


def _radii(
    values: NDArray[np.float64], labels: NDArray[Any], neighbours: int
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return for each value just less than the distance to its k-th neighbour in its class, and which k that is."""
    from scipy.spatial import cKDTree

    radii = np.empty(len(values))
    used = np.empty(len(values), dtype=np.int64)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        k = min(neighbours, len(own) - 1)
        # The first neighbour of each value is itself.
        distances = np.asarray(cKDTree(values[own, None]).query(values[own, None], k=[k + 1])[0])
        radii[own], used[own] = np.nextafter(distances[:, 0], 0), k
    return radii, used


def _within(values: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return how many values, each itself included, lie no farther away than its radius."""
    from scipy.spatial import cKDTree

    tree = cKDTree(values[:, None])
    return np.asarray(
        tree.query_ball_point(values[:, None], radii, return_length=True), dtype=np.int64
    )
