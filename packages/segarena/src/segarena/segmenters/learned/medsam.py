"""MedSAM: SAM's network, trained on medical images with box prompts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds
from segarena.segmenters.learned.sam import SamNetworkSegmenter


@segmenter("medsam")
@dataclass(kw_only=True, eq=False)
class MedSamSegmenter(SamNetworkSegmenter):
    """MedSAM on images; the segmenter `slices` applies it to volumes with the intensities that it was trained on.

    The image is resized to the network's square without keeping its aspect ratio, and its values
    are stretched to 0..1 without colour statistics. The prediction is the network's first mask,
    upsampled as probabilities and thresholded at one half. MedSAM accepts boxes only, and uses no
    logits of earlier rounds.

    Source: Ma et al., Segment Anything in Medical Images, Nature Communications 2024. Preprocessing
    is that of RadioActive.
    """

    name = "medsam"
    prompt_kinds = frozenset({"box"})
    slice_intensity = "slice-foreground-percentiles"

    def __post_init__(self) -> None:
        from segarena.segmenters.learned.promptable.medsam_network import MedSamNetwork

        self.load("sam")
        self.network = MedSamNetwork(self.model, self.create_sam_batch_runner(), self.precision)

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue from its newest box.

        Raises:
            SegmenterError: this round has no prompt, or a prompt of an unsupported kind.
            InvalidPrompt: a box is outside the image.
            PredictionInvalid: the network returned NaN or infinity.
        """
        for dialogue in dialogues:
            check_prompt_kinds(dialogue.prompts, self.prompt_kinds)
        return self.network.predict(encoded, dialogues)
