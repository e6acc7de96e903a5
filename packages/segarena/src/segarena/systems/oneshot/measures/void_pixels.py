"""Counts of void pixels, from which scores under another void rule can be computed without a new run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from segarena.comparison import Comparison
from segarena.registry import metric


@metric("void")
class VoidPixelCounts:
    """Metric that counts the pixels of the frame, the void pixels, and the predicted void pixels."""

    columns = ("frame_px", "void_px", "predicted_void_px")
    shown = ()

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return the three counts; without void pixels, the last two are 0."""
        ignore = comparison.ignore
        void_px = 0
        predicted_void_px = 0
        if ignore is not None:
            void_px = int(np.count_nonzero(ignore))
            predicted_void_px = int(np.count_nonzero(comparison.given & ignore))
        return {
            "frame_px": comparison.given.size,
            "void_px": void_px,
            "predicted_void_px": predicted_void_px,
        }
