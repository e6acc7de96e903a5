"""Input of two-sample tests: stacked samples and their groups."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput

Floats = NDArray[np.float64]
Ids: TypeAlias = tuple[ArrayLike, ArrayLike]
"""Group ids of the values of each sample; equal ids in both samples mean the same group."""


def stack_samples(first: ArrayLike, second: ArrayLike) -> tuple[Floats, tuple[int, int]]:
    """Stack both samples, (n1 + n2, k); also return n1 and n2.

    >>> values, sizes = stack_samples([[1.0], [2.0]], [[3.0]])
    >>> values.tolist(), sizes
    ([[1.0], [2.0], [3.0]], (2, 1))

    Raises:
        InvalidInput: a sample has no values or not two axes, k differs, or values are not finite.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    has_axes = one.ndim == 2 and two.ndim == 2
    has_values = one.size > 0 and two.size > 0
    if not has_axes or not has_values or one.shape[1] != two.shape[1]:
        raise InvalidInput(
            f"samples: expected (n1, k) and (n2, k) with values, got shapes {one.shape} and {two.shape}"
        )
    values = np.concatenate([one, two])
    if not np.isfinite(values).all():
        raise InvalidInput(
            "samples: expected finite numbers, got NaN or infinity; leave out the rows with such values"
        )
    return values, (len(one), len(two))


def number_groups(ids: Ids, sizes: tuple[int, int]) -> NDArray[np.int64]:
    """Replace the group ids of both samples by indices from 0, (n1 + n2,).

    >>> number_groups((["b", "a"], ["b"]), (2, 1)).tolist()
    [1, 0, 1]

    Raises:
        InvalidInput: the number of ids differs from the number of values.
    """
    first_size, second_size = sizes
    first_ids, second_ids = (np.asarray(part) for part in ids)
    if first_ids.shape != (first_size,) or second_ids.shape != (second_size,):
        raise InvalidInput(
            f"ids: expected one for each value, {first_size} and {second_size}, "
            f"got shapes {first_ids.shape} and {second_ids.shape}"
        )
    # Compare ids as text, because the ids of one sample may be numbers and those of the other
    # strings.
    as_text = np.concatenate([first_ids.astype(str), second_ids.astype(str)])
    _, numbers = np.unique(as_text, return_inverse=True)
    return numbers
