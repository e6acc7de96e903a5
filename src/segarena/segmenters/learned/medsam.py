"""MedSAM: SAM's network, trained on medical images with boxes alone, with weights that somebody brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from segarena.dialogue import Dialogue, Prediction
from segarena.registry import segmenter
from segarena.segmenters.drawing.marks import check_kinds
from segarena.segmenters.learned.sam import SamFamily


@segmenter("medsam")
class MedSamSegmenter(SamFamily):
    """MedSAM on images. Volumes become grey pictures by the rule it was trained with: see `slices`.

    An image fills the network's square whatever its ratio and is stretched to 0..1, without colour statistics; the
    network's first mask is taken, upsampled as probabilities and cut at one half. It knows boxes only, and nothing
    is handed back.

    Args:
        weights: a folder, or the authors' own file, medsam_vit_b.pth (see `segarena.segmenters.weights.loading`).
        device: "auto", "cpu", "cuda" or "cuda:1".
        dtype: "float32", "bfloat16" or "float16".
        batch_size: dialogues decoded at once on a GPU; "auto" asks for its free memory. The CPU does one by one.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.

    Source: Ma et al., Segment Anything in Medical Images, Nature Communications 2024, and as RadioActive feeds it.
    """

    prompt_kinds = frozenset({"box"})
    slice_intensity = "slice-foreground-percentiles"
    family = "sam"

    def __init__(
        self,
        *,
        weights: str,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | str = "auto",
        allow_download: bool = False,
    ) -> None:
        super().__init__(
            weights=weights, device=device, dtype=dtype, batch_size=batch_size, allow_download=allow_download
        )
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.medsam import MedSamNetwork

        self.network = MedSamNetwork(self.network.model, self.network.habits, self.network.batches)

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from its newest box.

        Raises:
            SegmenterError: no prompt in this round, or one of another kind.
            InvalidPrompt: a box outside of the image.
            PredictionInvalid: the network gave NaN or infinity.
        """
        for dialogue in dialogues:
            check_kinds(dialogue.prompts, self.prompt_kinds)
        return self.network.predict(encoded, dialogues)
