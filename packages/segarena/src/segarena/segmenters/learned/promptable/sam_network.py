"""Network of the SAM family: encodes an image once and decodes its dialogues in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.pytorch import Tensor, torch
from segarena.segmenters.learned.promptable import tensor_serialization
from segarena.segmenters.learned.promptable.device_logits import DeviceLogits, LogitsPool
from segarena.segmenters.learned.promptable.devices import (
    BatchRunner,
    MixedPrecision,
    copy_to_device,
    copy_to_host,
    copy_together_to_host,
)
from segarena.segmenters.learned.promptable.image_preparation import IMAGENET_MEAN, IMAGENET_STD
from segarena.segmenters.learned.promptable.image_space import ImageSpace, network_pixels
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.network_prompt import (
    NetworkPrompt,
    build_network_prompt,
)
from segarena.segmenters.learned.promptable.tensor_serialization import not_finite_error

_DIALOGUES_PER_UPSAMPLING = 16
"""Dialogues that are upsampled at once: for photographs of 12 megapixels, 0.8 GB of logits."""

# The image processor of SAM 3 uses these statistics instead of ImageNet's.
_SAM3_STATISTICS = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class SamVariant:
    """Settings in which members of the SAM family differ.

    Attributes:
        is_padded: see `ImageSpace`.
        normalization: mean and standard deviation of each channel.
        logits_limit: previous logits are clipped to plus and minus this value; None does not clip.
        embed: function that maps (model, pixels) to the decoder's embedding arguments with batch
            size 1: tensors, or lists of tensors.
    """

    is_padded: bool
    normalization: tuple[tuple[float, ...], tuple[float, ...]] = (IMAGENET_MEAN, IMAGENET_STD)
    logits_limit: float | None
    embed: Callable[[Any, Tensor], dict[str, Any]]


def _embed(model: Any, pixels: Tensor) -> dict[str, Any]:
    return {"image_embeddings": model.get_image_embeddings(pixels)}


def _embed_with_layers(model: Any, pixels: Tensor) -> dict[str, Any]:
    embeddings, layers = model.get_image_embeddings(pixels)
    return {"image_embeddings": embeddings, "intermediate_embeddings": list(layers)}


SAM_VARIANTS = {
    # SAM and SAM-HQ feed previous logits back unchanged; from SAM 2 on, the authors' code clamps
    # them.
    "sam": SamVariant(is_padded=True, logits_limit=None, embed=_embed),
    "sam-hq": SamVariant(is_padded=True, logits_limit=None, embed=_embed_with_layers),
    "sam2": SamVariant(is_padded=False, logits_limit=32.0, embed=_embed),
    "edgetam": SamVariant(is_padded=False, logits_limit=32.0, embed=_embed),
    "sam3-tracker": SamVariant(
        is_padded=False,
        logits_limit=32.0,
        embed=_embed,
        normalization=_SAM3_STATISTICS,
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedImage:
    """Embeddings of an image; the tensors stay on the device.

    Attributes:
        space: position of the image in the network's square input.
        embeddings: embedding arguments of the decoder, with batch size 1.
    """

    space: ImageSpace
    embeddings: dict[str, Any]


class SamNetwork:
    """A loaded network of the SAM family with its options.

    Args:
        model: model in evaluation mode, on its device.
        family: a key of `FAMILIES`.
        options: which masks to predict and which of them to return.
        batches: runner of the decoder on several dialogues at once.
        precision: formats in which it computes; None is that of its weights.
    """

    def __init__(
        self,
        model: Any,
        family: str,
        options: ImageOptions,
        batches: BatchRunner,
        precision: MixedPrecision | None = None,
    ) -> None:
        self.model = model
        self.variant = SAM_VARIANTS[family]
        self.options = options
        self.batches = batches
        # Waiting for a copy after each round would leave a GPU idle; on the CPU there is no copy.
        self.pool: LogitsPool | None = None
        weight = next(model.parameters())
        self.device = weight.device
        if self.device.type != "cpu":
            self.pool = LogitsPool()
        self.dtype = weight.dtype
        self.precision = precision or MixedPrecision(device=self.device)
        settings = model.config.prompt_encoder_config
        self.side = int(settings.image_size)
        # The decoder upsamples its patch grid by a factor of four.
        self.low_side = 4 * (self.side // int(settings.patch_size))

    def encode(self, image: NDArray[np.uint8]) -> EmbeddedImage:
        """Return the embeddings of an image, uint8 (H, W, 3).

        Raises:
            SegmenterError: the device ran out of memory.
        """
        with self.precision.encoding():
            space, pixels = self._input(image)
            embeddings = self._embeddings(pixels)
        return EmbeddedImage(space, embeddings)

    def encode_batch(self, images: Sequence[NDArray[np.uint8]]) -> list[EmbeddedImage]:
        """Return the embeddings of images, each uint8 (H, W, 3) of any size, from one pass.

        Raises:
            SegmenterError: the device ran out of memory.
        """
        encoded: list[EmbeddedImage] = []
        with self.precision.encoding(len(images)):
            inputs = [self._input(image) for image in images]
            together = self._embeddings(torch.cat([pixels for _, pixels in inputs]))
            for index, (space, _) in enumerate(inputs):
                encoded.append(EmbeddedImage(space, _copy_of_image(together, index)))
        return encoded

    def _input(self, image: NDArray[np.uint8]) -> tuple[ImageSpace, Tensor]:
        """Return the position of an image in the network's input, and the input, (1, 3, side, side)."""
        mean, std = self.variant.normalization
        space = ImageSpace.of(image.shape[:2], self.side, is_padded=self.variant.is_padded)
        pixels = network_pixels(space, image, mean, std, self.device)
        return space, pixels.to(self.dtype)

    def _embeddings(self, pixels: Tensor) -> dict[str, Any]:
        """Return the embeddings of n images, (n, 3, side, side), in the floating-point format of the weights."""
        embeddings = self.variant.embed(self.model, pixels)
        # Autocast returns another format, in which `unpack` could not restore them.
        return _map_tensors(embeddings, lambda tensor: tensor.to(self.dtype))

    def pack(self, encoded: EmbeddedImage) -> dict[str, NDArray[Any]]:
        """Convert the encoding to named arrays, from which `unpack` restores it bit for bit."""
        arrays: dict[str, NDArray[Any]] = {"shape": np.array(encoded.space.shape)}
        for name, value in encoded.embeddings.items():
            if isinstance(value, list):
                for index, tensor in enumerate(value):
                    arrays[f"{name}.{index}"] = tensor_serialization.pack_tensor(tensor)
            else:
                arrays[name] = tensor_serialization.pack_tensor(value)
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> EmbeddedImage:
        """Restore an encoding from the arrays of `pack`, on this network's device."""
        height, width = (int(length) for length in arrays["shape"])
        embeddings: dict[str, Any] = {}
        for name, array in arrays.items():
            if name == "shape":
                continue
            tensor = tensor_serialization.unpack_tensor(array, self.dtype, self.device)
            argument, _, index = name.partition(".")
            if index:
                embeddings.setdefault(argument, []).append(tensor)
            else:
                embeddings[argument] = tensor
        space = ImageSpace.of((height, width), self.side, is_padded=self.variant.is_padded)
        return EmbeddedImage(space, embeddings)

    def predict(self, encoded: EmbeddedImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue, in order.

        A batch contains only dialogues with the same number of clicks that agree in whether they
        have a box and a mask. Otherwise shorter prompts would need padding tokens, which change the
        result because the decoder attends to them.

        Raises:
            SegmenterError, InvalidPrompt: see `translate`; or the device ran out of memory.
            PredictionInvalid: the network returned NaN or infinity.
        """
        prompts = [
            build_network_prompt(dialogue, encoded.space, self.low_side, self.options)
            for dialogue in dialogues
        ]
        predictions: dict[int, Prediction] = {}

        def form_of(index: int) -> tuple[int, bool, bool, bool]:
            return prompts[index].form

        order = sorted(range(len(prompts)), key=form_of)
        for _, group in groupby(order, key=form_of):
            indices = list(group)
            batch = [prompts[index] for index in indices]
            answers = self.batches.map(lambda part: self._decode(encoded, part), batch)
            predictions.update(zip(indices, answers, strict=True))
        return [predictions[index] for index in range(len(prompts))]

    def _decode(self, encoded: EmbeddedImage, prompts: Sequence[NetworkPrompt]) -> list[Prediction]:
        with self.precision.inference():
            answer = self.model(
                **_expand(encoded.embeddings, len(prompts)),
                **self._arguments(prompts),
                multimask_output=prompts[0].is_several,
            )
            masks = answer.pred_masks[:, 0].float()
            scores = answer.iou_scores[:, 0].float()
            return self._finish(encoded.space, masks, scores)

    def _arguments(self, prompts: Sequence[NetworkPrompt]) -> dict[str, Any]:
        """Return the prompts as arguments of the model: one image with one object per dialogue."""
        arguments: dict[str, Any] = {}
        first = prompts[0]
        if len(first.points):
            arguments["input_points"] = self._stack([prompt.points for prompt in prompts])
            arguments["input_labels"] = self._stack([prompt.labels for prompt in prompts])
        if first.box is not None:
            arguments["input_boxes"] = self._stack([prompt.box for prompt in prompts])
        if first.logits is not None:
            masks = self._stack_logits([prompt.logits for prompt in prompts])
            arguments["input_masks"] = masks.to(self.dtype)
        return arguments

    def _stack(self, arrays: Sequence[Any]) -> Tensor:
        """Stack arrays into one tensor on the device, with one object per dialogue."""
        return copy_to_device(np.stack(arrays)[:, None], self.device)

    def _stack_logits(self, logits: Sequence[Any]) -> Tensor:
        """Stack logits, each of which is an array or stays on the device."""
        if not any(isinstance(each, DeviceLogits) for each in logits):
            return self._stack(logits)
        tensors: list[Tensor] = []
        for each in logits:
            if isinstance(each, DeviceLogits):
                tensors.append(each.on(self.device))
            else:
                tensors.append(copy_to_device(each, self.device))
        return torch.stack(tensors)[:, None]

    def _finish(
        self,
        space: ImageSpace,
        masks: Tensor,
        scores: Tensor,
    ) -> list[Prediction]:
        """Choose a mask for each of n dialogues, and return them as predictions with their logits.

        Everything is computed on the device. One copy brings the masks, the scores and the result
        of the finite check of the whole batch to main memory.

        Args:
            space: position of the image in the network's input.
            masks: float32 (n, k, low, low), logits.
            scores: float32 (n, k), estimated IoU.

        Raises:
            PredictionInvalid: a chosen mask contains NaN or infinity.
        """
        chosen = self._choose(scores)
        rows = torch.arange(len(masks), device=masks.device)
        low = masks[rows, chosen]
        is_finite = torch.isfinite(low).all()
        inside = self._is_inside(space, low)
        finite, best_scores, masks_on_host = copy_together_to_host(
            is_finite, scores[rows, chosen], inside
        )
        if not finite:
            raise not_finite_error(f"as {self.dtype}")
        logits = self._logits_to_keep(low)
        predictions: list[Prediction] = []
        for mask, each, score in zip(masks_on_host, logits, best_scores, strict=True):
            predictions.append(Prediction(mask=mask, logits=each, score=float(score)))
        return predictions

    def _choose(self, scores: Tensor) -> Tensor:
        """Return the index of each dialogue's mask, (n,); ties go to the first mask."""
        count = scores.shape[1]
        index = self.options.mask_index
        if index is not None:
            # If a network predicts a single mask, there is no second or third mask to choose.
            return torch.full_like(scores[:, 0], min(index, count - 1), dtype=torch.long)
        highest = scores.max(dim=1, keepdim=True).values
        # `argmax` of a GPU may return any of several equal scores. NaN counts as the highest, like
        # in NumPy.
        is_best = (scores == highest) | scores.isnan()
        positions = torch.arange(count, device=scores.device)
        return torch.where(is_best, positions, count).min(dim=1).values

    def _is_inside(self, space: ImageSpace, low: Tensor) -> Tensor:
        """Return the masks of logits (n, low, low) in the size of the image, bool (n, H, W)."""
        return upsample_in_parts(low, lambda part: space.upsample(part) > self.options.threshold)

    def _logits_to_keep(self, low: Tensor) -> Sequence[Any]:
        """Return the logits that the next round of each dialogue receives."""
        # SAM 2 clamps the logits that it reuses as a mask prompt, but SAM does not.
        limit = self.variant.logits_limit
        if limit is not None:
            low = low.clamp(-limit, limit)
        if self.pool is None:
            return list(copy_to_host(low))
        # Copies, because a view would keep the logits of the whole batch alive.
        return [self.pool.keep(each.clone()) for each in low]


def upsample_in_parts(low: Tensor, upsample: Callable[[Tensor], Tensor]) -> Tensor:
    """Upsample logits (n, low, low) in parts whose floating-point images fit into memory, and join the masks."""
    return torch.cat([upsample(part) for part in low.split(_DIALOGUES_PER_UPSAMPLING)])


def _map_tensors(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to tensors that are nested in dicts or lists."""
    if isinstance(value, dict):
        return {key: _map_tensors(inner, function) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map_tensors(inner, function) for inner in value]
    return function(value)


def _expand(value: Any, count: int) -> Any:
    """Expand tensors with batch size 1, nested in dicts or lists, to views with batch size `count`."""
    # Views, because copies of the embeddings would fill the memory.
    return _map_tensors(value, lambda tensor: tensor.expand(count, *tensor.shape[1:]))


def _copy_of_image(embeddings: Any, index: int) -> Any:
    """Return the embeddings of one image of a batch, with batch size 1."""
    # Copies, because a view would keep the embeddings of the whole batch alive.
    return _map_tensors(embeddings, lambda tensor: tensor[index : index + 1].clone())
