"""Segmentation of a scan by geodesic distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE
from segarena.segmenters.volumes.seeding.intensity_likelihood import (
    inside_likelihood,
    keep_seeded_parts,
)
from segarena.segmenters.volumes.seeding.seed_layout import SeededBlocks
from segarena.segmenters.volumes.seeding.seeded_segmenter import SeededSegmenter

_UNREACHABLE = 1e9
"""Higher than the cost of any path, but finite, so that differences are not NaN."""


@segmenter("geodesic")
@dataclass(kw_only=True, eq=False)
class GeodesicSegmenter(SeededSegmenter):
    """Assigns each block of voxels to the seed with the cheapest path; no weights, no training.

    The cost of a path is its length in millimetres, weighted at each block. The weight for inside
    seeds is the likelihood that the block's intensity is outside, and vice versa. Only connected
    parts that contain a seed are kept.

    Args:
        base_cost: cost per millimetre where the intensity certainly belongs to the seed's side; where
            it certainly belongs to the other side, the cost is higher by 1.

    Source: X. Bai, G. Sapiro, A Geodesic Framework for Fast Interactive Image and Video
    Segmentation and Matting, ICCV 2007, but with likelihoods as costs instead of their gradients.
    Windows, blocks and corrections are this project's own.
    """

    name = "geodesic"

    base_cost: float = 0.02

    def _solve(self, layout: SeededBlocks) -> NDArray[np.floating]:
        from scipy import ndimage

        marks = layout.marks
        raw = inside_likelihood(layout.blocks.intensities(), marks)
        likelihood = np.asarray(ndimage.gaussian_filter(raw, 0.5), dtype=np.float64)
        # Steps are cheap where the likelihood agrees with the seed's side.
        to_inside = self._distances(1 - likelihood, marks == INSIDE, layout)
        to_outside = self._distances(likelihood, marks == OUTSIDE, layout)
        # A ratio rather than a difference of distances, because levels are later interpolated
        # linearly between blocks.
        total = np.maximum(to_outside + to_inside, 1e-9)
        levels = (to_outside - to_inside) / total
        return keep_seeded_parts(levels, marks)

    def _distances(
        self,
        costs: NDArray[np.float64],
        seeds: NDArray[np.bool_],
        layout: SeededBlocks,
    ) -> NDArray[Any]:
        from skimage.graph import MCP_Geometric

        if not seeds.any():
            return np.full(seeds.shape, _UNREACHABLE)
        paths = MCP_Geometric(self.base_cost + costs, sampling=layout.blocks.spacing_mm)
        distances, _ = paths.find_costs(np.argwhere(seeds))
        return np.asarray(distances)
