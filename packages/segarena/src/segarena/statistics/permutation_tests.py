"""Permutation tests of whether two samples come from one distribution: energy distance and MMD.

Both compare distances between the samples with distances within them, but weight large and small
distances differently. Both are quadratic forms of a matrix over all pairs of values, which no
permutation changes. A permutation therefore costs only a matrix product, and any distance can be
used, including one between curves (`segarena.statistics.curve_distance`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput
from segarena.statistics.two_samples import Floats, Ids, number_groups, stack_samples

_AT_ONCE = 1 << 21  # weights in memory at a time: 16 MB
_ROUNDING = (
    1e-9  # sums of the same numbers in another order differ by less, relative to the largest
)


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes:
        statistic: distance between the samples; 0 if they are equal.
        p_value: share of the permutations, including the observed arrangement, in which the samples are at least as far
            apart as observed; small values mean that the distributions differ. At least 1 / (1 + permutations).
        sizes: number of values of each sample.
    """

    statistic: float
    p_value: float
    sizes: tuple[int, int]


def energy_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    pairs: Ids | None = None,
    is_scaled: bool = False,
    permutations: int = 999,
    seed: int = 0,
) -> PermutationTest:
    """Return the energy distance of two samples, 2 E|X - Y| - E|X - X'| - E|Y - Y'|, and its p-value.

    >>> energy_test([[0.0], [0.0]], [[3.0], [3.0]]).statistic
    6.0

    Args:
        first: real (n1, k), finite.
        second: real (n2, k).
        pairs: stratum of each value, such as its target, (n1,) and (n2,): values are permuted only
            within a stratum, so that differences between strata cannot hide one between the
            samples. None: one stratum.
        is_scaled: whether to divide each of the k features by its standard deviation over both
            samples, for features in different units.
        permutations: number of permutations.
        seed: seed of the permutations.

    Raises:
        InvalidInput: shapes do not match, there are no values, values are not finite, or `permutations` is below 1.

    Source: Szekely and Rizzo, Testing for equal distributions in high dimension, InterStat 5
    (2004); the mean over all pairs, including pairs of a value with itself.
    """
    values, sizes = _both(first, second, is_scaled=is_scaled)
    return permutation_test(
        -_distances(values), sizes, pairs=pairs, permutations=permutations, seed=seed
    )


def mmd_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    pairs: Ids | None = None,
    is_scaled: bool = False,
    permutations: int = 999,
    seed: int = 0,
) -> PermutationTest:
    """Return the squared maximum mean discrepancy of two samples with the kernel of `gaussian_kernel`, and its p-value.

    >>> mmd_test([[0.0], [1.0]], [[0.0], [1.0]]).statistic
    0.0

    Arguments and errors are those of `energy_test`.

    Source: Gretton et al., A kernel two-sample test, JMLR 13 (2012); its biased estimate, which is never negative.
    """
    values, sizes = _both(first, second, is_scaled=is_scaled)
    kernel = gaussian_kernel(_distances(values))
    return permutation_test(kernel, sizes, pairs=pairs, permutations=permutations, seed=seed)


def gaussian_kernel(distances: ArrayLike) -> Floats:
    """Return the Gaussian kernel exp(-d^2 / (2 m^2)) of distances; m is the median above the diagonal.

    >>> gaussian_kernel([[0.0, 2.0], [2.0, 0.0]]).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]

    Args:
        distances: real (n, n), 0 on the diagonal. If more than half of them are 0, m is the mean of the others; if all
            are 0, the kernel is 1 everywhere.
    """
    matrix = np.asarray(distances, dtype=np.float64)
    between = matrix[np.triu_indices(len(matrix), 1)]
    if not between.any():
        return np.ones_like(matrix)
    bandwidth = float(np.median(between))
    # The median is 0 if most values are equal; the kernel would then divide by 0.
    if bandwidth == 0:
        bandwidth = float(between[between > 0].mean())
    return np.exp(-np.square(matrix / bandwidth) / 2)


def permutation_test(
    kernel: ArrayLike,
    sizes: tuple[int, int],
    *,
    pairs: Ids | None = None,
    permutations: int = 999,
    seed: int = 0,
) -> PermutationTest:
    """Test two samples by any similarity matrix: the sum of the means within each minus twice the mean between them.

    >>> permutation_test(np.eye(4), (2, 2)).statistic
    1.0

    Args:
        kernel: real symmetric (n1 + n2, n1 + n2), the values of the first sample before those of the second; the
            negative of distances gives the energy distance.
        sizes: n1 and n2, 1 or more.
        pairs: see `energy_test`.
        permutations: number of permutations.
        seed: seed of the permutations.

    Raises:
        InvalidInput: see `energy_test`.
    """
    similarity = np.asarray(kernel, dtype=np.float64)
    count = sum(sizes)
    has_shape = similarity.shape == (count, count) and min(sizes) >= 1
    if not has_shape or permutations < 1 or not np.isfinite(similarity).all():
        raise InvalidInput(
            f"kernel: expected finite numbers for {count} x {count} values and at least one "
            f"permutation, got shape {similarity.shape} and {permutations} permutations"
        )
    first_size, second_size = sizes
    # With these weights the quadratic form is the sum of the means within the samples minus twice
    # the mean between them.
    weights = np.repeat([1 / first_size, -1 / second_size], sizes)
    observed = float(_quadratic(similarity, weights[None])[0])
    rounding = _ROUNDING * float(np.abs(similarity).max())
    if pairs is None:
        strata = np.zeros(count, dtype=np.int64)
    else:
        strata = number_groups(pairs, sizes)
    rng = np.random.default_rng(seed)
    hits = 0
    for chunk in row_chunks(permutations, count, most=_AT_ONCE):
        permuted = _permute(weights, strata, chunk.stop - chunk.start, rng)
        statistics = _quadratic(similarity, permuted)
        # The tolerance keeps rounding from breaking ties with the observed arrangement.
        hits += np.count_nonzero(statistics >= observed - rounding)
    # Count the observed arrangement as a permutation, so that p is never 0.
    p_value = (1 + hits) / (1 + permutations)
    # The energy distance and MMD are at least 0; a slightly negative value comes from rounding.
    if -rounding < observed < 0:
        observed = 0.0
    return PermutationTest(observed, p_value, sizes)


def _quadratic(kernel: Floats, weights: Floats) -> Floats:
    """Return w K w for each row w of `weights`."""
    products = weights @ kernel
    return (products * weights).sum(axis=1)


def _permute(
    weights: Floats,
    strata: NDArray[np.int64],
    times: int,
    rng: np.random.Generator,
) -> Floats:
    """Permute the weights within their strata, (times, n)."""
    # Adding random values below 1 sorts by stratum, and randomly within each stratum.
    keys = strata + rng.random((times, len(weights)))
    random_order = np.argsort(keys, axis=1)
    by_stratum = np.argsort(strata, kind="stable")
    permuted = np.empty((times, len(weights)))
    permuted[:, by_stratum] = weights[random_order]
    return permuted


def _both(
    first: ArrayLike,
    second: ArrayLike,
    *,
    is_scaled: bool,
) -> tuple[Floats, tuple[int, int]]:
    values, sizes = stack_samples(first, second)
    if is_scaled:
        deviations = values.std(axis=0)
        # Leave a constant feature unchanged instead of dividing by 0.
        values = values / np.where(deviations > 0, deviations, 1.0)
    return values, sizes


def _distances(values: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    found: Any = cdist(values, values)
    return found
