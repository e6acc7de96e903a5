"""SegGPT: a network that paints the mask of an image, given the painted masks of other images."""

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
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
from segarena.segmenters.learned.network_segmenter import BatchingSegmenter
from segarena.segmenters.learned.promptable.image_preparation import (
    BICUBIC,
    IMAGENET_MEAN,
    IMAGENET_STD,
    NEAREST,
    prepare_image,
)
from segarena.segmenters.learned.promptable.tensor_serialization import check_finite
from segarena.segmenters.oneshot.support_segmenter import Supports, SupportSegmenter, encoding_of

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

_MEMORY_SIDE_PX = 2048
"""Input side at which a SAM decoder needs as much memory as one pair of image and support needs here.

The memory is large because every patch of the pair attends to every other patch.
"""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedImage:
    """Network input for one image, before it is paired with a support.

    Attributes:
        shape: (H, W) of the image.
        pixels: float32 (1, 3, height, width), on the CPU.
    """

    shape: Shape
    pixels: Tensor


@segmenter("seggpt")
@dataclass(kw_only=True, eq=False)
class SegGptSegmenter(SupportSegmenter, BatchingSegmenter):
    """SegGPT; several supports form a feature ensemble, as in its paper.

    The network's input is a support above the image, so every pair requires a whole pass, and
    `encode` only resizes and normalizes. Both are resized to a square without keeping their aspect
    ratio.

    Args:
        embedding_type: which of two learned tokens describes the kind of masks.
        threshold: threshold of the painted grey value, 0 (background) to 1; pixels above it belong
            to the object.

    Source: Wang et al., SegGPT: Towards Segmenting Everything In Context, ICCV 2023.
    """

    embedding_type: Literal["instance", "semantic"] = "instance"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a grey value of at least 0 and less than 1"
            )
        self.load("seggpt")
        _repair(self.model)
        height, width = self.model.config.image_size
        self.size = height // 2, width
        self.batches = self.create_batch_runner(_MEMORY_SIDE_PX)

    def encode(self, sample: Sample) -> PreparedImage:
        """Return the image, resized and normalized.

        Raises:
            SegmenterError: the sample is not an image.
        """
        image = require_image(sample, "seggpt")
        return PreparedImage(image.shape[:2], prepare_image(image, self.size, BICUBIC))

    def _answer(
        self,
        encoded: PreparedImage,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> list[Prediction]:
        def paint(batch: Sequence[Supports]) -> Sequence[Tensor]:
            return self._paint(encoded, batch, memory)

        # Requests with one support can share a batch, ensembles cannot.
        single = [supports for supports in requests if len(supports) == 1]
        single_greys = iter(self.batches.map(paint, single))
        predictions: list[Prediction] = []
        for supports in requests:
            if len(supports) == 1:
                grey = next(single_greys)
            else:
                # The network averages the features of an ensemble over its whole batch, so each
                # ensemble needs a separate batch.
                grey = paint([supports])[0]
            predictions.append(self._finish(grey, encoded.shape))
        return predictions

    def _paint(
        self,
        query: PreparedImage,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> Sequence[Tensor]:
        """Return one grey image per support, or a single one for an ensemble of supports."""
        from segarena.pytorch import torch

        supports = list(chain(*requests))
        # The library pairs queries with supports one to one, so the query is repeated (transformers
        # issue 30196).
        prepared = [encoding_of(support, self.encode, memory) for support in supports]
        support_pixels = torch.cat([each.pixels for each in prepared])
        support_masks = torch.cat([self._mask_image(support.mask) for support in supports])
        with self.precision.inference():
            painted = self.model(
                pixel_values=self._to_device(query.pixels).expand(len(supports), -1, -1, -1),
                prompt_pixel_values=self._to_device(support_pixels),
                prompt_masks=self._to_device(support_masks),
                feature_ensemble=len(supports) > len(requests),
                embedding_type=self.embedding_type,
            ).pred_masks
            return list(_grey(painted.float())[: len(requests)])

    def _to_device(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.torch_device, self.torch_dtype)

    def _mask_image(self, mask: Mask) -> Tensor:
        """Convert a mask to an input image, white on black."""
        white = np.uint8(255)
        grey: NDArray[np.uint8] = mask.astype(np.uint8) * white
        image = np.repeat(grey[:, :, None], 3, axis=2)
        return prepare_image(image, self.size, NEAREST)

    def _finish(self, grey: Tensor, shape: Shape) -> Prediction:
        """Return the mask at full size, resized by nearest neighbours as in the authors' code."""
        from segarena.pytorch import functional

        check_finite(grey, f"as {self.torch_dtype}")
        full = functional.interpolate(grey[None, None], tuple(shape), mode="nearest")
        mask = full[0, 0] > self.threshold
        return Prediction(mask=mask.cpu().numpy())


def _grey(painted: Tensor) -> Tensor:
    """Return the lower half of painted images (n, 3, 2 h, w) as grey values from 0 to 1, (n, h, w)."""
    from segarena.pytorch import torch

    mean = torch.tensor(IMAGENET_MEAN, device=painted.device)[:, None, None]
    std = torch.tensor(IMAGENET_STD, device=painted.device)[:, None, None]
    # SegGPT paints the support above the query.
    height = painted.shape[2] // 2
    lower = painted[:, :, height:]
    colours = (lower * std + mean).clamp(0, 1)
    return colours.mean(1)


def _repair(model: Any) -> None:
    """Average images and masks separately over the ensemble in the last layer before they merge.

    Up to transformers 5.23 this layer averages them together; in the authors' code only later
    layers do.
    """

    def with_separate_averages(_: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden_states, _, *others = arguments
        return (hidden_states, 2, *others)

    model.model.encoder.layers[model.config.merge_index].register_forward_pre_hook(
        with_separate_averages
    )
