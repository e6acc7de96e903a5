"""Mutual information of a numeric and a categorical variable, estimated from nearest neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput

# Standard deviation of the noise, as a share of the standard deviation of the values or of their
# mean magnitude, whichever is larger. The estimator needs distances above 0, so noise has to
# separate equal values.
_NOISE_SHARE = 1e-10


def mutual_information(
    values: ArrayLike,
    classes: ArrayLike,
    *,
    neighbours: int = 3,
    seed: int = 0,
) -> float:
    """Estimate the mutual information of `values` and `classes` in nats; negative estimates become 0.

    Very weak noise separates equal values, so results for repeated values depend slightly on
    `seed`. Values of a class that occurs only once are left out. If all values are equal, or there
    is only one class, the result is 0.

    Args:
        values: (n,) finite numbers.
        classes: (n,) labels.
        neighbours: k of the estimator; a class with k or fewer values uses all its other values.
        seed: random seed of the noise.

    Raises:
        InvalidInput: shapes differ, values are not finite, or `neighbours` is below 1.

    Source: Ross, Mutual Information between Discrete and Continuous Data Sets, PLoS ONE 2014,
    equation 3; after Kraskov et al., Physical Review E 2004.
    """
    # SciPy takes long to import, and `segarena toss --help` needs none of it.
    from scipy.special import digamma

    numbers = np.asarray(values, dtype=np.float64)
    labels = np.unique(np.asarray(classes), return_inverse=True)[1]
    is_valid = numbers.ndim == 1 and numbers.shape == labels.shape and neighbours >= 1
    if not is_valid or not np.isfinite(numbers).all():
        raise InvalidInput(
            "expected finite values, a class for each, and neighbours above 0; "
            f"got {numbers.shape}, {labels.shape}"
        )
    class_sizes = np.bincount(labels)
    has_neighbour = class_sizes[labels] > 1
    numbers = numbers[has_neighbour]
    labels = labels[has_neighbour]
    spread = numbers.std() if len(numbers) else 0.0
    if not spread:
        return 0.0
    scaled = numbers / spread
    noise_scale = _NOISE_SHARE * max(1.0, np.abs(scaled).mean())
    rng = np.random.default_rng(seed)
    scaled = scaled + noise_scale * rng.standard_normal(len(scaled))
    radii, used_neighbours = _class_radii(scaled, labels, neighbours)
    counts_within = _count_within(scaled, radii)
    own_sizes = class_sizes[class_sizes > 0][labels]
    total = digamma(len(scaled)) + digamma(used_neighbours).mean() - digamma(own_sizes).mean()
    return max(0.0, float(total - digamma(counts_within).mean()))


def _class_radii(
    values: NDArray[np.float64],
    labels: NDArray[np.intp],
    neighbours: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return, for each value, a radius just below the distance to its k-th neighbour in the class, and k."""
    from scipy.spatial import cKDTree

    radii = np.empty(len(values))
    used_neighbours = np.empty(len(values), dtype=np.int64)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        points = values[own, None]
        k = min(neighbours, len(own) - 1)
        # The nearest neighbour of each value is the value itself.
        found = cKDTree(points).query(points, k=[k + 1])
        distances = np.asarray(found[0])
        # Just below, because the estimator counts only values that are nearer than the k-th
        # neighbour.
        radii[own] = np.nextafter(distances[:, 0], 0)
        used_neighbours[own] = k
    return radii, used_neighbours


def _count_within(values: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the values within the radius of each value, including the value itself."""
    from scipy.spatial import cKDTree

    points = values[:, None]
    tree = cKDTree(points)
    counts = tree.query_ball_point(points, radii, return_length=True)
    return np.asarray(counts, dtype=np.int64)
