"""PerSAM: a SAM network prompted by the similarity to the support's object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
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

    The target is the mean image embedding of the support's object. A positive point lies where the
    image's embedding is most similar to the target, a negative one where it is least similar; the
    similarity guides the decoder's attention, and the target is added to its tokens. Two further
    passes refine the mask, with its logits, then also with its box. Several supports contribute the
    mean of their targets. Supports with an empty mask do not count; without any other the answer is
    empty.

    Args:
        family: of the weights.
        refinements: passes after the guided one: 1 gets its logits, 2 then also the box of its mask.
        threshold: of the upsampled logits; pixels above it belong to the object.

    Source: Zhang et al., Personalize Segment Anything Model with One Shot, ICLR 2024
    (arXiv 2305.03048), the variant without training; docs/segmenters.md lists the differences to the
    published code.
    """

    family: Literal["sam", "sam-hq", "sam2", "edgetam", "sam3-tracker"] = "sam"
    refinements: Literal[0, 1, 2] = 2
    threshold: float = 0.0

    name = "persam"

    def __post_init__(self) -> None:
        # torch is an optional dependency, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.inference_options import ImageOptions
        from segarena.segmenters.oneshot.networks.guided_network import GuidedNetwork

        options = ImageOptions(multimask="always", threshold=self.threshold)
        self.load(self.family)
        self.network = GuidedNetwork(
            self.model, self.family, options, self.create_sam_batch_runner(), self.refinements
        )

    def _answer(
        self, encoded: Any, requests: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        with_object = [supports for supports in requests if shows_object(supports)]
        targets = [self._target(supports, memory) for supports in with_object]
        segmented = iter(self.network.segment(encoded, targets))
        predictions: list[Prediction] = []
        for supports in requests:
            if shows_object(supports):
                prediction = next(segmented)
            else:
                prediction = empty_prediction(encoded.space.shape)
            # The next round starts over from all supports, so it needs no logits.
            predictions.append(replace(prediction, logits=None))
        return predictions

    def _target(self, supports: Sequence[Support], memory: Memory) -> Tensor:
        from segarena.pytorch import torch

        def target_of(support: Support) -> Tensor:
            encoded = encoding_of(support, self.encode, memory)
            return self.network.target_in(encoded, support.mask)

        targets: list[Tensor] = []
        for support in supports:
            if support.mask.any():
                key = ("target", support_key(support))
                targets.append(memory.remember(key, partial(target_of, support)))
        return torch.stack(targets).mean(0)
