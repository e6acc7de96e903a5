"""The line that every model must beat: a segmenter that sees no image, and gives each pixel to the nearest prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.samples import Labels, Mask, Sample, Shape, VideoSample, VolumeSample
from segarena.segmenters.drawing.nearest_prompt import blind_labels
from segarena.segmenters.volumes.seeding.seed_layout import VOLUME_KINDS


@dataclass(frozen=True, slots=True)
class Extent:
    """All that it knows of a sample: its shape, the edges of a voxel where it is a volume, whether it has frames."""

    shape: Shape
    spacing_mm: tuple[float, ...] | None
    has_frames: bool


@segmenter("image-blind", formerly=("nearest-prompt",))
class ImageBlind:
    """A control that gives each pixel to the nearest prompt, whatever the image shows: the floor of every curve.

    The frame's edge is background. What this earns, prompts give away by themselves: a model that does no better has
    learnt nothing from pictures.
    """

    ignores_image = True
    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"image", "volume", "video"})

    def encode(self, sample: Sample) -> Extent:
        """Return shape and spacing; pixels are not looked at."""
        spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
        return Extent(sample.shape, spacing, isinstance(sample, VideoSample))

    def predict(self, encoded: Extent, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from its prompts; of samples with very many pixels on a coarser grid."""
        return [Prediction(mask=_mask(encoded, dialogue)) for dialogue in dialogues]


def _mask(extent: Extent, dialogue: Dialogue) -> Mask | Labels:
    """Return labels where several objects were named, else a mask."""
    labels, steps = blind_labels(
        dialogue.prompts, extent.shape, spacing=extent.spacing_mm, has_frames=extent.has_frames
    )
    whole = _enlarged(labels, steps, extent.shape)
    return whole if whole.max(initial=0) > 1 else whole > 0


def _enlarged(labels: Labels, steps: Sequence[int], shape: Shape) -> NDArray[np.uint8]:
    """Return a coarse grid at full size."""
    for axis, step in enumerate(steps):
        labels = np.repeat(labels, step, axis=axis)
    return np.ascontiguousarray(labels[tuple(map(slice, shape))])
