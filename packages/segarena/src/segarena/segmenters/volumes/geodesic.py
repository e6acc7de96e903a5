"""Geodesic distances in a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE
from segarena.segmenters.volumes.seeding.intensity_likelihood import (
    inside_likelihood,
    keep_seeded_parts,
)
from segarena.segmenters.volumes.seeding.seed_layout import SeededBlocks
from segarena.segmenters.volumes.seeding.seeded_segmenter import SeededSegmenter

_UNREACHABLE = 1e9
"""Cost beyond all paths, but finite, so that differences stay numbers."""


@segmenter("geodesic")
@dataclass(kw_only=True, eq=False)
class GeodesicSegmenter(SeededSegmenter):
    """Assigns each block of voxels to the seed with the cheapest path; no weights, no learning.

    The cost of a path is its length in millimetres, weighted along the way: for inside seeds by the
    likelihood that the intensities are outside, for outside seeds by the likelihood that they are
    inside. Only parts that contain a seed are kept.

    Args:
        base_cost: cost per millimetre where the intensities certainly belong to the seed's side; where
            they certainly belong to the other side it is higher by 1.

    Source: X. Bai, G. Sapiro, A Geodesic Framework for Fast Interactive Image and Video Segmentation
    and Matting, ICCV 2007, with likelihoods as costs instead of their gradients. Windows, blocks and
    corrections are ours.
    """

    name = "geodesic"

    base_cost: float = 0.02

    def _solve(self, layout: SeededBlocks) -> NDArray[np.floating]:
        from scipy import ndimage

        marks = layout.marks
        likelihood = inside_likelihood(layout.blocks.intensities(), marks)
        likelihood = np.asarray(ndimage.gaussian_filter(likelihood, 0.5), dtype=np.float64)
        to_inside = self._distances(1 - likelihood, marks == INSIDE, layout)
        to_outside = self._distances(likelihood, marks == OUTSIDE, layout)
        # A ratio, because levels between blocks are interpolated linearly.
        total = np.maximum(to_outside + to_inside, 1e-9)
        return keep_seeded_parts((to_outside - to_inside) / total, marks)

    def _distances(
        self, costs: NDArray[np.float64], seeds: NDArray[np.bool_], layout: SeededBlocks
    ) -> NDArray[Any]:
        from skimage.graph import MCP_Geometric

        if not seeds.any():
            return np.full(seeds.shape, _UNREACHABLE)
        paths = MCP_Geometric(self.base_cost + costs, sampling=layout.blocks.spacing_mm)
        return np.asarray(paths.find_costs(np.argwhere(seeds))[0])
