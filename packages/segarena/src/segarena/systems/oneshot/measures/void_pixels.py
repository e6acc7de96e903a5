"""Pixels excluded from scoring, counted: with them, scores under another rule for void need no new run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from segarena.comparison import Comparison
from segarena.registry import metric


@metric("void")
class VoidPixelCounts:
    """How many pixels the frame has, how many of them are void, and how many of these were predicted."""

    columns = ("frame_px", "void_px", "predicted_void_px")
    shown = ()

    def __call__(self, comparison: Comparison) -> Mapping[str, float]:
        """Return the counts; without void pixels the last two are 0."""
        ignore = comparison.ignore
        return {
            "frame_px": comparison.given.size,
            "void_px": 0 if ignore is None else int(np.count_nonzero(ignore)),
            "predicted_void_px": 0
            if ignore is None
            else int(np.count_nonzero(comparison.given & ignore)),
        }
