"""Mixtures of log-normal distributions with equal weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mixture_shares(centres: ArrayLike, spreads: ArrayLike, value: float) -> NDArray[np.float64]:
    """Return the distribution function of each component at `value`, in the shape of `centres`.

    >>> mixture_shares([0.0, -math.inf], [1.0, 1.0], 1.0).tolist()
    [0.5, 1.0]

    Args:
        centres: means of the logarithm; -inf is the constant 0, inf is an event that never happens.
        spreads: standard deviations of the logarithm, above 0.
        value: 0 or more.
    """
    from scipy.special import ndtr

    logarithm = math.log(value) if value > 0 else -math.inf
    means = np.asarray(centres, dtype=np.float64)
    deviations = np.asarray(spreads, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        shares: NDArray[Any] = ndtr((logarithm - means) / deviations)
    # The constant 0 is at most any value; for value 0 the formula gives -inf minus -inf, which is NaN.
    return np.where(np.isneginf(means), 1.0, np.nan_to_num(shares, nan=0.0))


def mixture_quantile(centres: ArrayLike, spreads: ArrayLike, share: float) -> float:
    """Return a quantile of the mixture; NaN without components, inf where too many of them never happen.

    Found by bisection, to nine digits.

    >>> round(mixture_quantile([0.0, 0.0], [1.0, 2.0], 0.5), 6)
    1.0
    """
    where = np.asarray(centres, dtype=np.float64)
    wide = np.asarray(spreads, dtype=np.float64)
    is_some = np.isfinite(where)
    if not len(where):
        return math.nan
    if np.mean(np.isneginf(where)) >= share:
        return 0.0
    if np.mean(np.isposinf(where)) > 1 - share:
        return math.inf
    low = float((where - 9 * wide)[is_some].min())
    high = float((where + 9 * wide)[is_some].max())
    while high - low > 1e-9:
        middle = (low + high) / 2
        if mixture_shares(where, wide, math.exp(middle)).mean() < share:
            low = middle
        else:
            high = middle
    return math.exp(high)
