"""Permutation tests of whether two samples come from one distribution: energy distance and MMD.

Both compare distances between the samples with distances within them, but weight large and small ones differently. Both
are quadratic forms of the matrix of all pairs, which no permutation changes. So a permutation is a matrix product, and
any distance can be used, also one of curves (`segarena.statistics.curve_distance`).
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
_ALIKE = 1e-9  # sums of the same numbers in another order differ by less, relative to the largest


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Result of a permutation test.

    Attributes:
        statistic: distance of the samples; 0 when they are equal.
        p_value: share of permuted samples that are at least as far apart; small means "not one distribution". At least
            1 / (1 + permutations).
        sizes: values of each sample.
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
        pairs: stratum of each value, such as its target, (n1,) and (n2,): values are permuted only within a stratum, so
            that differences between strata hide less. None: one stratum.
        is_scaled: divide each of the k by its standard deviation over both samples, where units differ.
        permutations: number of permutations.
        seed: seed of the permutations.

    Raises:
        InvalidInput: other shapes, no values, values that are not finite, or `permutations` below 1.

    Source: Szekely and Rizzo, Testing for equal distributions in high dimension, InterStat 5 (2004); the mean over all
    pairs, those of a value with itself included.
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
    """Return the Gaussian kernel exp(-d^2 / (2 m^2)) of distances; m is the median between different values.

    >>> gaussian_kernel([[0.0, 2.0], [2.0, 0.0]]).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]

    Args:
        distances: real (n, n), 0 on the diagonal. Where more than half of them are 0, m is the mean of the others; all
            ones when there are no others.
    """
    given = np.asarray(distances, dtype=np.float64)
    between = given[np.triu_indices(len(given), 1)]
    if not between.any():
        return np.ones_like(given)
    middle = float(np.median(between)) or float(between[between > 0].mean())
    return np.exp(-np.square(given / middle) / 2)


def permutation_test(
    kernel: ArrayLike,
    sizes: tuple[int, int],
    *,
    pairs: Ids | None = None,
    permutations: int = 999,
    seed: int = 0,
) -> PermutationTest:
    """Test two samples by any similarity matrix: the means within each sample minus twice the mean between them.

    >>> permutation_test(np.eye(4), (2, 2)).statistic
    1.0

    Args:
        kernel: real symmetric (n1 + n2, n1 + n2), the values of the first sample before those of the second; the
            negative of distances gives the energy distance.
        sizes: n1 and n2, 1 or more.
        pairs: as for `energy_test`.
        permutations: number of permutations.
        seed: seed of the permutations.

    Raises:
        InvalidInput: as `energy_test`.
    """
    alike = np.asarray(kernel, dtype=np.float64)
    count = sum(sizes)
    if (
        alike.shape != (count, count)
        or min(sizes) < 1
        or not np.isfinite(alike).all()
        or permutations < 1
    ):
        raise InvalidInput(
            f"kernel: expected finite numbers for {count} x {count} values and a permutation at least, "
            f"got shape {alike.shape} and {permutations} permutations"
        )
    weights = np.repeat([1 / sizes[0], -1 / sizes[1]], sizes)
    seen = float(_quadratic(alike, weights[None])[0])
    noise = _ALIKE * float(np.abs(alike).max())
    rng = np.random.default_rng(seed)
    belongs = np.zeros(count, dtype=np.int64) if pairs is None else number_groups(pairs, sizes)
    hits = 0
    for part in row_chunks(permutations, count, most=_AT_ONCE):
        exchanged = _exchanged(weights, belongs, part.stop - part.start, rng)
        hits += np.count_nonzero(_quadratic(alike, exchanged) >= seen - noise)
    return PermutationTest(
        max(seen, 0.0) if seen > -noise else seen, (1 + hits) / (1 + permutations), sizes
    )


def _quadratic(kernel: Floats, weights: Floats) -> Floats:
    """Return w K w of each row of weights."""
    return ((weights @ kernel) * weights).sum(axis=1)


def _exchanged(
    weights: Floats, belongs: NDArray[np.int64], times: int, rng: np.random.Generator
) -> Floats:
    """Permute the weights within their strata, (times, n)."""
    order = np.argsort(belongs + rng.random((times, len(weights))), axis=1)
    exchanged = np.empty((times, len(weights)))
    # `order` sorts by stratum and at random within one; assign each stratum's weights to its own places.
    exchanged[:, np.argsort(belongs, kind="stable")] = weights[order]
    return exchanged


def _both(
    first: ArrayLike, second: ArrayLike, *, is_scaled: bool
) -> tuple[Floats, tuple[int, int]]:
    values, sizes = stack_samples(first, second)
    if is_scaled:
        spread = values.std(axis=0)
        values = values / np.where(spread > 0, spread, 1.0)
    return values, sizes


def _distances(values: Floats) -> Floats:
    from scipy.spatial.distance import cdist

    found: Any = cdist(values, values)
    return found
