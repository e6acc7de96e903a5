"""SegGPT: a network that paints the mask of an image as it sees the masks of other images painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid, PredictionInvalid
from segarena.registry import segmenter
from segarena.samples import Mask, Sample, Shape, Support
from segarena.segmenters.drawing.marks import image_of
from segarena.segmenters.examples.support.examples import PROMPT_KINDS, encoding_of, identity, supports_of

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

KINDS = ("instance", "semantic")
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
class SegGptSegmenter:
    """SegGPT; several supports are an ensemble of features, as in its paper.

    The network sees the image and a support one above the other, so every pair costs a whole pass; `encode` only
    resizes and normalises. Image and support fill a square whatever their ratio.

    Args:
        weights: a folder or a name on the hub (see `segarena.segmenters.weights.loading`).
        embedding_type: which of two learned tokens says what the masks mean: "instance" or "semantic".
        device: "auto", "cpu", "cuda" or "cuda:1".
        dtype: "float32", "bfloat16" or "float16".
        batch_size: pairs painted at once on a GPU; "auto" asks for its free memory. The CPU paints one by one.
        threshold: of the painted grey, 0 (out) to 1 (in); a pixel above it is in.
        allow_download: whether a name on the hub may be fetched.

    Raises:
        PluginInvalid: an option that does not exist, or a device that is not there.
        InvalidInput: the weights cannot be used.
        MissingExtra: torch or transformers is not installed.

    Source: Wang et al., SegGPT: Towards Segmenting Everything In Context, ICCV 2023.
    """

    prompt_kinds = PROMPT_KINDS

    def __init__(
        self,
        *,
        weights: str,
        embedding_type: str = "instance",
        device: str = "auto",
        dtype: str = "float32",
        batch_size: int | str = "auto",
        threshold: float = 0.5,
        allow_download: bool = False,
    ) -> None:
        # torch is an extra, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable import devices
        from segarena.segmenters.weights.loading import load_model

        if embedding_type not in KINDS:
            raise PluginInvalid(f"embedding_type={embedding_type!r}: expected one of {', '.join(map(repr, KINDS))}")
        if not 0 <= threshold < 1:
            raise PluginInvalid(f"threshold={threshold!r}: expected a grey of at least 0 and less than 1")
        self.place, self.numbers = devices.choose_device(device), devices.choose_dtype(dtype)
        devices.check_batch_size(batch_size)
        self.device = str(self.place)
        self.model: Any = load_model(
            weights, family="seggpt", device=self.device, dtype=dtype, allow_download=allow_download
        )
        _repair(self.model)
        height, width = self.model.config.image_size
        self.size = height // 2, width
        self.embedding_type, self.threshold = embedding_type, threshold
        size = devices.choose_batch_size(
            batch_size, self.place, side_px=_LIKE_PX, bytes_per_number=self.numbers.itemsize
        )
        self.batches = devices.Batches(size)

    def encode(self, sample: Sample) -> PreparedImage:
        """Return the image resized and normalised.

        Raises:
            SegmenterError: the sample is not an image.
        """
        from segarena.segmenters.learned.promptable.preparation import BICUBIC, prepare

        image = image_of(sample, "seggpt")
        return PreparedImage(image.shape[:2], prepare(image, self.size, BICUBIC))

    def predict(self, encoded: PreparedImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue from all its supports; equal ones are painted once.

        Raises:
            SegmenterError, InvalidPrompt, InvalidMask: see `supports_of`; out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        from segarena.segmenters.learned.promptable.devices import Batches

        memory = Memory()
        asked = [supports_of(dialogue) for dialogue in dialogues]
        distinct = {tuple(map(identity, supports)): supports for supports in asked}
        greys: dict[Any, Tensor] = {}
        # Features of an ensemble are averaged over its whole batch, so each has one of its own.
        for are_single, batches in ((True, self.batches), (False, Batches(1))):
            keys = [key for key in distinct if (len(key) == 1) == are_single]
            answers = batches.map(lambda batch: self._paint(encoded, batch, memory), [distinct[key] for key in keys])
            greys.update(zip(keys, answers, strict=True))
        return [self._finish(greys[tuple(map(identity, supports))], encoded.shape) for supports in asked]

    def _paint(self, query: PreparedImage, asked: Sequence[tuple[Support, ...]], memory: Memory) -> Sequence[Tensor]:
        """Return a grey for each of several dialogues of one support, or for one dialogue of several supports."""
        from segarena.pytorch import torch

        supports = [support for each in asked for support in each]
        prepared = [encoding_of(support, self.encode, memory) for support in supports]
        with torch.inference_mode():
            painted = self.model(
                pixel_values=self._place(query.pixels).expand(len(supports), -1, -1, -1),
                prompt_pixel_values=self._place(torch.cat([each.pixels for each in prepared])),
                prompt_masks=self._place(torch.cat([self._painted(support.mask) for support in supports])),
                feature_ensemble=len(supports) > len(asked),
                embedding_type=self.embedding_type,
            ).pred_masks
            return list(_grey(painted.float())[: len(asked)])

    def _place(self, tensor: Tensor) -> Tensor:
        return tensor.to(self.place, self.numbers)

    def _painted(self, mask: Mask) -> Tensor:
        """Return a mask as the network takes it: white on black."""
        from segarena.segmenters.learned.promptable.preparation import NEAREST, prepare

        grey: NDArray[np.uint8] = mask.astype(np.uint8) * np.uint8(255)
        return prepare(np.repeat(grey[:, :, None], 3, axis=2), self.size, NEAREST)

    def _finish(self, grey: Tensor, shape: Shape) -> Prediction:
        """Return the mask in full size; each pixel takes the grey that lies nearest, as in the authors' code."""
        from segarena.pytorch import functional, torch

        if not bool(torch.isfinite(grey).all()):
            raise PredictionInvalid(
                f"the network gave NaN or infinity as {self.numbers}; take dtype='float32' or other weights"
            )
        full = functional.interpolate(grey[None, None], tuple(shape), mode="nearest")[0, 0]
        return Prediction(mask=(full > self.threshold).cpu().numpy())


def _grey(painted: Tensor) -> Tensor:
    """Return the lower half of what was painted, (n, 3, 2 height, width), as greys of 0 to 1, (n, height, width)."""
    from segarena.pytorch import torch
    from segarena.segmenters.learned.promptable.preparation import IMAGENET_MEAN, IMAGENET_STD

    mean, std = (torch.tensor(values, device=painted.device)[:, None, None] for values in (IMAGENET_MEAN, IMAGENET_STD))
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
