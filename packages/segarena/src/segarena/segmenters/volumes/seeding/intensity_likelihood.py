"""Likelihood that a block is inside the object, from its intensity alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE

_BINS = 64


def inside_likelihood(grey: NDArray[np.float32], marks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the likelihood that each block is inside, 0 to 1, from histograms of intensities.

    The inside model is the histogram of the INSIDE seeds. The outside model is the mean of two
    histograms: of the OUTSIDE seeds and of the whole window. Histograms are smoothed with a Gaussian
    whose width follows the image noise, estimated from the median difference between neighbours.

    Args:
        grey: float32 (d, h, w).
        marks: int8 marks of the same shape, with at least one INSIDE.
    """
    # The range excludes the tails, because metal and air would stretch it and leave few bins for
    # tissue.
    low, high = np.percentile(grey, (0.5, 99.5))
    width = max(float(high - low), 1e-9) / _BINS
    bins = ((grey - low) / width).clip(0, _BINS - 1).astype(np.intp)
    steps_by_axis = [np.abs(np.diff(grey, axis=axis)).ravel() for axis in range(3)]
    steps = np.concatenate(steps_by_axis)
    noise = 0.0
    if len(steps):
        # For normal noise, the median absolute difference of two values is 0.95 standard
        # deviations.
        noise = 1.05 * float(np.median(steps)) / width
    blur = max(1.0, 1.5 * noise)
    inside = _density(bins[marks == INSIDE], blur)
    outside_seeds = _density(bins[marks == OUTSIDE], blur)
    # OUTSIDE seeds alone do not represent most tissues. The window does, because most of it is
    # outside.
    whole_window = _density(bins.ravel(), blur)
    outside = (outside_seeds + whole_window) / 2
    likelihood = inside / (inside + outside + 1e-9)
    return likelihood.astype(np.float32)[bins]


def keep_seeded_parts(levels: NDArray[Any], marks: NDArray[np.int8]) -> NDArray[Any]:
    """Lower to just below 0 those connected parts of `levels` above 0 that contain no INSIDE seed."""
    from scipy import ndimage

    parts, count = ndimage.label(levels > 0)
    is_seeded: Mask = np.zeros(int(count) + 1, dtype=np.bool_)
    is_seeded[parts[marks == INSIDE]] = True
    # Component 0 is the outside, which keeps its levels.
    is_seeded[0] = True
    return np.where(is_seeded[parts], levels, -1e-6)


def _density(bins: NDArray[np.intp], blur: float) -> NDArray[np.float64]:
    from scipy import ndimage

    counts = np.bincount(bins, minlength=_BINS)
    shares = counts / max(1, len(bins))
    blurred = ndimage.gaussian_filter1d(shares, blur, mode="nearest")
    return np.asarray(blurred, dtype=np.float64)
