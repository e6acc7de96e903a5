"""Marker-controlled watershed, the simplest segmenter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import InvalidInput
from segarena.registry import segmenter
from segarena.samples import Mask, Sample
from segarena.segmenters.drawing.marker_watershed import marker_watershed, snap_border
from segarena.segmenters.drawing.prompt_pixel_marks import (
    INSIDE,
    PROMPT_KINDS,
    draw_marks,
    require_image,
)


@segmenter("watershed")
@dataclass(kw_only=True, eq=False)
class WatershedSegmenter:
    """Marker-controlled watershed of the smoothed photograph; no weights, no training, no superpixels.

    Discs around clicks grow over the smallest colour steps first, until positive and negative discs
    meet. The image frame counts as negative; before the first negative click, nothing else bounds
    the object. Distances have no effect: between two clicks, the strongest contrast decides.

    Args:
        sigma_px: standard deviation of the Gaussian that smooths the photograph first; 0 does not smooth.
        radius_px: radius of the disc that a click marks.
        frame_step: colour step, 0..127, over which the negative side enters from the image frame.
        band_px: width of the band along the border that is refined on the unsmoothed photograph; 0 for none.

    Measured as described in `graph`: mean IoU 0.37 at 1 click, 0.69 at 5, 0.82 at 10, 0.87 at 20;
    10 ms per click (95 of 100 below 13), 1 ms to encode.

    Raises:
        InvalidInput: `frame_step` is outside 0..127.

    Source: F. Meyer, Color Image Segmentation, ICIP 1992 (OpenCV's `watershed`).
    """

    prompt_kinds = PROMPT_KINDS

    sigma_px: float = 2.0
    radius_px: int = 3
    frame_step: int = 3
    band_px: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.frame_step <= 127:
            raise InvalidInput(f"frame_step: expected 0..127, got {self.frame_step}")

    def encode(self, sample: Sample) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the photograph, original and smoothed.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = require_image(sample, "watershed")
        if self.sigma_px <= 0:
            return image, image
        smooth = cv2.GaussianBlur(image, (0, 0), self.sigma_px)
        return image, np.asarray(smooth, dtype=np.uint8)

    def predict(
        self, encoded: tuple[NDArray[np.uint8], NDArray[np.uint8]], dialogues: Sequence[Dialogue]
    ) -> list[Prediction]:
        """Predict each dialogue from its prompts alone; without an inside mark the mask is empty."""
        return [Prediction(mask=self._segment(*encoded, dialogue)) for dialogue in dialogues]

    def _segment(
        self,
        image: NDArray[np.uint8],
        smooth: NDArray[np.uint8],
        dialogue: Dialogue,
    ) -> Mask:
        marks = draw_marks(dialogue, image.shape[:2], radius_px=self.radius_px)
        if not (marks == INSIDE).any():
            return np.zeros(marks.shape, dtype=np.bool_)
        mask = marker_watershed(smooth, marks, frame_step=self.frame_step)
        return snap_border(image, mask, marks, band_px=self.band_px)
