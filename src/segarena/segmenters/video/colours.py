"""What colours an object has: smoothed histograms in CIELAB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = (16, 32, 32)
_SHIFTS = (4, 3, 3)
_LEAST = 0.02
"""Of the mean density: what a colour that was never seen counts, so that one odd pixel decides nothing."""


def colour_bins(lab: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Return the number of each pixel's histogram bin, uint16, from 8-bit CIELAB (..., 3)."""
    parts = [lab[..., channel].astype(np.uint16) >> shift for channel, shift in enumerate(_SHIFTS)]
    return ((parts[0] * BINS[1] + parts[1]) * BINS[2] + parts[2]).astype(np.uint16)


class ColourModels:
    """The colours of several labels, from weighted samples; a label without any is as likely in every colour.

    Args:
        labels: how many.
    """

    def __init__(self, labels: int) -> None:
        self._counts = np.zeros((labels, int(np.prod(BINS))), dtype=np.float64)

    def learn(self, label: int, bins: NDArray[np.uint16], weight: float = 1.0) -> None:
        """Add pixels, which count `weight` together, however many they are."""
        if bins.size:
            self._counts[label] += np.bincount(bins.ravel(), minlength=self._counts.shape[1]) * (weight / bins.size)

    def log_table(self) -> NDArray[np.float32]:
        """Return the logarithm of the share of each label in each bin, float32 (labels, bins); shares add up to 1."""
        from scipy.ndimage import gaussian_filter

        densities: Sequence[Any] = [gaussian_filter(counts.reshape(BINS), 1.0).ravel() for counts in self._counts]
        totals = np.array([density.sum() for density in densities])
        known = np.stack([d / total if total > 0 else d for d, total in zip(densities, totals, strict=True)])
        floor = _LEAST / 400
        likelihood = known + floor
        likelihood[totals == 0] = likelihood[totals > 0].mean(axis=0) if (totals > 0).any() else 1.0
        return np.log(likelihood / likelihood.sum(axis=0)).astype(np.float32)
