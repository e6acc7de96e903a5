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
    """Shape of a sample, edge lengths of its voxels if it is a volume, and whether it is a video."""

    shape: Shape
    spacing_mm: tuple[float, ...] | None
    has_frames: bool


@segmenter("image-blind", formerly=("nearest-prompt",))
class ImageBlind:
    """A control that assigns each pixel to the nearest prompt and ignores the image: a lower bound.

    The image border counts as background. The score of this control comes from the prompts alone,
    so a model without a higher score gains nothing from the image.
    """

    ignores_image = True
    prompt_kinds = VOLUME_KINDS
    sample_kinds = frozenset({"image", "volume", "video"})

    def encode(self, sample: Sample) -> Extent:
        """Return shape and spacing of the sample, without its pixels."""
        spacing = sample.spacing_mm if isinstance(sample, VolumeSample) else None
        return Extent(sample.shape, spacing, isinstance(sample, VideoSample))

    def predict(self, encoded: Extent, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue from its prompts; use a coarser grid for large samples."""
        return [Prediction(mask=_mask(encoded, dialogue)) for dialogue in dialogues]


def _mask(extent: Extent, dialogue: Dialogue) -> Mask | Labels:
    """Return the mask of a dialogue; labels if it has several objects."""
    labels, steps = blind_labels(
        dialogue.prompts, extent.shape, spacing=extent.spacing_mm, has_frames=extent.has_frames
    )
    whole = enlarged(labels, steps, extent.shape)
    return whole if whole.max(initial=0) > 1 else whole > 0


def enlarged(
    labels: Labels,
    steps: Sequence[int],
    shape: Shape,
) -> NDArray[np.uint8]:
    """Enlarge the labels of a coarse grid to full size."""
    for axis, step in enumerate(steps):
        labels = np.repeat(labels, step, axis=axis)
    # The last cell of an axis may extend beyond the sample, so the result is cropped.
    window = tuple(slice(side) for side in shape)
    return np.ascontiguousarray(labels[window])
