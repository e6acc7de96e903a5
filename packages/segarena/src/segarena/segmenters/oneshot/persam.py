"""PerSAM: a network of the SAM family prompted by what looks like the support's object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.registry import segmenter
from segarena.samples import Support
from segarena.segmenters.learned.sam import SamNetworkSegmenter
from segarena.segmenters.oneshot.support_segmenter import (
    Supports,
    SupportSegmenter,
    empty_prediction,
    encoding_of,
    shows_object,
    support_key,
)

if TYPE_CHECKING:
    from segarena.pytorch import Tensor


@segmenter("persam")
@dataclass(kw_only=True, eq=False)
class PersamSegmenter(SupportSegmenter, SamNetworkSegmenter):
    """PerSAM without training, on any of the SAM families.

    The mean image embedding of the support's object is the target. The image's embedding is compared with it: a
    positive point lies where they are most alike, a negative one where least; the decoder's attention is drawn to
    what is alike, and its tokens are given the target. Two further passes refine: with the logits, then also with the
    box of the mask. Of several supports the mean of their targets is taken; one with an empty mask has none and does
    not count, and where all are such the answer is empty.

    Args:
        family: of the weights.
        refinements: passes after the guided one: 1 is given its logits, 2 then also the box of its mask.
        threshold: of the upsampled logits; a pixel above it is in.

    Source: Zhang et al., Personalize Segment Anything Model with One Shot, ICLR 2024 (arXiv 2305.03048), the variant
    without training; docs/segmenters.md says where the published code differs.
    """

    family: Literal["sam", "sam-hq", "sam2", "edgetam", "sam3-tracker"] = "sam"
    refinements: Literal[0, 1, 2] = 2
    threshold: float = 0.0

    name = "persam"

    def __post_init__(self) -> None:
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.inference_options import ImageOptions
        from segarena.segmenters.oneshot.guided_network import GuidedNetwork

        options = ImageOptions(multimask="always", threshold=self.threshold)
        self.load(self.family)
        self.network = GuidedNetwork(
            self.model, self.family, options, self.sam_batches(), self.refinements
        )

    def _answer(self, encoded: Any, asked: Sequence[Supports], memory: Memory) -> list[Prediction]:
        targets = [self._target(supports, memory) for supports in asked if shows_object(supports)]
        found = iter(self.network.segment(encoded, targets))
        answers = [
            next(found) if shows_object(supports) else empty_prediction(encoded.space.shape)
            for supports in asked
        ]
        # The next round starts over from all supports, so no logits are handed back.
        return [replace(each, logits=None) for each in answers]

    def _target(self, supports: Sequence[Support], memory: Memory) -> Tensor:
        from segarena.pytorch import torch

        def target_of(support: Support) -> Tensor:
            return self.network.target_in(encoding_of(support, self.encode, memory), support.mask)

        each = [
            memory.remember(("target", support_key(one)), lambda one=one: target_of(one))
            for one in supports
            if one.mask.any()
        ]
        return torch.stack(each).mean(0)
