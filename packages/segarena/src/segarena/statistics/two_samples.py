"""Input of two-sample tests: stacked samples and their groups."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput

Floats = NDArray[np.float64]
Ids: TypeAlias = tuple[ArrayLike, ArrayLike]
"""For each sample the group ids of its values; the same id in both samples is the same group."""


def stack_samples(first: ArrayLike, second: ArrayLike) -> tuple[Floats, tuple[int, int]]:
    """Stack both samples, (n1 + n2, k), and return n1 and n2 with them.

    >>> values, sizes = stack_samples([[1.0], [2.0]], [[3.0]])
    >>> values.tolist(), sizes
    ([[1.0], [2.0], [3.0]], (2, 1))

    Raises:
        InvalidInput: a sample without values, other axes, or values that are not finite.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    if (
        one.ndim != 2
        or two.ndim != 2
        or one.shape[1] != two.shape[1]
        or not one.size
        or not two.size
    ):
        raise InvalidInput(
            f"samples: expected (n1, k) and (n2, k) with values, got shapes {one.shape} and {two.shape}"
        )
    values = np.concatenate([one, two])
    if not np.isfinite(values).all():
        raise InvalidInput("samples: contain NaN or infinity; leave out the rows that have it")
    return values, (len(one), len(two))


def number_groups(ids: Ids, sizes: tuple[int, int]) -> NDArray[np.int64]:
    """Number the group ids of both samples from 0, (n1 + n2,).

    >>> number_groups((["b", "a"], ["b"]), (2, 1)).tolist()
    [1, 0, 1]

    Raises:
        InvalidInput: not one id for each value.
    """
    names = [np.asarray(part) for part in ids]
    if [part.shape for part in names] != [(size,) for size in sizes]:
        shapes = " and ".join(str(part.shape) for part in names)
        raise InvalidInput(
            f"ids: expected one for each value, {sizes[0]} and {sizes[1]}, got shapes {shapes}"
        )
    as_text = np.concatenate([part.astype(str) for part in names])
    _, numbers = np.unique(as_text, return_inverse=True)
    return numbers
