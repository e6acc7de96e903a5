"""Marker-controlled watershed: the plainest segmenter, and the fastest."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.samples import Mask, Sample
from segarena.segmenters.flooding import flood
from segarena.segmenters.marks import INSIDE, PROMPT_KINDS, draw_marks, image_of


@segmenter("watershed")
class WatershedSegmenter:
    """Marker-controlled watershed of the smoothed photograph; no weights, no learning, no superpixels.

    The clicks' discs grow over the smallest colour steps first, until positive and negative ones meet. What lies
    beyond the image's frame counts as negative: it is all that bounds the object before the first negative click.
    Knows no "how far": between two clicks the strongest contrast decides, wherever it is.

    Args:
        sigma_px: of the Gaussian that smooths the photograph first; 0 leaves it as it is.
        radius_px: of the disc that a click marks.

    Source: F. Meyer, Color Image Segmentation, ICIP 1992 (OpenCV's `watershed`).
    """

    prompt_kinds = PROMPT_KINDS

    def __init__(self, *, sigma_px: float = 2.0, radius_px: int = 3) -> None:
        self.sigma_px = sigma_px
        self.radius_px = radius_px

    def encode(self, sample: Sample) -> NDArray[np.uint8]:
        """Smooth the photograph.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = image_of(sample, "watershed")
        return cv2.GaussianBlur(image, (0, 0), self.sigma_px) if self.sigma_px > 0 else image

    def predict(self, encoded: NDArray[np.uint8], dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from its prompts alone; nothing marked inside, nothing segmented."""
        return [Prediction(mask=self._segment(encoded, dialogue)) for dialogue in dialogues]

    def _segment(self, image: NDArray[np.uint8], dialogue: Dialogue) -> Mask:
        marks = draw_marks(dialogue, image.shape[:2], radius_px=self.radius_px)
        if not (marks == INSIDE).any():
            return np.zeros(marks.shape, dtype=np.bool_)
        return flood(image, marks, is_frame_outside=True)
