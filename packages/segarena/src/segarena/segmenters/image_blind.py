"""Baseline that ignores the image and assigns each pixel to the nearest prompt."""

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
    """Shape of a sample, edge lengths of a voxel for volumes, and whether it is a video."""

    shape: Shape
    spacing_mm: tuple[float, ...] | None
    has_frames: bool


@segmenter("image-blind", formerly=("nearest-prompt",))
class ImageBlind:
    """A control that assigns each pixel to the nearest prompt without the image: a lower bound.

    The border of the image is background. The score of this control comes from the prompts alone, so
    a model that does no better learns nothing from images.
    """

    ignores_image = True
    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"image", "volume", "video"})

    def encode(self, sample: Sample) -> Extent:
        """Return shape and spacing; pixels are ignored."""
        spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
        return Extent(sample.shape, spacing, isinstance(sample, VideoSample))

    def predict(self, encoded: Extent, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from its prompts; large samples on a coarser grid."""
        return [Prediction(mask=_mask(encoded, dialogue)) for dialogue in dialogues]


def _mask(extent: Extent, dialogue: Dialogue) -> Mask | Labels:
    """Return labels for several objects, else a mask."""
    labels, steps = blind_labels(
        dialogue.prompts, extent.shape, spacing=extent.spacing_mm, has_frames=extent.has_frames
    )
    whole = _enlarged(labels, steps, extent.shape)
    return whole if whole.max(initial=0) > 1 else whole > 0


def _enlarged(labels: Labels, steps: Sequence[int], shape: Shape) -> NDArray[np.uint8]:
    """Repeat a coarse grid to full size."""
    for axis, step in enumerate(steps):
        labels = np.repeat(labels, step, axis=axis)
    return np.ascontiguousarray(labels[tuple(map(slice, shape))])
