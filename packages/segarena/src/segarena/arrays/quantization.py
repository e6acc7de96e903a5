"""Voxels of any kind as 16 bits: whoever shows them sets the window on the values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEPS = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantization:
    """What the 16 bits stand for: value = offset + step * bits.

    Attributes:
        offset, step: exact for whole numbers that fit into 16 bits.
        low, high: what is black and white at first, the 0.5 and 99.5 percentiles.
    """

    offset: float
    step: float
    low: float
    high: float


def fit_quantization(voxels: NDArray[Any]) -> Quantization:
    """Return what 16 bits stand for in a volume, and what is black and white at first.

    >>> fit_quantization(np.arange(-4, 4).reshape(2, 2, 2)).offset
    -4.0
    """
    low, high = contrast_limits(voxels)
    least, most = _range(voxels)
    is_whole = voxels.dtype.kind in "iub" and most - least <= _STEPS
    step = 1.0 if is_whole else max(most - least, 1e-12) / _STEPS
    return Quantization(offset=least, step=step, low=low, high=high)


def quantize(voxels: NDArray[Any], levels: Quantization) -> NDArray[np.uint16]:
    """Return voxels, or a plane of them, as 16 bits; what is not finite is as low as can be.

    >>> voxels = np.arange(-4, 4).reshape(2, 2, 2)
    >>> quantize(voxels, fit_quantization(voxels))[1].tolist()
    [[4, 5], [6, 7]]
    """
    if voxels.dtype.kind in "iub" and levels.step == 1.0:
        return (voxels.astype(np.int64) - int(levels.offset)).astype(np.uint16)
    shares = (np.asarray(voxels, dtype=np.float64) - levels.offset) / levels.step
    finite = np.nan_to_num(shares, nan=0.0, posinf=_STEPS, neginf=0.0)
    return finite.round().clip(0, _STEPS).astype(np.uint16)


def contrast_limits(voxels: NDArray[Any]) -> tuple[float, float]:
    """Return the 0.5 and 99.5 percentiles of the finite voxels, of every few of a large volume.

    >>> contrast_limits(np.arange(1000).reshape(10, 10, 10))
    (4.995, 994.005)
    """
    step = max(
        1, round((voxels.size / 2_000_000) ** (1 / 3))
    )  # percentiles of two million voxels say enough
    some = np.asarray(voxels[::step, ::step, ::step], dtype=np.float64)
    some = some[np.isfinite(some)]
    low, high = np.percentile(some, [0.5, 99.5]) if some.size else (0.0, 1.0)
    return float(low), float(max(high, low + 1e-6))


def _range(voxels: NDArray[Any]) -> tuple[float, float]:
    if voxels.dtype.kind in "iub":
        return float(voxels.min()), float(voxels.max())
    ends = [
        (np.nanmin(one), np.nanmax(one)) for one in (_finite(plane) for plane in voxels) if one.size
    ]
    if ends:
        return (float(min(low for low, _ in ends)), float(max(high for _, high in ends)))
    return (0.0, 1.0)


def _finite(plane: NDArray[Any]) -> NDArray[Any]:
    return plane[np.isfinite(plane)]
