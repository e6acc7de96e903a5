"""Variance components: the variation between people (units) beyond chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.errors import InvalidInput
from segarena.statistics.bootstrap import draw_counts, mean_of_defined, percentile_interval


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitVariation:
    """Variation between units, such as people.

    Attributes:
        deviation: standard deviation between their true means; 0 where chance explains all of the differences.
        low, high: its 95 % interval; NaN with fewer than two clusters.
        least, most: the lowest and the highest mean of a unit.
    """

    deviation: float
    low: float
    high: float
    least: float
    most: float


def unit_variation(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    repeats: int = 500,
    level: float = 0.95,
    seed: int = 0,
) -> UnitVariation:
    """Estimate the standard deviation between units that were measured on the same items.

    The estimate is the variance of the units' means minus the variance that the residuals (values minus the means of
    their item and of their unit) cause in such a mean: the variance component of a two-way layout without repetition,
    clipped at 0. The interval draws clusters of items with replacement.

    >>> found = unit_variation([[0.25, 0.75], [0.5, 1.0], [0.0, 0.5]])
    >>> round(found.deviation, 6), found.least, found.most
    (0.353553, 0.25, 0.75)

    Args:
        values: (items, units); NaN where a unit was not measured.
        clusters: cluster id of each item; None: each is its own cluster.
        repeats: bootstrap samples.
        level: share of them inside the interval.
        seed: seed of the resampling.

    Raises:
        InvalidInput: not two axes.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidInput(f"values: expected things and units, two axes, got shape {table.shape}")
    means = mean_of_defined(table) if len(table) else np.full(table.shape[1], math.nan)
    if np.isfinite(means).sum() < 2:
        return UnitVariation(
            deviation=math.nan, low=math.nan, high=math.nan, least=math.nan, most=math.nan
        )
    if clusters is None:
        belongs = np.arange(len(table))
    else:
        belongs = np.unique(np.asarray(clusters), return_inverse=True)[1]
    count = int(belongs.max()) + 1
    low = high = math.nan
    if count > 1:
        drawn = draw_counts(count, repeats, np.random.default_rng(seed))
        found = [_deviation(table, times[belongs]) for part in drawn for times in part]
        low, high = percentile_interval(found, level)
    return UnitVariation(
        deviation=_deviation(table, np.ones(len(table))),
        low=low,
        high=high,
        least=float(np.nanmin(means)),
        most=float(np.nanmax(means)),
    )


def _deviation(table: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """Return the deviation between columns, with rows weighted by `times`; NaN with fewer than two columns."""
    is_known = np.isfinite(table)
    weights = times[:, None] * is_known
    filled = np.where(is_known, table, 0.0)
    sizes = weights.sum(axis=0)
    columns = sizes > 0
    if columns.sum() < 2:
        return math.nan
    weights = weights[:, columns]
    filled = filled[:, columns]
    sizes = sizes[columns]
    is_known = is_known[:, columns]
    means = (weights * filled).sum(axis=0) / sizes
    # Residuals of the additive model of items and units.
    values_in_row = is_known.sum(axis=1)
    residuals = np.where(is_known, filled - means, 0.0)
    row_means = residuals.sum(axis=1) / np.maximum(values_in_row, 1)
    residuals = np.where(is_known, residuals - row_means[:, None], 0.0)
    mean_size = float(sizes.mean())
    degrees_of_freedom = max(mean_size - 1, 0.0) * (len(means) - 1)
    if degrees_of_freedom:
        chance = float((weights * residuals**2).sum()) / degrees_of_freedom / mean_size
    else:
        chance = 0.0
    return math.sqrt(max(0.0, float(np.var(means, ddof=1)) - chance))
