"""Control for saliency bias: it answers every prompt with the salient region."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, SegmenterError
from segarena.registry import segmenter
from segarena.samples import ImageSample, Mask, Sample
from segarena.systems.oneshot.saliency import SaliencyFunction, build_saliency


class LazySaliency:
    """An image, and its salient region, computed on first access."""

    def __init__(self, sample: ImageSample, saliency: SaliencyFunction, threshold: float) -> None:
        self._sample = sample
        self._saliency = saliency
        self._threshold = threshold

    @cached_property
    def salient(self) -> Mask:
        """The salient region, bool (H, W)."""
        return np.asarray(self._saliency(self._sample) >= self._threshold)


@segmenter("saliency-only")
class SaliencyOnlySegmenter:
    """Control that answers with the salient region of the image, whatever the prompt.

    Args:
        saliency: "boundary-contrast" (colour unlike that of the image's sides),
            "spectral-residual", a folder of maps, or `file.py:function`.
        threshold: minimum saliency of the region, above 0 and up to 1.

    Raises:
        PluginInvalid: a threshold out of range.
        InvalidInput, DatasetMissing: see `build_saliency`.
    """

    prompt_kinds = frozenset({"support", "click", "box", "scribble"})

    def __init__(self, *, saliency: str = "boundary-contrast", threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise PluginInvalid(f"threshold={threshold!r}: expected a number above 0 and up to 1")
        self.saliency = build_saliency(saliency)
        self.threshold = threshold

    def encode(self, sample: Sample) -> LazySaliency:
        """Return the image; its map is computed on the first prompt, since supports need none.

        Raises:
            SegmenterError: the sample is not an image.
        """
        if not isinstance(sample, ImageSample):
            raise SegmenterError(f"saliency-only takes images only, got a {type(sample).__name__}")
        return LazySaliency(sample, self.saliency, self.threshold)

    def predict(self, encoded: LazySaliency, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the salient region for each dialogue.

        Raises:
            DatasetMissing, SampleInvalid: the image's map is missing or invalid.
        """
        return [Prediction(mask=encoded.salient) for _ in dialogues]
