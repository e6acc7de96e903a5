"""Quantization of voxels of any type to 16 bits, for viewers that set the grey window in the original values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAX_LEVEL = 65535  # the largest uint16
_SAMPLED_VOXELS = (
    2_000_000  # percentiles of a regular subset of this size are close enough for a first window
)
_WHOLE_KINDS = "iub"
"""NumPy's kinds of integers and booleans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """A linear mapping of 16-bit levels to values: value = offset + step * level.

    Attributes:
        offset, step: exact for whole numbers whose range fits into 16 bits.
        low, high: initial black and white, the 0.5 and 99.5 percentiles.
    """

    offset: float
    step: float
    low: float
    high: float


def fit_quantization(voxels: NDArray[Any]) -> Quantization:
    """Fit a quantization to the range of a volume, with an initial grey window.

    >>> fit_quantization(np.arange(-4, 4).reshape(2, 2, 2)).offset
    -4.0
    """
    low, high = contrast_limits(voxels)
    lowest, highest = _range(voxels)
    is_exact = voxels.dtype.kind in _WHOLE_KINDS and highest - lowest <= _MAX_LEVEL
    if is_exact:
        step = 1.0
    else:
        step = max(highest - lowest, 1e-12) / _MAX_LEVEL
    return Quantization(offset=lowest, step=step, low=low, high=high)


def quantize(voxels: NDArray[Any], levels: Quantization) -> NDArray[np.uint16]:
    """Quantize voxels, or a plane of them, to 16 bits; NaN and -inf become 0, inf the highest level.

    >>> voxels = np.arange(-4, 4).reshape(2, 2, 2)
    >>> quantize(voxels, fit_quantization(voxels))[1].tolist()
    [[4, 5], [6, 7]]
    """
    if voxels.dtype.kind in _WHOLE_KINDS and levels.step == 1.0:
        shifted = voxels.astype(np.int64) - int(levels.offset)
        return shifted.astype(np.uint16)
    scaled = (np.asarray(voxels, dtype=np.float64) - levels.offset) / levels.step
    finite = np.nan_to_num(scaled, nan=0.0, posinf=_MAX_LEVEL, neginf=0.0)
    return finite.round().clip(0, _MAX_LEVEL).astype(np.uint16)


def contrast_limits(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the 0.5 and 99.5 percentiles of the finite voxels; a large volume is subsampled.

    >>> contrast_limits(np.arange(1000).reshape(10, 10, 10))
    (4.995, 994.005)
    """
    step = max(1, round((voxels.size / _SAMPLED_VOXELS) ** (1 / 3)))
    sampled = np.asarray(voxels[::step, ::step, ::step], dtype=np.float64)
    sampled = sampled[np.isfinite(sampled)]
    if not sampled.size:
        return 0.0, 1.0
    low, high = np.percentile(sampled, [0.5, 99.5])
    return float(low), float(max(high, low + 1e-6))


def _range(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and highest finite voxel; 0 and 1 where there is none."""
    if voxels.dtype.kind in _WHOLE_KINDS:
        return float(voxels.min()), float(voxels.max())
    lows: list[Any] = []
    highs: list[Any] = []
    for plane in voxels:
        finite = plane[np.isfinite(plane)]
        if finite.size:
            lows.append(np.nanmin(finite))
            highs.append(np.nanmax(finite))
    if not lows:
        return 0.0, 1.0
    return float(min(lows)), float(max(highs))
