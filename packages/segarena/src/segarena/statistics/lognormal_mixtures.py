"""Mixtures of log-normal distributions with equal weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The probability beyond this many standard deviations, 1e-19, is too small to change a sum in
# float64.
_DEVIATIONS = 9
_LOG_PRECISION = 1e-9


def mixture_shares(
    centres: ArrayLike,
    spreads: ArrayLike,
    value: float,
) -> NDArray[np.float64]:
    """Return the distribution function of each component at `value`, in the shape of `centres`.

    >>> mixture_shares([0.0, -math.inf], [1.0, 1.0], 1.0).tolist()
    [0.5, 1.0]

    Args:
        centres: means of the logarithm; -inf stands for the constant 0, inf for an event that never happens.
        spreads: standard deviations of the logarithm, above 0.
        value: 0 or more.
    """
    from scipy.special import ndtr

    logarithm = math.log(value) if value > 0 else -math.inf
    means = np.asarray(centres, dtype=np.float64)
    deviations = np.asarray(spreads, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        standardized = (logarithm - means) / deviations
    shares: NDArray[Any] = ndtr(standardized)
    # The constant 0 is at most any value; the formula would give -inf minus -inf, which is NaN, for
    # value 0.
    known_shares = np.nan_to_num(shares, nan=0.0)
    return np.where(np.isneginf(means), 1.0, known_shares)


def mixture_quantile(
    centres: ArrayLike,
    spreads: ArrayLike,
    share: float,
) -> float:
    """Return the quantile of the mixture at `share`; NaN without components.

    It is 0 if at least `share` of the components are the constant 0, and inf if more than
    1 - `share` of them never happen. Otherwise it is found by bisection, to nine digits.

    >>> round(mixture_quantile([0.0, 0.0], [1.0, 2.0], 0.5), 6)
    1.0
    """
    means = np.asarray(centres, dtype=np.float64)
    deviations = np.asarray(spreads, dtype=np.float64)
    if not len(means):
        return math.nan
    constant_share = np.mean(np.isneginf(means))
    if constant_share >= share:
        return 0.0
    never_share = np.mean(np.isposinf(means))
    if never_share > 1 - share:
        return math.inf
    is_finite = np.isfinite(means)
    reach = _DEVIATIONS * deviations
    low = float((means - reach)[is_finite].min())
    high = float((means + reach)[is_finite].max())
    while high - low > _LOG_PRECISION:
        middle = (low + high) / 2
        middle_share = mixture_shares(means, deviations, math.exp(middle)).mean()
        if middle_share < share:
            low = middle
        else:
            high = middle
    return math.exp(high)
