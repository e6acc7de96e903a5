"""Guided filter: edge-aware smoothing of label costs."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]


class GuidedFilter:
    """Smooths layers but preserves the edges of a grey image.

    Args:
        guide: uint8 or float (H, W), 0 to 255.
        radius_px: half the width of the square window.
        edge: contrast in grey levels; much lower contrasts are smoothed away.

    Source: He, Sun, Tang, Guided Image Filtering, TPAMI 35(6), 2013; for label costs: Hosni et al., Fast Cost-Volume
    Filtering, TPAMI 35(2), 2013.
    """

    def __init__(
        self,
        guide: NDArray[np.uint8],
        *,
        radius_px: int,
        edge: float,
    ) -> None:
        self._guide: Field = guide.astype(np.float32)
        side = 2 * radius_px + 1
        self._side = (side, side)
        self._mean = self._box(self._guide)
        variance = self._box(self._guide * self._guide) - self._mean * self._mean
        # The paper's epsilon is the square of `edge`.
        self._variance = variance + np.float32(edge * edge)

    def __call__(self, layers: Field) -> Field:
        """Smooth the layers (n, H, W)."""
        return np.stack([self._smooth(layer) for layer in layers])

    def _smooth(self, layer: Field) -> Field:
        mean = self._box(layer)
        covariance = self._box(self._guide * layer) - self._mean * mean
        slope: Field = (covariance / self._variance).astype(np.float32)
        offset: Field = (mean - slope * self._mean).astype(np.float32)
        return self._box(slope) * self._guide + self._box(offset)

    def _box(self, layer: Field) -> Field:
        return np.asarray(
            cv2.blur(layer, self._side, borderType=cv2.BORDER_REFLECT), dtype=np.float32
        )
