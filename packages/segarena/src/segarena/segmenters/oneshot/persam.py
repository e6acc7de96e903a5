"""PerSAM: a SAM network prompted by similarity to the support's object."""

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
    """PerSAM without training, on any family of SAM.

    The target is the mean image embedding of the support's object. A positive point is placed where
    the query's embedding is most similar to the target, and a negative point where it is least
    similar. The similarity also guides the decoder's attention, and the target is added to its
    tokens. Two further passes refine the mask: the first receives its logits, the second receives
    the logits and the bounding box of the refined mask. With several supports, the mean of their
    targets is used. Supports with an empty mask are skipped; if all masks are empty, so is the
    prediction.

    Args:
        family: family of the weights.
        refinements: number of passes after the guided one: the first uses its logits, the second
            also the box of its mask.
        threshold: threshold of the upsampled logits; pixels above it belong to the object.

    Source: Zhang et al., Personalize Segment Anything Model with One Shot, ICLR 2024 (arXiv
    2305.03048), in the variant without training; docs/segmenters.md lists the differences from the
    published code.
    """

    family: Literal["sam", "sam-hq", "sam2", "edgetam", "sam3-tracker"] = "sam"
    refinements: Literal[0, 1, 2] = 2
    threshold: float = 0.0

    name = "persam"

    def __post_init__(self) -> None:
        # Imported here, because torch is optional and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.inference_options import ImageOptions
        from segarena.segmenters.oneshot.networks.guided_network import GuidedNetwork

        options = ImageOptions(multimask="always", threshold=self.threshold)
        self.load(self.family)
        self.network = GuidedNetwork(
            self.model,
            self.family,
            options,
            self.create_sam_batch_runner(),
            self.refinements,
            self.precision,
        )

    def _answer(
        self,
        encoded: Any,
        requests: Sequence[Supports],
        memory: Memory,
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
            # The next round starts again from all supports, so it needs no logits.
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
