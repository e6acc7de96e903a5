"""Which statistics go together: their correlations over segmenters, averaged over datasets."""

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


def correlation_table(datasets: Sequence[Mapping[str, ArrayLike]], *, absolute: bool = True) -> CorrelationTable:
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
        raise InvalidInput("correlations: expected the same statistics for every dataset, and at least one dataset")
    names = tuple(datasets[0])
    mean = mean_of_defined(np.stack([_correlations(_columns(table, names)) for table in datasets]))
    np.fill_diagonal(mean, 1.0)
    return CorrelationTable(names, np.abs(mean) if absolute else mean)


def _columns(table: Mapping[str, ArrayLike], names: tuple[str, ...]) -> NDArray[np.float64]:
    columns = [np.asarray(table[name], dtype=np.float64) for name in names]
    shapes = {column.shape for column in columns}
    if len(shapes) != 1 or columns[0].ndim != 1 or len(columns[0]) < 2 or not np.isfinite(columns).all():
        raise InvalidInput(
            f"correlations: expected as many finite values, two or more, for each statistic, got {shapes}"
        )
    return np.stack(columns)


def _correlations(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.stats import rankdata

    ranks: Any = rankdata(columns, axis=1)
    return np.triu(_pearson(columns)) + np.tril(_pearson(ranks), -1)


def _pearson(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's correlation of every pair of rows; NaN for a constant row."""
    centred = columns - columns.mean(axis=1, keepdims=True)
    is_constant = np.ptp(columns, axis=1) == 0
    length = np.where(is_constant, np.nan, np.sqrt((centred**2).sum(axis=1)))
    directions = centred / length[:, None]
    return np.clip(directions @ directions.T, -1.0, 1.0)
