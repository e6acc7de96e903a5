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


@segmenter("geodesic")
@dataclass(kw_only=True, eq=False)
class GeodesicSegmenter(SeededSegmenter):
    """Each block of voxels goes with the seed that reaches it more cheaply; no weights, no learning.

    A way costs its length in millimetres, times how little the intensities on it look like the inside for ways from
    inside seeds, and how much for ways from outside seeds. Only parts that hold a seed are kept.

    Args:
        base_cost: of a way through blocks that look wholly like its seed's side; 1 more is that of the other side.

    Source: X. Bai, G. Sapiro, A Geodesic Framework for Fast Interactive Image and Video Segmentation and Matting, ICCV
    2007, with likelihoods for costs, not their gradients. Windows, blocks and corrections are ours.
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
        # A share, so that levels between blocks can be interpolated.
        return keep_seeded_parts(
            (to_outside - to_inside) / np.maximum(to_outside + to_inside, 1e-9), marks
        )

    def _distances(
        self, costs: NDArray[np.float64], seeds: NDArray[np.bool_], layout: SeededBlocks
    ) -> NDArray[Any]:
        from skimage.graph import MCP_Geometric

        if not seeds.any():
            return np.full(seeds.shape, 1e9)  # farther than any way there is, and still a number
        paths = MCP_Geometric(self.base_cost + costs, sampling=layout.blocks.spacing_mm)
        return np.asarray(paths.find_costs(np.argwhere(seeds))[0])
