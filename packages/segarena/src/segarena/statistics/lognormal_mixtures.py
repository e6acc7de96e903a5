"""Mixtures of log-normal distributions: one for each of many things, all equally likely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mixture_shares(centres: ArrayLike, spreads: ArrayLike, value: float) -> NDArray[np.float64]:
    """Return the share of each distribution that is at most `value`, in the shape of `centres`.

    >>> mixture_shares([0.0, -math.inf], [1.0, 1.0], 1.0).tolist()
    [0.5, 1.0]

    Args:
        centres: of the logarithm; -inf is 0 itself, inf is never.
        spreads: standard deviations of the logarithm, above 0.
        value: 0 or more.
    """
    from scipy.special import ndtr

    logarithm = math.log(value) if value > 0 else -math.inf
    where = np.asarray(centres, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        found: NDArray[Any] = ndtr((logarithm - where) / np.asarray(spreads, dtype=np.float64))
    # 0 is at most 0, with certainty.
    return np.where(np.isneginf(where), 1.0, np.nan_to_num(found, nan=0.0))


def mixture_quantile(centres: ArrayLike, spreads: ArrayLike, share: float) -> float:
    """Return the value that a share of the mixture is at most; NaN of nothing, inf where so many never come.

    Found by halving, to nine digits.

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
