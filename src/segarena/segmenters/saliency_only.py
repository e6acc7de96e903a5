"""A control of bias: whatever is asked for, what stands out is answered."""

from __future__ import annotations

from collections.abc import Sequence

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, SegmenterError
from segarena.registry import segmenter
from segarena.samples import ImageSample, Mask, Sample
from segarena.segmenters.saliency import saliency_from


@segmenter("saliency-only")
class SaliencyOnly:
    """A control that answers with what stands out in the image, whatever it is shown: what saliency alone is worth.

    Args:
        saliency: "boundary-contrast", "spectral-residual", a folder of maps, or `file.py:function`.
        threshold: of the map, above 0 and up to 1; a pixel that reaches it is in.

    Raises:
        PluginInvalid: a threshold out of range.
        InvalidInput, DatasetMissing: see `saliency_from`.
    """

    prompt_kinds = frozenset({"support", "click", "box", "scribble"})

    def __init__(self, *, saliency: str = "boundary-contrast", threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise PluginInvalid(f"threshold={threshold!r}: expected a number above 0 and up to 1")
        self.saliency, self.threshold = saliency_from(saliency), threshold

    def encode(self, sample: Sample) -> Mask:
        """Return what stands out in the image.

        Raises:
            SegmenterError: the sample is not an image.
            DatasetMissing, SampleInvalid: its map is missing or not one.
        """
        if not isinstance(sample, ImageSample):
            raise SegmenterError(f"saliency-only takes images only, got a {type(sample).__name__}")
        return self.saliency(sample) >= self.threshold

    def predict(self, encoded: Mask, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Return the same for each dialogue."""
        return [Prediction(mask=encoded) for _ in dialogues]
