"""SegGPT: a network that paints the mask of an image as it sees the masks of other images painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Mask, Sample, Shape
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.oneshot.support_segmenter import Supports, SupportSegmenter, encoding_of

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

_LIKE_PX = 2048
"""Every patch of image and support attends to every other: one pair takes what a SAM decoder takes at this side."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedImage:
    """An image as the network takes it: all that can be done before it is paired with a support.

    Attributes:
        shape: (H, W) of the image.
        pixels: float32 (1, 3, height, width), on the CPU.
    """

    shape: Shape
    pixels: Tensor


@segmenter("seggpt")
@dataclass(kw_only=True, eq=False)
class SegGptSegmenter(SupportSegmenter, BatchingSegmenter):
    """SegGPT; several supports are an ensemble of features, as in its paper.

    The network sees the image and a support one above the other, so every pair costs a whole pass; `encode` only
    resizes and normalises. Image and support fill a square whatever their ratio.

    Args:
        embedding_type: which of two learned tokens says what the masks mean.
        threshold: of the painted grey, 0 (out) to 1 (in); a pixel above it is in.

    Source: Wang et al., SegGPT: Towards Segmenting Everything In Context, ICCV 2023.
    """

    embedding_type: Literal["instance", "semantic"] = "instance"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a grey of at least 0 and less than 1"
            )
        self.load("seggpt")
        _repair(self.model)
        height, width = self.model.config.image_size
        self.size = height // 2, width
        self.batches = self.choose_batches(_LIKE_PX)

    def encode(self, sample: Sample) -> PreparedImage:
        """Return the image resized and normalised.

        Raises:
            SegmenterError: the sample is not an image.
        """
        from segarena.segmenters.learned.promptable.image_preparation import BICUBIC, prepare_image

        image = require_image(sample, "seggpt")
        return PreparedImage(image.shape[:2], prepare_image(image, self.size, BICUBIC))

    def _answer(
        self, encoded: PreparedImage, asked: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        def paint(batch: Sequence[Supports]) -> Sequence[Tensor]:
            return self._paint(encoded, batch, memory)

        greys = iter(
            self.batches.map(paint, [supports for supports in asked if len(supports) == 1])
        )
        # Features of an ensemble are averaged over its whole batch, so each has one of its own.
        each = [next(greys) if len(supports) == 1 else paint([supports])[0] for supports in asked]
        return [self._finish(grey, encoded.shape) for grey in each]

    def _paint(
        self, query: PreparedImage, asked: Sequence[Supports], memory: Memory
    ) -> Sequence[Tensor]:
        """Return a grey for each of several dialogues of one support, or for one dialogue of several supports."""
        from segarena.pytorch import torch

        supports = list(chain(*asked))
        prepared = [encoding_of(support, self.encode, memory) for support in supports]
        with torch.inference_mode():
            painted = self.model(
                pixel_values=self._place(query.pixels).expand(len(supports), -1, -1, -1),
                prompt_pixel_values=self._place(torch.cat([each.pixels for each in prepared])),
                prompt_masks=self._place(
                    torch.cat([self._painted(support.mask) for support in supports])
                ),
                feature_ensemble=len(supports) > len(asked),
                embedding_type=self.embedding_type,
            ).pred_masks
            return list(_grey(painted.float())[: len(asked)])

    def _place(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.place, self.numbers)

    def _painted(self, mask: Mask) -> Tensor:
        """Return a mask as the network takes it: white on black."""
        from segarena.segmenters.learned.promptable.image_preparation import NEAREST, prepare_image

        grey: NDArray[np.uint8] = mask.astype(np.uint8) * np.uint8(255)
        return prepare_image(np.repeat(grey[:, :, None], 3, axis=2), self.size, NEAREST)

    def _finish(self, grey: Tensor, shape: Shape) -> Prediction:
        """Return the mask in full size; each pixel takes the grey that lies nearest, as in the authors' code."""
        from segarena.pytorch import functional
        from segarena.segmenters.learned.promptable.tensor_serialization import check_finite

        check_finite(grey, f"as {self.numbers}")
        full = functional.interpolate(grey[None, None], tuple(shape), mode="nearest")[0, 0]
        return Prediction(mask=(full > self.threshold).cpu().numpy())


def _grey(painted: Tensor) -> Tensor:
    """Return the lower half of what was painted, (n, 3, 2 height, width), as greys of 0 to 1, (n, height, width)."""
    from segarena.pytorch import torch
    from segarena.segmenters.learned.promptable.image_preparation import IMAGENET_MEAN, IMAGENET_STD

    mean, std = (
        torch.tensor(values, device=painted.device)[:, None, None]
        for values in (IMAGENET_MEAN, IMAGENET_STD)
    )
    lower = painted[:, :, painted.shape[2] // 2 :]
    return (lower * std + mean).clamp(0, 1).mean(1)


def _repair(model: Any) -> None:
    """Let the layer after which images and masks are merged average each over the ensemble on its own.

    Up to transformers 5.23 it averages them together; in the authors' code, only later layers do.
    """

    def with_two_kinds(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden_states, _, *others = arguments
        return (hidden_states, 2, *others)

    model.model.encoder.layers[model.config.merge_index].register_forward_pre_hook(with_two_kinds)
