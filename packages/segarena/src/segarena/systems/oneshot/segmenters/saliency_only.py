"""Control for saliency bias: predicts the salient region for every prompt."""

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
    """An image and its salient region, which is computed on first access."""

    def __init__(
        self,
        sample: ImageSample,
        saliency: SaliencyFunction,
        threshold: float,
    ) -> None:
        self._sample = sample
        self._saliency = saliency
        self._threshold = threshold

    @cached_property
    def salient(self) -> Mask:
        """The salient region, bool (H, W)."""
        return np.asarray(self._saliency(self._sample) >= self._threshold)


@segmenter("saliency-only")
class SaliencyOnlySegmenter:
    """Control that predicts the salient region of the image, whatever the prompt.

    Args:
        saliency: "boundary-contrast" (colours unlike those along the image border),
            "spectral-residual", a folder of maps, or `file.py:function`.
        threshold: minimum saliency of the region, above 0 and up to 1.

    Raises:
        PluginInvalid: the threshold is out of range.
        InvalidInput, DatasetMissing: see `build_saliency`.
    """

    prompt_kinds = frozenset({"support", "click", "box", "scribble"})

    def __init__(self, *, saliency: str = "boundary-contrast", threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise PluginInvalid(f"threshold={threshold!r}: expected a number above 0 and up to 1")
        self.saliency = build_saliency(saliency)
        self.threshold = threshold

    def encode(self, sample: Sample) -> LazySaliency:
        """Wrap the image; its saliency is computed on the first prompt, because support images need none.

        Raises:
            SegmenterError: the sample is not an image.
        """
        if not isinstance(sample, ImageSample):
            raise SegmenterError(
                f"saliency-only accepts only images, got a {type(sample).__name__}"
            )
        return LazySaliency(sample, self.saliency, self.threshold)

    def predict(self, encoded: LazySaliency, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the salient region for each dialogue.

        Raises:
            DatasetMissing, SampleInvalid: the image's map is missing or invalid.
        """
        return [Prediction(mask=encoded.salient) for _ in dialogues]
