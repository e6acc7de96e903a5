"""Quantization of voxels of any dtype to 16 bits, for viewers that set the grey window in the original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_LEVEL = 65535  # the largest uint16
# Percentiles of a regular subset of this size are close enough for a first window.
_SAMPLED_VOXELS = 2_000_000
# The lowest and highest voxels are left out, because a few of metal or padding would take up most grey levels.
_WINDOW_PERCENTILES = (0.5, 99.5)
# A constant volume still needs a step and a window of positive size, because viewers divide by them.
_MIN_RANGE = 1e-12
_MIN_WINDOW = 1e-6
_WHOLE_KINDS = "iub"
"""NumPy kind codes of integers and booleans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """A linear mapping of 16-bit levels to values: value = offset + step * level.

    Attributes:
        offset, step: parameters of the mapping, which is exact for whole numbers whose range fits into 16 bits.
        low, high: values shown as black and white at first: the 0.5 and 99.5 percentiles.
    """

    offset: float
    step: float
    low: float
    high: float


def fit_quantization(voxels: NDArray[Any]) -> Quantization:
    """Fit a quantization to the value range of a volume, with an initial grey window.

    >>> fit_quantization(np.arange(-4, 4).reshape(2, 2, 2)).offset
    -4.0
    """
    low, high = contrast_limits(voxels)
    lowest, highest = _range(voxels)
    extent = highest - lowest
    has_whole_voxels = voxels.dtype.kind in _WHOLE_KINDS
    if has_whole_voxels and extent <= _MAX_LEVEL:
        step = 1.0
    else:
        step = max(extent, _MIN_RANGE) / _MAX_LEVEL
    return Quantization(
        offset=lowest,
        step=step,
        low=low,
        high=high,
    )


def quantize(voxels: NDArray[Any], levels: Quantization) -> NDArray[np.uint16]:
    """Quantize a volume, or a plane of it, to 16 bits; NaN and -inf become 0, and inf becomes the highest level.

    >>> voxels = np.arange(-4, 4).reshape(2, 2, 2)
    >>> quantize(voxels, fit_quantization(voxels))[1].tolist()
    [[4, 5], [6, 7]]
    """
    if voxels.dtype.kind in _WHOLE_KINDS and levels.step == 1.0:
        # In the dtype of the voxels the difference could wrap around.
        shifted = voxels.astype(np.int64) - int(levels.offset)
        return shifted.astype(np.uint16)
    values = np.asarray(voxels, dtype=np.float64)
    scaled = (values - levels.offset) / levels.step
    finite = np.nan_to_num(scaled, nan=0.0, posinf=_MAX_LEVEL, neginf=0.0)
    rounded = finite.round().clip(0, _MAX_LEVEL)
    return rounded.astype(np.uint16)


def contrast_limits(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the 0.5 and 99.5 percentiles of the finite voxels; (0, 1) if there are none. Large volumes are subsampled.

    >>> contrast_limits(np.arange(1000).reshape(10, 10, 10))
    (4.995, 994.005)
    """
    voxels_per_sample = voxels.size / _SAMPLED_VOXELS
    step = max(1, round(voxels_per_sample ** (1 / 3)))
    subset = voxels[::step, ::step, ::step]
    sampled = np.asarray(subset, dtype=np.float64)
    finite = sampled[np.isfinite(sampled)]
    if not finite.size:
        return 0.0, 1.0
    low, high = np.percentile(finite, _WINDOW_PERCENTILES)
    return float(low), float(max(high, low + _MIN_WINDOW))


def _range(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and highest finite voxel; 0 and 1 if there is none."""
    if voxels.dtype.kind in _WHOLE_KINDS:
        return float(voxels.min()), float(voxels.max())
    lows: list[Any] = []
    highs: list[Any] = []
    # Process plane by plane, because selecting the finite voxels makes a copy.
    for plane in voxels:
        finite = plane[np.isfinite(plane)]
        if finite.size:
            lows.append(np.nanmin(finite))
            highs.append(np.nanmax(finite))
    if not lows:
        return 0.0, 1.0
    return float(min(lows)), float(max(highs))
