"""Bootstrap draws and percentile intervals. Every bootstrap interval of the package uses these draws.

Independent units are sampled: targets, or whole images, cases or sequences (clusters) if values
within one depend on each other. Callers compute the statistic of each sample from the units in it,
or from how often each unit occurs: with sums per unit, that is a matrix product with the weights of
`draw_counts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segarena.arrays.chunks import row_chunks
from segarena.errors import InvalidInput

_MAX_INDICES = 1 << 21  # in memory at a time: 16 MB
# Maximum number of draws in a chunk. So many fit in the cache, and sums are rounded as in published
# figures.
_MAX_DRAWS = 100


def check_bootstrap(repeats: int, level: float) -> None:
    """Check that the settings of a bootstrap allow an interval.

    >>> check_bootstrap(2000, 0.95)

    Raises:
        InvalidInput: `repeats` is below 1, or `level` is not between 0 and 1.
    """
    if repeats < 1 or not 0 < level < 1:
        raise InvalidInput(
            f"expected repeats of at least 1 and a level between 0 and 1, got {repeats} and {level}"
        )


def draw_units(
    count: int,
    repeats: int,
    rng: np.random.Generator,
) -> Iterator[NDArray[np.int64]]:
    """Yield `repeats` bootstrap samples of `count` units with replacement, as unit indices, in chunks (draws, count).

    >>> [part.tolist() for part in draw_units(3, 2, np.random.default_rng(0))]
    [[[2, 1, 1], [0, 0, 0]]]

    Args:
        count: number of units, 1 or more.
        repeats: number of bootstrap samples; dividing them into chunks does not change any of them.
        rng: random generator, which is advanced by one value per unit and sample.
    """
    # A chunk has at most `_MAX_DRAWS` draws and at most `_MAX_INDICES` indices, unless a single draw
    # has more.
    least_width = _MAX_INDICES // _MAX_DRAWS
    for chunk in row_chunks(repeats, max(count, least_width), most=_MAX_INDICES):
        draws = chunk.stop - chunk.start
        yield rng.integers(count, size=(draws, count))


def draw_counts(
    count: int,
    repeats: int,
    rng: np.random.Generator,
    *,
    stream: Literal["units", "multinomial"] = "units",
) -> Iterator[NDArray[np.float64]]:
    """Yield how often each bootstrap sample contains each unit, in chunks (draws, count); rows sum to `count`.

    >>> [part.tolist() for part in draw_counts(3, 2, np.random.default_rng(0))]
    [[[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]]

    Args:
        count: number of units, 1 or more.
        repeats: number of bootstrap samples.
        rng: random generator, which is advanced as `stream` says.
        stream: "units" counts the units of `draw_units`. "multinomial" samples the counts directly, in one chunk: the
            same distribution from other random values, which reproduces figures that were published this way.
    """
    if stream == "multinomial":
        probabilities = np.full(count, 1 / count)
        counts = rng.multinomial(count, probabilities, size=repeats)
        yield counts.astype(np.float64)
        return
    for drawn in draw_units(count, repeats, rng):
        # Sample k gets the bins from k * count on, so that one `bincount` serves all samples.
        first_bins = np.arange(len(drawn))[:, None] * count
        bins = drawn + first_bins
        times = np.bincount(bins.ravel(), minlength=drawn.size)
        # Floats, because callers use them in matrix products, which are fast only for floats.
        yield times.reshape(drawn.shape).astype(np.float64)


def percentile_interval(values: ArrayLike, level: float) -> tuple[float, float]:
    """Return the percentile interval that contains the middle `level` of the values; NaN is ignored.

    >>> percentile_interval([0.0, 1.0, 2.0, 3.0, 4.0, float("nan")], 0.5)
    (1.0, 3.0)

    Args:
        values: the statistic of each bootstrap sample; NaN if it is undefined for a sample.
        level: share of the values inside the interval.

    Returns:
        (low, high), interpolated linearly between ranks; NaN if all values are NaN.
    """
    drawn = np.asarray(values, dtype=np.float64)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, tail_shares(level))
    return float(low), float(high)


def tail_shares(level: float) -> list[float]:
    """Return the lower and upper quantile levels of a central interval with coverage `level`.

    >>> tail_shares(0.5)
    [0.25, 0.75]
    """
    lower = (1 - level) / 2
    upper = (1 + level) / 2
    return [lower, upper]


def mean_of_defined(values: ArrayLike) -> NDArray[np.float64]:
    """Return means over the first axis, ignoring NaN; NaN if all values are NaN.

    >>> mean_of_defined([[1.0, float("nan")], [3.0, float("nan")]])
    array([ 2., nan])
    """
    array = np.asarray(values, dtype=np.float64)
    is_known = ~np.isnan(array)
    counts = is_known.sum(axis=0)
    totals = np.where(is_known, array, 0).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN that is meant
        return np.asarray(totals / counts)
