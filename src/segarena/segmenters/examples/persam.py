"""PerSAM: a network of the SAM family prompted by what looks like the support's object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample, Support
from segarena.segmenters.drawing.marks import image_of
from segarena.segmenters.examples.support.examples import (
    PROMPT_KINDS,
    encoding_of,
    identity,
    nothing_of,
    shows_object,
    supports_of,
)

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

FAMILIES = ("sam", "sam-hq", "sam2", "edgetam", "sam3-tracker")


@segmenter("persam")
class PersamSegmenter:
    """PerSAM without training, on any of the SAM families.

    The mean image embedding of the support's object is the target. The image's embedding is compared with it: a
    positive point lies where they are most alike, a negative one where least; the decoder's attention is drawn to
    what is alike, and its tokens are given the target. Two more passes refine: with the logits, then also with the
    box of the mask. Of several supports the mean of their targets is taken.

    Args:
        weights: a folder, a name on the hub or the authors' own file (see `segarena.segmenters.weights.loading`).
        family: of the weights: "sam", "sam-hq", "sam2", "edgetam" or "sam3-tracker".
        refinements: how many of the two more passes are made: 0, 1 or 2.
        device: "auto", "cpu", "cuda" or "cuda:1".
        dtype: "float32", "bfloat16" or "float16".
        batch_size: dialogues decoded at once on a GPU; "auto" asks for its free memory. The CPU does one by one.
        threshold: of the upsampled logits; a pixel above it is in.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: an option that does not exist, or a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.

    Source: Zhang et al., Personalize Segment Anything Model with One Shot, ICLR 2024 (arXiv 2305.03048), the variant
    without training; docs/segmenters.md says where the published code differs.
    """

    prompt_kinds = PROMPT_KINDS

    def __init__(
        self,
        *,
        weights: str,
        family: str = "sam",
        refinements: int = 2,
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | str = "auto",
        threshold: float = 0.0,
        allow_download: bool = False,
    ) -> None:
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable import devices
        from segarena.segmenters.learned.promptable.guidance import GuidedNetwork
        from segarena.segmenters.learned.promptable.prompting import Habits
        from segarena.segmenters.weights.loading import load_model

        if family not in FAMILIES:
            raise PluginInvalid(f"family={family!r}: expected one of {', '.join(map(repr, FAMILIES))}")
        if refinements not in (0, 1, 2):
            raise PluginInvalid(f"refinements={refinements!r}: expected 0, 1 or 2")
        Habits(threshold=threshold)  # refuses what is no threshold before weights are read
        place, numbers = devices.choose_device(device), devices.choose_dtype(dtype)
        devices.check_batch_size(batch_size)
        self.device = str(place)
        load: Any = load_model  # what it returns has a configuration; torch's base class of modules has none
        model = load(weights, family=family, device=self.device, dtype=dtype, allow_download=allow_download)
        side_px = int(model.config.prompt_encoder_config.image_size)
        size = devices.choose_batch_size(batch_size, place, side_px=side_px, bytes_per_number=numbers.itemsize)
        self.network = GuidedNetwork(model, family, threshold, devices.Batches(size), refinements)

    @property
    def fingerprint(self) -> str:
        """A hash of all weights and of the configuration."""
        return self.network.fingerprint

    def encode(self, sample: Sample) -> Any:
        """Return the embeddings of the sample's image: the one pass of the encoder.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
        """
        return self.network.encode(image_of(sample, "persam"))

    def pack(self, encoded: Any) -> dict[str, NDArray[Any]]:
        """Return embeddings as arrays, so that other runs can have them."""
        return self.network.pack(encoded)

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """Return the embeddings that `pack` was given."""
        return self.network.unpack(arrays)

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from all its supports, which weigh equally; equal ones are decoded once.

        A support with an empty mask has no target and does not count; where all are such, the answer is empty.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`; out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        memory = Memory()
        asked = [supports_of(dialogue) for dialogue in dialogues]
        distinct = {tuple(map(identity, supports)): supports for supports in asked}
        shown = {key: supports for key, supports in distinct.items() if shows_object(supports)}
        targets = [self._target(supports, memory) for supports in shown.values()]
        answers = dict.fromkeys(distinct, nothing_of(encoded.space.shape))
        answers.update(zip(shown, self.network.segment(encoded, targets), strict=True))
        # The next round starts anew from all supports, so there is nothing to hand back.
        return [replace(answers[tuple(map(identity, supports))], logits=None) for supports in asked]

    def _target(self, supports: Sequence[Support], memory: Memory) -> Tensor:
        from segarena.pytorch import torch

        def target_of(support: Support) -> Tensor:
            return self.network.target_in(encoding_of(support, self.encode, memory), support.mask)

        each = [
            memory.remember(("target", identity(one)), lambda one=one: target_of(one))
            for one in supports
            if one.mask.any()
        ]
        return torch.stack(each).mean(0)
