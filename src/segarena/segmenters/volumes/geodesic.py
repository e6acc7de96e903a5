"""Geodesic distances in a scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.samples import Sample, VolumeSample
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE
from segarena.segmenters.volumes.seeding.layout import VOLUME_KINDS, Reach, SeededBlocks, answer, volume_of
from segarena.segmenters.volumes.seeding.likelihood import hold_seeds, inside_likelihood


@segmenter("geodesic")
@dataclass(kw_only=True, eq=False)
class GeodesicSegmenter:
    """Each block of voxels goes with the seed that reaches it more cheaply; no weights, no learning.

    A way costs its length in millimetres, times how little the intensities on it look like the inside for ways from
    inside seeds, and how much for ways from outside seeds. Only parts that hold a seed are kept.

    Args:
        base_cost: of a way through blocks that look wholly like its seed's side; 1 more is that of the other side.
        reach_mm: how far an object may reach beyond its first clicks, scribbles, lassos and masks.
        least_mm: how far a correction reaches at least.
        radius_mm: around a click or line, the ball that goes with it whatever the scan looks like.
        most_blocks: a window is joined into at most so many blocks, cubes as nearly as its voxels allow.

    Source: X. Bai, G. Sapiro, A Geodesic Framework for Fast Interactive Image and Video Segmentation and Matting, ICCV
    2007, with likelihoods for costs, not their gradients. Windows, blocks and corrections are ours.
    """

    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"volume"})

    base_cost: float = 0.02
    reach_mm: float = 40.0
    least_mm: float = 6.0
    radius_mm: float = 2.0
    most_blocks: int = 60_000

    def __post_init__(self) -> None:
        self.reach = Reach(
            first_mm=self.reach_mm, least_mm=self.least_mm, radius_mm=self.radius_mm, most_blocks=self.most_blocks
        )

    def encode(self, sample: Sample) -> VolumeSample:
        """Return the scan; there is nothing to prepare.

        Raises:
            SegmenterError: the sample is not a volume.
        """
        return volume_of(sample, "geodesic")

    def predict(self, encoded: VolumeSample, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue; see `segarena.segmenters.volumes.seeding.layout.answer`."""
        return [answer(encoded, dialogue, self.reach, self._solve) for dialogue in dialogues]

    def _solve(self, layout: SeededBlocks) -> NDArray[np.floating]:
        from scipy import ndimage

        marks = layout.marks
        likelihood = inside_likelihood(layout.blocks.intensities(), marks)
        likelihood = np.asarray(ndimage.gaussian_filter(likelihood, 0.5), dtype=np.float64)
        to_inside = self._distances(1 - likelihood, marks == INSIDE, layout)
        to_outside = self._distances(likelihood, marks == OUTSIDE, layout)
        # A share, so that levels between blocks can be interpolated.
        return hold_seeds((to_outside - to_inside) / np.maximum(to_outside + to_inside, 1e-9), marks)

    def _distances(self, costs: NDArray[np.float64], seeds: NDArray[np.bool_], layout: SeededBlocks) -> NDArray[Any]:
        from skimage.graph import MCP_Geometric

        if not seeds.any():
            return np.full(seeds.shape, 1e9)  # farther than any way there is, and still a number
        paths = MCP_Geometric(self.base_cost + costs, sampling=layout.blocks.spacing_mm)
        return np.asarray(paths.find_costs(np.argwhere(seeds))[0])
