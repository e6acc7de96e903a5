"""Division of a window of a scan into blocks of voxels, and conversion back to voxels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, window_shape, window_start
from segarena.errors import InvalidImage
from segarena.samples import Mask, VolumeSample


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A window of a scan, divided into blocks of whole voxels.

    Attributes:
        sample: the scan.
        window: window of the scan that the blocks cover.
        steps: voxels per block along each axis; the last block may be smaller.
    """

    sample: VolumeSample
    window: Window
    steps: tuple[int, int, int]

    @classmethod
    def over(
        cls,
        sample: VolumeSample,
        window: Window,
        most: int,
    ) -> Blocks:
        """Divide a window into at most `most` blocks; the shortest edge of a block grows first."""
        steps = [1, 1, 1]
        lengths = window_shape(window)
        while np.prod(_count_blocks(lengths, steps)) > most:
            edges: list[float] = []
            for step, edge, length in zip(steps, sample.spacing_mm, lengths, strict=True):
                can_grow = step < length
                edges.append(step * edge if can_grow else np.inf)
            steps[int(np.argmin(edges))] += 1
        return cls(sample, window, (steps[0], steps[1], steps[2]))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(d, h, w), number of blocks along each axis."""
        d, h, w = _count_blocks(window_shape(self.window), self.steps)
        return d, h, w

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Edge lengths of a block."""
        d_step, h_step, w_step = self.steps
        d_mm, h_mm, w_mm = self.sample.spacing_mm
        return d_step * d_mm, h_step * h_mm, w_step * w_mm

    def at(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """Return the distinct blocks of the window that contain any of the positions (n, 3) in the scan."""
        voxels = np.rint(points).astype(np.intp) - np.array(window_start(self.window))
        blocks = np.unique(voxels // np.asarray(self.steps), axis=0)
        is_inside = (blocks >= 0) & (blocks < self.shape)
        return blocks[is_inside.all(axis=1)]

    def intensities(self) -> NDArray[np.float32]:
        """Return the mean intensity of each block, float32 (d, h, w).

        Raises:
            InvalidImage: an intensity is NaN or infinite.
        """
        means = self.means(self.sample.voxels)
        if not np.isfinite(means).all():
            raise InvalidImage(
                "the scan contains NaN or infinity; replace it with the value of air or "
                "background first"
            )
        return means

    def means(self, volume: NDArray[Any]) -> NDArray[np.float32]:
        """Return the mean of a volume of the scan's shape over each block, copying one layer at a time."""
        crop = volume[self.window]
        starts: list[NDArray[np.intp]] = []
        counts: list[NDArray[np.intp]] = []
        for length, step in zip(crop.shape, self.steps, strict=True):
            axis_starts = np.arange(0, length, step)
            starts.append(axis_starts)
            # The last block may be smaller.
            stops = np.append(axis_starts[1:], length)
            counts.append(stops - axis_starts)
        plane_counts = counts[1][:, None] * counts[2]
        means = np.empty(self.shape, dtype=np.float32)
        for layer, start in enumerate(starts[0]):
            slab = crop[start : start + self.steps[0]]
            # Sums of 16-bit intensities would overflow their own type.
            totals = slab.sum(axis=0, dtype=np.float64)
            totals = np.add.reduceat(totals, starts[1], axis=0)
            totals = np.add.reduceat(totals, starts[2], axis=1)
            means[layer] = totals / (counts[0][layer] * plane_counts)
        return means

    def paste(self, levels: NDArray[Any], mask: Mask) -> Mask:
        """Return a copy of `mask` in which voxels of the window are True where block levels are above 0.

        Levels are interpolated linearly between block centres.
        """
        pasted = mask.copy()
        pasted[self.window] = self._interpolated(levels) > 0
        return pasted

    def _interpolated(self, levels: NDArray[Any]) -> NDArray[np.float32]:
        values = levels.astype(np.float32)
        for axis, (step, extent) in enumerate(zip(self.steps, self.window, strict=True)):
            if step == 1:
                continue
            last = values.shape[axis] - 1
            voxels = np.arange(extent.stop - extent.start)
            # Position of a voxel's centre, in units of block centres.
            positions = ((voxels + 0.5) / step - 0.5).clip(0, last)
            lower = positions.astype(np.intp)
            upper = np.minimum(lower + 1, last)
            form = [1, 1, 1]
            form[axis] = -1
            part = (positions - lower).astype(np.float32).reshape(form)
            above = values.take(upper, axis)
            values = values.take(lower, axis) * (1 - part) + above * part
        return values


def _count_blocks(lengths: Sequence[int], steps: Sequence[int]) -> tuple[int, ...]:
    """Return the number of blocks along each axis, including a smaller last block."""
    return tuple(-(-length // step) for length, step in zip(lengths, steps, strict=True))
