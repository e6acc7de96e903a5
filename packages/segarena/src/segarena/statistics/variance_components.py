"""Variance components: how much people (units) differ beyond chance."""

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
        deviation: estimated standard deviation of the units' true means; 0 if chance explains all differences.
        low, high: bootstrap interval of `deviation`, 95 % by default; NaN with fewer than two clusters.
        least, most: the lowest and the highest mean of a unit.

    All are NaN if fewer than two units have values.
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

    The estimate is the root of a variance: that of the units' means minus the part of it that
    residuals cause, clipped at 0. A residual is what remains of a value after the effects of its
    unit and of its item. The difference is the variance component of a two-way layout without
    repetition. The interval resamples clusters of items with replacement.

    >>> found = unit_variation([[0.25, 0.75], [0.5, 1.0], [0.0, 0.5]])
    >>> round(found.deviation, 6), found.least, found.most
    (0.353553, 0.25, 0.75)

    Args:
        values: (items, units); NaN where a unit was not measured.
        clusters: cluster id of each item; None: each item is its own cluster.
        repeats: number of bootstrap samples.
        level: share of the samples inside the interval.
        seed: seed of the resampling.

    Raises:
        InvalidInput: `values` does not have two axes.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise InvalidInput(f"values: expected (items, units), two axes, got shape {table.shape}")
    if len(table):
        means = mean_of_defined(table)
    else:
        means = np.full(table.shape[1], math.nan)
    if np.isfinite(means).sum() < 2:
        return UnitVariation(
            deviation=math.nan,
            low=math.nan,
            high=math.nan,
            least=math.nan,
            most=math.nan,
        )
    if clusters is None:
        cluster_of = np.arange(len(table))
    else:
        _, cluster_of = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(cluster_of.max()) + 1
    low = math.nan
    high = math.nan
    if count > 1:
        rng = np.random.default_rng(seed)
        deviations: list[float] = []
        for counts in draw_counts(count, repeats, rng):
            deviations += [_deviation(table, times[cluster_of]) for times in counts]
        low, high = percentile_interval(deviations, level)
    every_item_once = np.ones(len(table))
    return UnitVariation(
        deviation=_deviation(table, every_item_once),
        low=low,
        high=high,
        least=float(np.nanmin(means)),
        most=float(np.nanmax(means)),
    )


def _deviation(table: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """Return the deviation between columns with row weights `times`; NaN if fewer than two columns have values."""
    is_known = np.isfinite(table)
    weights = times[:, None] * is_known
    filled = np.where(is_known, table, 0.0)
    sizes = weights.sum(axis=0)
    # A bootstrap sample may lack all items of a unit.
    has_items = sizes > 0
    if has_items.sum() < 2:
        return math.nan
    weights = weights[:, has_items]
    filled = filled[:, has_items]
    sizes = sizes[has_items]
    is_known = is_known[:, has_items]
    means = (weights * filled).sum(axis=0) / sizes
    # Residuals of the additive model of items and units.
    values_in_row = is_known.sum(axis=1)
    residuals = np.where(is_known, filled - means, 0.0)
    # An item without values has no residuals; the maximum only avoids dividing by 0.
    row_means = residuals.sum(axis=1) / np.maximum(values_in_row, 1)
    residuals = np.where(is_known, residuals - row_means[:, None], 0.0)
    mean_size = float(sizes.mean())
    degrees_of_freedom = max(mean_size - 1, 0.0) * (len(means) - 1)
    chance = 0.0
    if degrees_of_freedom:
        squares = float((weights * residuals**2).sum())
        chance = squares / degrees_of_freedom / mean_size
    # Unbiased, because the units are a sample of all people.
    variance = float(np.var(means, ddof=1))
    return math.sqrt(max(0.0, variance - chance))
