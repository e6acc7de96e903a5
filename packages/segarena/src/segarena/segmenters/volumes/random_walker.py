"""Random walks in a scan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.registry import segmenter
from segarena.segmenters.drawing.marks import INSIDE, UNKNOWN
from segarena.segmenters.volumes.seeding.intensity_likelihood import (
    inside_likelihood,
    keep_seeded_parts,
)
from segarena.segmenters.volumes.seeding.seed_layout import SeededBlocks
from segarena.segmenters.volumes.seeding.seeded_segmenter import SeededSegmenter


@segmenter("random-walker")
@dataclass(kw_only=True, eq=False)
class RandomWalkerSegmenter(SeededSegmenter):
    """The random walker in three dimensions, with a likelihood of intensities; no weights, no learning.

    A walker starts in each block of voxels, steps to its neighbours, rarely across contrast and the rarer the farther
    their middles lie apart in millimetres, and stops now and then, on average `range_mm` away: then the intensity where
    it stops decides. Inside is wherever it is likelier to meet a seed of the inside, or to stop at an intensity like
    theirs. Only parts that hold a seed are kept.

    Args:
        beta: how fast steps become rare with contrast, which is measured in deviations of the window.
        range_mm: after which intensities count as much as seeds.

    Source: L. Grady, Random Walks for Image Segmentation, TPAMI 2006; Multilabel Random Walker Image Segmentation
    Using Prior Models, CVPR 2005 (the likelihood). Windows, blocks and corrections are ours.
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
    """Return for each block the probability that a walker from there ends inside, float64 (d, h, w).

    `likelihood` is that a walker who stops at a block is inside. Conductance is per square millimetre and falls with
    the square of a step in intensity, in deviations; where nothing hinders it, a walker gets `range_mm` far.
    """
    from scipy import sparse
    from scipy.sparse.linalg import cg

    walk = _steps(grey, spacing_mm, beta)
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


def _steps(grey: NDArray[np.float32], spacing_mm: tuple[float, float, float], beta: float) -> Any:
    """Return how easily a walker steps from block to block, a symmetric sparse matrix."""
    from scipy import sparse

    numbers = np.arange(grey.size).reshape(grey.shape)
    deviation = max(float(np.clip(grey, *np.percentile(grey, (1, 99))).std()), 1e-9)
    ways: list[tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]] = []
    for axis, edge in enumerate(spacing_mm):
        contrasts = np.diff(grey.astype(np.float64), axis=axis) / deviation
        # The small constant keeps every block reachable: the system stays well conditioned.
        conductances = (np.exp(-beta * contrasts**2) + 1e-5) / edge**2
        along = np.moveaxis(numbers, axis, 0)
        here, there = (np.moveaxis(part, 0, axis).ravel() for part in (along[:-1], along[1:]))
        ways.append((conductances.ravel(), here, there))
    values, here, there = (np.concatenate(parts) for parts in zip(*ways, strict=True))
    one_way = sparse.coo_array((values, (here, there)), shape=(grey.size, grey.size)).tocsr()
    return one_way + one_way.T
