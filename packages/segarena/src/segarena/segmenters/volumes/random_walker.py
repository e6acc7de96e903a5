"""Segmentation of a scan by a random walker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, UNKNOWN
from segarena.segmenters.volumes.seeding.intensity_likelihood import (
    inside_likelihood,
    keep_seeded_parts,
)
from segarena.segmenters.volumes.seeding.seed_layout import SeededBlocks
from segarena.segmenters.volumes.seeding.seeded_segmenter import SeededSegmenter


@segmenter("random-walker")
@dataclass(kw_only=True, eq=False)
class RandomWalkerSegmenter(SeededSegmenter):
    """Random walker in three dimensions with a likelihood of intensities; no weights, no training.

    A walker starts in each block of voxels and steps to its neighbours, rarely across contrast, and
    less often to neighbours whose centres are farther away in millimetres. With a small probability
    it stops, on average `range_mm` from its start, and the intensity at that block decides. A block
    is inside if its walker is more likely to meet an inside seed, or to stop at an intensity
    typical of the inside. Only connected parts that contain a seed are kept.

    Args:
        beta: decay of conductance with contrast, in standard deviations of the window.
        range_mm: distance at which intensities count as much as seeds.

    Source: L. Grady, Random Walks for Image Segmentation, TPAMI 2006; Multilabel Random Walker
    Image Segmentation Using Prior Models, CVPR 2005 (the likelihood). Windows, blocks and
    corrections are this project's own.
    """

    name = "random-walker"

    beta: float = 60.0
    range_mm: float = 17.0

    def _solve(self, layout: SeededBlocks) -> NDArray[np.floating]:
        grey = layout.blocks.intensities()
        marks = layout.marks
        inside = meeting_probability(
            grey,
            marks,
            inside_likelihood(grey, marks),
            spacing_mm=layout.blocks.spacing_mm,
            beta=self.beta,
            range_mm=self.range_mm,
        )
        return keep_seeded_parts(inside - 0.5, marks)


def meeting_probability(
    grey: NDArray[np.float32],
    marks: NDArray[np.int8],
    likelihood: NDArray[np.float32],
    *,
    spacing_mm: tuple[float, float, float],
    beta: float,
    range_mm: float,
) -> NDArray[np.float64]:
    """Return the probability that a walker from each block ends inside, float64 (d, h, w).

    Conductance is per square millimetre and falls with the squared intensity difference, which is
    measured in standard deviations.

    Args:
        grey: intensities, float32 (d, h, w).
        marks: int8 (d, h, w), INSIDE, OUTSIDE or UNKNOWN.
        likelihood: probability that a walker that stops at a block is inside.
        spacing_mm: edge lengths of a block.
        beta: decay of conductance with contrast.
        range_mm: mean distance of a walk without contrast.
    """
    from scipy import sparse
    from scipy.sparse.linalg import cg

    walk = _conductances(grey, spacing_mm, beta)
    stops = range_mm**-2.0
    system = (sparse.diags_array(walk.sum(axis=1) + stops) - walk).tocsr()
    inside = (marks.ravel() == INSIDE).astype(np.float64)
    unknown = np.flatnonzero(marks.ravel() == UNKNOWN)
    if len(unknown):
        rows = system[unknown]
        ends = stops * likelihood.ravel()[unknown] - rows @ inside
        matrix = rows[:, unknown]
        diagonal: Any = sparse.diags_array(1 / matrix.diagonal())
        inside[unknown], _ = cg(matrix, ends, rtol=1e-4, maxiter=2000, M=diagonal)
    return inside.reshape(grey.shape)


def _conductances(
    grey: NDArray[np.float32],
    spacing_mm: tuple[float, float, float],
    beta: float,
) -> Any:
    """Return the conductances between neighbouring blocks as a symmetric sparse matrix."""
    from scipy import sparse

    numbers = np.arange(grey.size).reshape(grey.shape)
    # Intensities are clipped, because metal and air would otherwise dwarf the contrasts of tissue.
    low, high = np.percentile(grey, (1, 99))
    deviation = max(float(np.clip(grey, low, high).std()), 1e-9)
    values: list[NDArray[np.float64]] = []
    starts: list[NDArray[np.intp]] = []
    ends: list[NDArray[np.intp]] = []
    for axis, edge in enumerate(spacing_mm):
        contrasts = np.diff(grey.astype(np.float64), axis=axis) / deviation
        similarity = np.exp(-beta * contrasts**2)
        # A small constant keeps every block reachable, so that the system is well conditioned.
        conductances = (similarity + 1e-5) / edge**2
        # Slices are built in the same way for all axes, in the raster order of the contrasts.
        along = np.moveaxis(numbers, axis, 0)
        values.append(conductances.ravel())
        starts.append(np.moveaxis(along[:-1], 0, axis).ravel())
        ends.append(np.moveaxis(along[1:], 0, axis).ravel())
    weights = np.concatenate(values)
    coordinates = (np.concatenate(starts), np.concatenate(ends))
    shape = (grey.size, grey.size)
    one_way = sparse.coo_array((weights, coordinates), shape=shape).tocsr()
    return one_way + one_way.T
