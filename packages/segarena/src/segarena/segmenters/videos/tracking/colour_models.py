"""Colour models of labels: smoothed histograms in CIELAB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = (16, 32, 32)
# Right shifts that map 8 bits to the bins: 256 / 16 lightness levels, 256 / 32 per colour axis.
_SHIFTS = (4, 3, 3)
_MIN_SHARE = 5e-5
"""Share of a label's samples added to every bin, so that single outliers have little effect."""


def colour_bins(lab: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return the index of each pixel's histogram bin, uint16, from 8-bit CIELAB (..., 3)."""
    # There are 16384 bins, which 8 bits cannot index.
    wide = lab.astype(np.uint16)
    lightness = wide[..., 0] >> _SHIFTS[0]
    green_red = wide[..., 1] >> _SHIFTS[1]
    blue_yellow = wide[..., 2] >> _SHIFTS[2]
    bins = (lightness * BINS[1] + green_red) * BINS[2] + blue_yellow
    return bins.astype(np.uint16)


class ColourModels:
    """Colour histograms of labels; a label without samples gets the mean of the others."""

    def __init__(self, labels: int) -> None:
        bins = int(np.prod(BINS))
        self._counts = np.zeros((labels, bins), dtype=np.float64)

    def learn(self, label: int, bins: NDArray[np.uint16]) -> None:
        """Add the pixels of one frame with a total weight of 1."""
        if bins.size:
            counts = np.bincount(bins.ravel(), minlength=self._counts.shape[1])
            self._counts[label] += counts / bins.size

    def log_table(self) -> NDArray[np.float32]:
        """Return the logarithm of each label's share in each bin, float32 (labels, bins); a bin's shares sum to 1."""
        from scipy.ndimage import gaussian_filter

        smooth: list[Any] = []
        for counts in self._counts:
            blurred = gaussian_filter(counts.reshape(BINS), 1.0)
            smooth.append(blurred.ravel())
        totals = self._counts.sum(axis=1)
        likelihood = np.stack(smooth) / np.maximum(totals, 1e-12)[:, None] + _MIN_SHARE
        has_samples = totals > 0
        if has_samples.any():
            likelihood[~has_samples] = likelihood[has_samples].mean(axis=0)
        else:
            likelihood[:] = 1.0
        return np.log(likelihood / likelihood.sum(axis=0)).astype(np.float32)


def colour_table(
    bins: NDArray[np.uint16],
    ids: Sequence[int],
    marks: Mapping[int, NDArray[np.int16]],
    found: Mapping[int, NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return `ColourModels.log_table` for strokes and label probabilities, with equal weight per frame.

    Args:
        bins: colour bin of each pixel, (T, h, w).
        ids: ids of the labels.
        marks: strokes by frame, (h, w).
        found: label probabilities by frame, (labels, h, w); pixels above one half are samples.
    """
    models = ColourModels(len(ids))
    for number, label in enumerate(ids):
        for frame, drawn in marks.items():
            models.learn(number, bins[frame][drawn == label])
        for frame, layers in found.items():
            models.learn(number, bins[frame][layers[number] > 0.5])
    return models.log_table()
