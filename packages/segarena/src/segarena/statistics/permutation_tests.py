"""Do two samples come from one distribution? Energy distance and maximum mean discrepancy, by permutation.

Both compare distances between the samples with distances within them; only they weigh far and near differently. Both
are sums over a matrix of all pairs, which stays the same when values change places: so a permutation is a product with
that matrix, and any measure of distance will do, curves' too (`segarena.statistics.curve_distance`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput
from segarena.statistics.two_samples import Floats, Ids, number_groups, stack_samples

_AT_ONCE = 1 << 21  # weights held at once: 16 MB
_ALIKE = 1e-9  # sums of the same numbers in another order differ by less, relative to the largest


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """What a permutation test says.

    Attributes:
        statistic: how far the samples are apart; 0 when they are the same.
        p_value: how often samples whose values were exchanged at random are as far apart; small means "not one
            distribution". At least 1 / (1 + permutations).
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
        pairs: what each value was given for, (n1,) and (n2,): values are exchanged only among those for the same, so
            that differences between what they were given for hide less. None: among all.
        is_scaled: divide each of the k by its standard deviation over both samples, where units differ.
        permutations: how many.
        seed: of them.

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
    """Return exp(-d^2 / (2 m^2)) of a matrix of distances, with m the median of those between different values.

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
    """Return the test of any matrix that says how alike two values are: mean within either sample, less between twice.

    >>> permutation_test(np.eye(4), (2, 2)).statistic
    1.0

    Args:
        kernel: real symmetric (n1 + n2, n1 + n2), the values of the first sample before those of the second; the
            negative of distances gives the energy distance.
        sizes: n1 and n2, 1 or more.
        pairs: as for `energy_test`.
        permutations: how many.
        seed: of them.

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
    """Return the weights in random order, (times, n), each staying among those that belong together."""
    order = np.argsort(belongs + rng.random((times, len(weights))), axis=1)
    exchanged = np.empty((times, len(weights)))
    # Sorted, those that belong together stand in the same places each time; they are handed out at their own places.
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
