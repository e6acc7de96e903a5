"""A segmenter of volumes in one file: selects voxels of similar brightness that are connected to the prompts.

segarena run radioactive --segmenter "examples/spread_intensity.py:SpreadIntensity(width=2)" --dataset phantom
"""

import numpy as np
from scipy import ndimage


class SpreadIntensity:
    """Segmenter that selects voxels within `width` standard deviations of the prompted intensities, after smoothing."""

    sample_kinds = frozenset({"volume"})  # without it, `radioactive` would hand over single slices
    prompt_kinds = frozenset({"click", "box"})

    def __init__(self, *, width: float = 2.0, smooth_mm: float = 1.0) -> None:
        self.width = width
        self.smooth_mm = smooth_mm

    def encode(self, sample):
        """Smooth the volume, once for all prompts. Positions and spacing are (plane, row, column)."""
        sigmas = [self.smooth_mm / edge for edge in sample.spacing_mm]
        return ndimage.gaussian_filter(sample.voxels.astype(np.float32), sigmas)

    def predict(self, encoded, dialogues):
        """Return a mask for each dialogue about the volume."""
        return [self._answer(encoded, dialogue.prompts) for dialogue in dialogues]

    def _answer(self, voxels, prompts):
        seeds = np.zeros(voxels.shape, dtype=bool)
        for prompt in prompts:
            if (
                prompt.kind == "box"
            ):  # the middle third of it: the corners are hardly ever the object
                a = np.array(prompt.start)
                b = np.array(prompt.stop)
                seeds[tuple(map(slice, a + (b - a) // 3, b - (b - a) // 3))] = True
            elif prompt.is_positive:
                seeds[prompt.position] = True
        if not seeds.any():
            return seeds
        reach = self.width * max(voxels[seeds].std(), 0.05 * voxels.std())
        parts, _ = ndimage.label(seeds | (abs(voxels - voxels[seeds].mean()) <= reach))
        return np.isin(parts, np.unique(parts[seeds]))
