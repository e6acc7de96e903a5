"""Correlations of statistics over segmenters, averaged over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import mean_of_defined


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationTable:
    """Correlations of every pair of statistics.

    Attributes:
        names: of rows and columns, in the order given.
        values: float64 (k, k): Spearman below the diagonal, Pearson above it, 1 on it. NaN where a statistic is the
            same for all segmenters on every dataset.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]


def correlation_table(
    datasets: Sequence[Mapping[str, ArrayLike]], *, absolute: bool = True
) -> CorrelationTable:
    """Return how statistics correlate over segmenters, mean over datasets.

    A pair that has no correlation on a dataset, because one statistic is constant there, is averaged over the other
    datasets; the published code counts it as 0 on its first dataset and as undefined altogether on the others.

    >>> table = correlation_table([{"auc": [0.7, 0.8, 0.9], "noc": [6.0, 5.0, 2.0]}])
    >>> table.values.round(3)
    array([[1.   , 0.961],
           [1.   , 1.   ]])

    Args:
        datasets: for each dataset the values of each statistic, one per segmenter in the same order; at least two
            segmenters, the same statistics everywhere.
        absolute: give the size of the mean correlation without its sign, as the paper's figure does.

    Raises:
        InvalidInput: no datasets, other statistics on another dataset, other lengths, or values not finite.

    Source: RClicks, Figure 14.
    """
    if not datasets or any(set(table) != set(datasets[0]) for table in datasets):
        raise InvalidInput(
            "correlations: expected the same statistics for every dataset, and at least one dataset"
        )
    names = tuple(datasets[0])
    mean = mean_of_defined(np.stack([_every_pair(_columns(table, names)) for table in datasets]))
    np.fill_diagonal(mean, 1.0)
    return CorrelationTable(names, np.abs(mean) if absolute else mean)


def _columns(table: Mapping[str, ArrayLike], names: tuple[str, ...]) -> NDArray[np.float64]:
    columns = [np.asarray(table[name], dtype=np.float64) for name in names]
    shapes = {column.shape for column in columns}
    if (
        len(shapes) != 1
        or columns[0].ndim != 1
        or len(columns[0]) < 2
        or not np.isfinite(columns).all()
    ):
        raise InvalidInput(
            f"correlations: expected as many finite values, two or more, for each statistic, got {shapes}"
        )
    return np.stack(columns)


def _every_pair(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    first = columns[:, None]
    second = columns[None]
    return np.triu(pearson(first, second)) + np.tril(spearman(first, second), -1)


def pearson(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return Pearson's correlation along the last axis; NaN where one of the two is constant.

    >>> pearson([[1, 2, 3], [1, 1, 1]], [4, 6, 8])
    array([ 1., nan])

    Args:
        first: real (..., n).
        second: the same shape, or one that broadcasts with it.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    # Tested on the values themselves: the mean of equal values may differ from them in the last bit.
    is_constant = (np.ptp(one, axis=-1) == 0) | (np.ptp(two, axis=-1) == 0)
    one = one - one.mean(axis=-1, keepdims=True)
    two = two - two.mean(axis=-1, keepdims=True)
    covariance = (one * two).sum(axis=-1)
    scale = np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1))
    is_undefined = is_constant | (scale == 0)
    r = np.where(is_undefined, np.nan, covariance / np.where(is_undefined, 1.0, scale))
    return np.clip(r, -1.0, 1.0)  # rounding may exceed 1


def spearman(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the correlation of ranks along the last axis, equal values sharing their mean rank; else as `pearson`.

    >>> spearman([1, 2, 30], [4, 5, 6]).tolist()
    1.0
    """
    from scipy.stats import rankdata

    first_ranks: Any = rankdata(np.asarray(first), axis=-1)
    second_ranks: Any = rankdata(np.asarray(second), axis=-1)
    return pearson(first_ranks, second_ranks)


def kendall(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return Kendall's tau-b along the last axis: 1 where both rank all in the same order; NaN where one is constant.

    >>> kendall([[1, 2, 3], [1, 1, 1]], [4, 6, 5]).round(3)
    array([0.333,   nan])

    Source: Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945).
    """
    one = _orders(first)
    two = _orders(second)
    concordance = (one * two).sum(axis=-1)
    untied = np.sqrt((one**2).sum(axis=-1) * (two**2).sum(axis=-1))
    return np.where(untied == 0, np.nan, concordance / np.where(untied == 0, 1.0, untied))


def _orders(values: ArrayLike) -> NDArray[np.float64]:
    """Compare each pair of values along the last axis: 1 or -1 for the greater, 0 for ties."""
    array = np.asarray(values, dtype=np.float64)
    rows, columns = np.triu_indices(array.shape[-1], 1)
    return np.sign(array[..., rows] - array[..., columns])
