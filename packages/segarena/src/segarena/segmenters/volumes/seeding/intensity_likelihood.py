"""Likelihood that a block is inside, from its intensity alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE

_BINS = 64


def inside_likelihood(grey: NDArray[np.float32], marks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the likelihood of each block to be inside, 0 to 1, from histograms of intensities.

    The inside model is the histogram of the INSIDE seeds; the outside model is the mean of the
    histograms of the OUTSIDE seeds and of the whole window. Histograms are blurred by the noise, which
    is estimated from the median step between neighbours.

    Args:
        grey: float32 (d, h, w).
        marks: int8, with some INSIDE.
    """
    low, high = np.percentile(grey, (0.5, 99.5))
    width = max(float(high - low), 1e-9) / _BINS
    bins = ((grey - low) / width).clip(0, _BINS - 1).astype(np.intp)
    steps = np.concatenate([np.abs(np.diff(grey, axis=axis)).ravel() for axis in range(3)])
    noise = 0.0
    if len(steps):
        # The median absolute step between two values of normal noise is 0.95 standard deviations.
        noise = 1.05 * float(np.median(steps)) / width
    blur = max(1.0, 1.5 * noise)
    inside = _density(bins[marks == INSIDE], blur)
    elsewhere = (_density(bins[marks == OUTSIDE], blur) + _density(bins.ravel(), blur)) / 2
    return (inside / (inside + elsewhere + 1e-9)).astype(np.float32)[bins]


def keep_seeded_parts(levels: NDArray[Any], marks: NDArray[np.int8]) -> NDArray[Any]:
    """Set the parts of `levels` above 0 that contain no INSIDE seed to just below 0."""
    from scipy import ndimage

    parts, count = ndimage.label(levels > 0)
    held: Mask = np.zeros(int(count) + 1, dtype=np.bool_)
    held[parts[marks == INSIDE]] = True
    held[0] = True
    return np.where(held[parts], levels, -1e-6)


def _density(bins: NDArray[np.intp], blur: float) -> NDArray[np.float64]:
    from scipy import ndimage

    counts = np.bincount(bins, minlength=_BINS) / max(1, len(bins))
    return np.asarray(ndimage.gaussian_filter1d(counts, blur, mode="nearest"), dtype=np.float64)
