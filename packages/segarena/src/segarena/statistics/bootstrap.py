"""Bootstrap draws and percentile intervals. Every interval of the package uses these draws.

Drawn are independent units: targets, or whole images, cases or sequences (clusters) where values of one are dependent.
Callers compute the statistic of each draw from the units drawn, or from how often each was drawn: with sums per unit
that is a matrix product with the weights of `draw_counts`.
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
# Maximum draws per batch: they fit in the cache, and sums are rounded as in published figures.
_MAX_DRAWS = 100


def check_bootstrap(repeats: int, level: float) -> None:
    """Check that a bootstrap gives an interval.

    >>> check_bootstrap(2000, 0.95)

    Raises:
        InvalidInput: `repeats` below 1, or `level` not between 0 and 1.
    """
    if repeats < 1 or not 0 < level < 1:
        raise InvalidInput(
            f"expected repeats of at least 1 and a level within 0..1, got {repeats} and {level}"
        )


def draw_units(count: int, repeats: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield `repeats` draws of `count` units with replacement, as the units' numbers, in parts of (draws, count).

    >>> [part.tolist() for part in draw_units(3, 2, np.random.default_rng(0))]
    [[[2, 1, 1], [0, 0, 0]]]

    Args:
        count: units, 1 or more.
        repeats: draws; how they are divided into parts changes none of them.
        rng: moved on by one number per unit and draw.
    """
    for part in row_chunks(repeats, max(count, _MAX_INDICES // _MAX_DRAWS), most=_MAX_INDICES):
        yield rng.integers(count, size=(part.stop - part.start, count))


def draw_counts(
    count: int,
    repeats: int,
    rng: np.random.Generator,
    *,
    stream: Literal["units", "multinomial"] = "units",
) -> Iterator[NDArray[np.float64]]:
    """Yield how often each unit is in each draw, in parts of (draws, count); every row adds up to `count`.

    >>> [part.tolist() for part in draw_counts(3, 2, np.random.default_rng(0))]
    [[[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]]

    Args:
        count: units, 1 or more.
        repeats: number of draws.
        rng: moved on as the stream says.
        stream: "units" counts the draws of `draw_units`. "multinomial" draws the counts themselves, in one part: the
            same distribution from other random numbers, which the figures published with it need.
    """
    if stream == "multinomial":
        yield rng.multinomial(count, np.full(count, 1 / count), size=repeats).astype(np.float64)
        return
    for drawn in draw_units(count, repeats, rng):
        # Draw k gets the bins from k * count on, so that one `bincount` serves all draws.
        places = drawn + np.arange(len(drawn))[:, None] * count
        times = np.bincount(places.ravel(), minlength=drawn.size)
        yield times.reshape(drawn.shape).astype(np.float64)


def percentile_interval(values: ArrayLike, level: float) -> tuple[float, float]:
    """Return the percentile interval that holds the middle `level` of the draws; NaN draws are ignored.

    >>> percentile_interval([0.0, 1.0, 2.0, 3.0, 4.0, float("nan")], 0.5)
    (1.0, 3.0)

    Args:
        values: the statistic in each draw; NaN where a draw leaves it undefined.
        level: share of the draws inside.

    Returns:
        (low, high), linear between ranks; NaN when no draw has a value.
    """
    drawn = np.asarray(values, dtype=np.float64)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, tail_shares(level))
    return float(low), float(high)


def tail_shares(level: float) -> list[float]:
    """Return the two shares that lie `level` apart around one half.

    >>> tail_shares(0.5)
    [0.25, 0.75]
    """
    return [(1 - level) / 2, (1 + level) / 2]


def mean_of_defined(values: ArrayLike) -> NDArray[np.float64]:
    """Return means over the first axis, ignoring NaN; NaN where there is no other value.

    >>> mean_of_defined([[1.0, float("nan")], [3.0, float("nan")]])
    array([ 2., nan])
    """
    given = np.asarray(values, dtype=np.float64)
    is_known = ~np.isnan(given)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN that is meant
        total = np.where(is_known, given, 0).sum(axis=0)
        return np.asarray(total / is_known.sum(axis=0))
