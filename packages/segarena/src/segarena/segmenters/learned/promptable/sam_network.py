"""Network of the SAM family: encode an image once, decode dialogues about it in batches."""

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
from segarena.segmenters.learned.promptable.devices import BatchRunner, encoding_context
from segarena.segmenters.learned.promptable.image_preparation import IMAGENET_MEAN, IMAGENET_STD
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.network_prompt import (
    NetworkPrompt,
    build_network_prompt,
)

_SAM3_STATISTICS = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class SamVariant:
    """Differences between the members of the SAM family.

    Attributes:
        is_padded: see `ImageSpace`.
        normalization: mean and standard deviation of each channel.
        logits_limit: previous logits are clipped to plus and minus this value; None clips nothing.
        embed: function from (model, pixels) to the decoder's arguments with the embeddings, of batch
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
    "sam": SamVariant(is_padded=True, logits_limit=None, embed=_embed),
    "sam-hq": SamVariant(is_padded=True, logits_limit=None, embed=_embed_with_layers),
    "sam2": SamVariant(is_padded=False, logits_limit=32.0, embed=_embed),
    "edgetam": SamVariant(is_padded=False, logits_limit=32.0, embed=_embed),
    "sam3-tracker": SamVariant(
        is_padded=False, logits_limit=32.0, embed=_embed, normalization=_SAM3_STATISTICS
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedImage:
    """Embeddings of an image; the tensors stay on the device.

    Attributes:
        space: position of the image in the network's square input.
        embeddings: the decoder's arguments, of batch size 1.
    """

    space: ImageSpace
    embeddings: dict[str, Any]


class SamNetwork:
    """A loaded network of the SAM family with its options.

    Args:
        model: in evaluation mode, on its device.
        family: a key of `FAMILIES`.
        options: which masks to predict and to answer.
        batches: runs the decoder on several dialogues at once.
    """

    def __init__(
        self, model: Any, family: str, options: ImageOptions, batches: BatchRunner
    ) -> None:
        self.model = model
        self.variant = SAM_VARIANTS[family]
        self.options = options
        self.batches = batches
        weight = next(model.parameters())
        self.device = weight.device
        self.dtype = weight.dtype
        settings = model.config.prompt_encoder_config
        self.side = int(settings.image_size)
        # The decoder upsamples its grid of patches four times.
        self.low_side = 4 * (self.side // int(settings.patch_size))

    def encode(self, image: NDArray[np.uint8]) -> EmbeddedImage:
        """Return the embeddings of an image, uint8 (H, W, 3).

        Raises:
            SegmenterError: out of memory.
        """
        space = ImageSpace.of(image.shape[:2], self.side, is_padded=self.variant.is_padded)
        pixels = space.pixels(image, *self.variant.normalization).to(self.device, self.dtype)
        with encoding_context():
            return EmbeddedImage(space, self.variant.embed(self.model, pixels))

    def pack(self, encoded: EmbeddedImage) -> dict[str, NDArray[Any]]:
        """Return the encoding as named arrays, from which `unpack` restores every bit."""
        arrays: dict[str, NDArray[Any]] = {"shape": np.array(encoded.space.shape)}
        for name, value in encoded.embeddings.items():
            if isinstance(value, list):
                for index, tensor in enumerate(value):
                    arrays[f"{name}.{index}"] = tensor_serialization.pack_tensor(tensor)
            else:
                arrays[name] = tensor_serialization.pack_tensor(value)
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> EmbeddedImage:
        """Return the encoding from arrays of `pack`, on this network's device."""
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
        """Answer each dialogue, in order.

        A batch contains dialogues with the same number of clicks that agree in having a box and a mask.
        So no prompt needs padding, to which the decoder would attend.

        Raises:
            SegmenterError, InvalidPrompt: see `translate`; out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        prompts = [
            build_network_prompt(dialogue, encoded.space, self.low_side, self.options)
            for dialogue in dialogues
        ]
        predictions: dict[int, Prediction] = {}
        order = sorted(range(len(prompts)), key=lambda index: prompts[index].form)
        for _, group in groupby(order, key=lambda index: prompts[index].form):
            indices = list(group)
            batch = [prompts[index] for index in indices]
            answers = self.batches.map(lambda part: self._decode(encoded, part), batch)
            predictions.update(zip(indices, answers, strict=True))
        return [predictions[index] for index in range(len(prompts))]

    def _decode(self, encoded: EmbeddedImage, prompts: Sequence[NetworkPrompt]) -> list[Prediction]:
        with torch.inference_mode():
            answer = self.model(
                **_expand(encoded.embeddings, len(prompts)),
                **self._arguments(prompts),
                multimask_output=prompts[0].is_several,
            )
            scores = answer.iou_scores[:, 0].float().cpu().numpy()
            return [
                self._finish(encoded.space, masks.float(), score)
                for masks, score in zip(answer.pred_masks[:, 0], scores, strict=True)
            ]

    def _arguments(self, prompts: Sequence[NetworkPrompt]) -> dict[str, Any]:
        """Return the prompts as the model's arguments: one image, one object per dialogue."""
        arguments: dict[str, Any] = {}
        first = prompts[0]
        if len(first.points):
            arguments["input_points"] = self._stack([prompt.points for prompt in prompts])
            arguments["input_labels"] = self._stack([prompt.labels for prompt in prompts])
        if first.box is not None:
            arguments["input_boxes"] = self._stack([prompt.box for prompt in prompts])
        if first.logits is not None:
            masks = self._stack([prompt.logits for prompt in prompts])
            arguments["input_masks"] = masks.to(self.dtype)
        return arguments

    def _stack(self, arrays: Sequence[Any]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)[:, None]).to(self.device)

    def _finish(self, space: ImageSpace, masks: Tensor, scores: NDArray[np.float32]) -> Prediction:
        """Return the prediction from the chosen one of k masks, (k, low, low), with its logits."""
        index = self.options.choose(scores)
        low = masks[index]
        tensor_serialization.check_finite(low, f"as {self.dtype}")
        mask = (space.upsample(low) > self.options.threshold).cpu().numpy()
        limit = self.variant.logits_limit
        if limit is not None:
            low = low.clamp(-limit, limit)
        return Prediction(mask=mask, logits=low.cpu().numpy(), score=float(scores[index]))


def _expand(value: Any, count: int) -> Any:
    """Return tensors of batch size 1, nested in dicts or lists, as views of batch size `count`."""
    if isinstance(value, dict):
        return {key: _expand(inner, count) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_expand(inner, count) for inner in value]
    return value.expand(count, *value.shape[1:])
