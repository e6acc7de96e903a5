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
        names: names of rows and columns, in the order of the input.
        values: float64 (k, k): Spearman below the diagonal, Pearson above it, 1 on it. NaN for a pair if, on every
            dataset, one of its statistics is the same for all segmenters.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]


def correlation_table(
    datasets: Sequence[Mapping[str, ArrayLike]], *, absolute: bool = True
) -> CorrelationTable:
    """Return the correlations of statistics over segmenters, averaged over datasets.

    If a pair has no correlation on a dataset, because one of its statistics is constant there, its
    correlation is averaged over the other datasets. The published code instead counts such a
    correlation as 0 on the first dataset; on any other dataset it makes the whole average
    undefined.

    >>> table = correlation_table([{"auc": [0.7, 0.8, 0.9], "noc": [6.0, 5.0, 2.0]}])
    >>> table.values.round(3)
    array([[1.   , 0.961],
           [1.   , 1.   ]])

    Args:
        datasets: for each dataset the values of each statistic, one per segmenter in the same order; at least two
            segmenters, and the same statistics for all datasets.
        absolute: return the absolute value of the mean correlation, like the paper's figure.

    Raises:
        InvalidInput: there are no datasets, statistics or lengths differ, or values are not finite.

    Source: RClicks, Figure 14.
    """
    if not datasets or any(set(table) != set(datasets[0]) for table in datasets):
        raise InvalidInput(
            "correlations: expected the same statistics for every dataset, and at least one dataset"
        )
    names = tuple(datasets[0])
    correlations = [_correlate_pairs(_columns(table, names)) for table in datasets]
    mean = mean_of_defined(np.stack(correlations))
    np.fill_diagonal(mean, 1.0)
    if absolute:
        mean = np.abs(mean)
    return CorrelationTable(names, mean)


def _columns(table: Mapping[str, ArrayLike], names: tuple[str, ...]) -> NDArray[np.float64]:
    columns = [np.asarray(table[name], dtype=np.float64) for name in names]
    shapes = {column.shape for column in columns}
    # Without statistics the shape is undefined.
    is_one_length = len(shapes) == 1 and columns[0].ndim == 1
    if not is_one_length or len(columns[0]) < 2 or not np.isfinite(columns).all():
        raise InvalidInput(
            "correlations: expected the same number of finite values, two or more, for each "
            f"statistic, got {shapes}"
        )
    return np.stack(columns)


def _correlate_pairs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's correlations below the diagonal, and Pearson's on and above it."""
    first = columns[:, None]
    second = columns[None]
    upper = np.triu(pearson(first, second))
    lower = np.tril(spearman(first, second), -1)
    return upper + lower


def pearson(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return Pearson's correlation along the last axis; NaN if one input is constant.

    >>> pearson([[1, 2, 3], [1, 1, 1]], [4, 6, 8])
    array([ 1., nan])

    Args:
        first: real (..., n).
        second: real, of the same shape or one that broadcasts with it.
    """
    one = np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    # Test the values themselves, because the mean of equal values may differ from them in the last
    # bit.
    is_constant = (np.ptp(one, axis=-1) == 0) | (np.ptp(two, axis=-1) == 0)
    one = one - one.mean(axis=-1, keepdims=True)
    two = two - two.mean(axis=-1, keepdims=True)
    covariance = (one * two).sum(axis=-1)
    scale = _product_of_norms(one, two)
    is_undefined = is_constant | (scale == 0)
    divisor = np.where(is_undefined, 1.0, scale)
    correlation = np.where(is_undefined, np.nan, covariance / divisor)
    return np.clip(correlation, -1.0, 1.0)  # rounding may exceed 1


def spearman(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return the rank correlation along the last axis; ties share their mean rank. Otherwise like `pearson`.

    >>> spearman([1, 2, 30], [4, 5, 6]).tolist()
    1.0
    """
    from scipy.stats import rankdata

    first_ranks: Any = rankdata(np.asarray(first), axis=-1)
    second_ranks: Any = rankdata(np.asarray(second), axis=-1)
    return pearson(first_ranks, second_ranks)


def kendall(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return Kendall's tau-b along the last axis: 1 for equal orders, NaN if one input is constant.

    >>> kendall([[1, 2, 3], [1, 1, 1]], [4, 6, 5]).round(3)
    array([0.333,   nan])

    Source: Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945).
    """
    one = _orders(first)
    two = _orders(second)
    concordance = (one * two).sum(axis=-1)
    untied = _product_of_norms(one, two)
    is_constant = untied == 0
    divisor = np.where(is_constant, 1.0, untied)
    return np.where(is_constant, np.nan, concordance / divisor)


def _orders(values: ArrayLike) -> NDArray[np.float64]:
    """Compare each pair of values along the last axis: 1 or -1 by which one is greater, 0 for ties."""
    array = np.asarray(values, dtype=np.float64)
    rows, columns = np.triu_indices(array.shape[-1], 1)
    return np.sign(array[..., rows] - array[..., columns])


def _product_of_norms(one: NDArray[np.float64], two: NDArray[np.float64]) -> NDArray[np.float64]:
    one_squared = (one**2).sum(axis=-1)
    two_squared = (two**2).sum(axis=-1)
    return np.sqrt(one_squared * two_squared)
