"""Window of a scan as blocks of voxels, and the conversion back to voxels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, window_shape, window_start
from segarena.errors import InvalidImage
from segarena.samples import Mask, VolumeSample


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """A window of a scan cut into blocks of whole voxels.

    Attributes:
        sample: the scan.
        window: of the scan that the blocks cover.
        steps: voxels per block along each axis; the last block may be smaller.
    """

    sample: VolumeSample
    window: Window
    steps: tuple[int, int, int]

    @classmethod
    def over(cls, sample: VolumeSample, window: Window, most: int) -> Blocks:
        """Return at most `most` blocks; the shortest edge of a block grows first."""
        steps = [1, 1, 1]
        lengths = window_shape(window)
        while np.prod([-(-n // step) for n, step in zip(lengths, steps, strict=True)]) > most:
            edges = [
                step * edge if step < n else np.inf
                for step, edge, n in zip(steps, sample.spacing_mm, lengths, strict=True)
            ]
            steps[int(np.argmin(edges))] += 1
        return cls(sample, window, (steps[0], steps[1], steps[2]))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(d, h, w), in blocks."""
        d, h, w = (
            -(-(s.stop - s.start) // step) for s, step in zip(self.window, self.steps, strict=True)
        )
        return d, h, w

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Edge lengths of a block."""
        d, h, w = (
            step * edge for step, edge in zip(self.steps, self.sample.spacing_mm, strict=True)
        )
        return d, h, w

    def at(self, points: NDArray[Any]) -> NDArray[np.intp]:
        """Return the distinct blocks of the window that contain positions (n, 3) in the scan."""
        starts = np.array(window_start(self.window))
        blocks = np.unique(
            (np.rint(points).astype(np.intp) - starts) // np.asarray(self.steps), axis=0
        )
        return blocks[((blocks >= 0) & (blocks < self.shape)).all(axis=1)]

    def intensities(self) -> NDArray[np.float32]:
        """Return the mean intensity of each block, float32 (d, h, w).

        Raises:
            InvalidImage: NaN or infinity among them.
        """
        means = self.means(self.sample.voxels)
        if not np.isfinite(means).all():
            raise InvalidImage(
                "the scan contains NaN or infinity; "
                "replace it by the value of air or background first"
            )
        return means

    def means(self, volume: NDArray[Any]) -> NDArray[np.float32]:
        """Return the mean of each block of a volume of the scan's shape, copying one layer at a time."""
        crop = volume[self.window]
        starts = [np.arange(0, n, step) for n, step in zip(crop.shape, self.steps, strict=True)]
        counts = [np.diff(np.append(s, n)) for s, n in zip(starts, crop.shape, strict=True)]
        means = np.empty(self.shape, dtype=np.float32)
        for layer, start in enumerate(starts[0]):
            block = crop[start : start + self.steps[0]].sum(axis=0, dtype=np.float64)
            block = np.add.reduceat(np.add.reduceat(block, starts[1], axis=0), starts[2], axis=1)
            means[layer] = block / (counts[0][layer] * counts[1][:, None] * counts[2])
        return means

    def paste(self, levels: NDArray[Any], mask: Mask) -> Mask:
        """Return a copy of `mask` with the window's voxels True where block levels are above 0.

        Levels are interpolated linearly between block centres.
        """
        pasted = mask.copy()
        pasted[self.window] = self._interpolated(levels) > 0
        return pasted

    def _interpolated(self, levels: NDArray[Any]) -> NDArray[np.float32]:
        values = levels.astype(np.float32)
        for axis, (step, s) in enumerate(zip(self.steps, self.window, strict=True)):
            if step > 1:
                last = values.shape[axis] - 1
                places = ((np.arange(s.stop - s.start) + 0.5) / step - 0.5).clip(0, last)
                lower = places.astype(np.intp)
                part = (
                    (places - lower)
                    .astype(np.float32)
                    .reshape([-1 if a == axis else 1 for a in range(3)])
                )
                above = values.take(np.minimum(lower + 1, last), axis)
                values = values.take(lower, axis) * (1 - part) + above * part
        return values
