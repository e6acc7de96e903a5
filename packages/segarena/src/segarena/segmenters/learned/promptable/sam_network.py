"""A network of the SAM family: encode an image once, decode dialogues about it in batches."""

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

_HALVES = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class SamVariant:
    """What the members of the family do differently.

    Attributes:
        is_padded: see `ImageSpace`.
        normal: mean and standard deviation of each channel.
        logits_limit: previous logits are handed back within plus and minus so much; None sets no limit.
        embed: (model, pixels) to the decoder's arguments that hold the embeddings, of batch size 1: tensors, or lists.
    """

    is_padded: bool
    normal: tuple[tuple[float, ...], tuple[float, ...]] = (IMAGENET_MEAN, IMAGENET_STD)
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
    "sam3-tracker": SamVariant(is_padded=False, logits_limit=32.0, embed=_embed, normal=_HALVES),
}


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedImage:
    """What the encoder made of an image; its tensors stay on the device.

    Attributes:
        space: how the image lies in the network's square.
        embeddings: the decoder's arguments, of batch size 1.
    """

    space: ImageSpace
    embeddings: dict[str, Any]


class SamNetwork:
    """A loaded model with the choices it is used with.

    Args:
        model: in evaluation mode, on its device.
        family: a key of `FAMILIES`.
        options: which mask is taken, and so on.
        batches: how many dialogues are decoded at once.
    """

    def __init__(self, model: Any, family: str, options: ImageOptions, batches: BatchRunner) -> None:
        self.model = model
        self.family = SAM_VARIANTS[family]
        self.options = options
        self.batches = batches
        weight = next(model.parameters())
        self.device = weight.device
        self.dtype = weight.dtype
        settings = model.config.prompt_encoder_config
        self.side = int(settings.image_size)
        self.low_side = 4 * (self.side // int(settings.patch_size))

    def encode(self, image: NDArray[np.uint8]) -> EmbeddedImage:
        """Return the embeddings of an image, uint8 (H, W, 3).

        Raises:
            SegmenterError: out of memory.
        """
        space = ImageSpace.of(image.shape[:2], self.side, is_padded=self.family.is_padded)
        pixels = space.pixels(image, *self.family.normal).to(self.device, self.dtype)
        with encoding_context():
            return EmbeddedImage(space, self.family.embed(self.model, pixels))

    def pack(self, encoded: EmbeddedImage) -> dict[str, NDArray[Any]]:
        """Return the encoding as named arrays of numbers; `unpack` gives back the same to the last bit."""
        arrays: dict[str, NDArray[Any]] = {"shape": np.array(encoded.space.shape)}
        for name, value in encoded.embeddings.items():
            several = isinstance(value, list)
            for index, tensor in enumerate(value if several else [value]):
                arrays[f"{name}.{index}" if several else name] = tensor_serialization.pack_tensor(
                    tensor
                )
        return arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> EmbeddedImage:
        """Return the encoding that `pack` was given, on this network's device."""
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
        return EmbeddedImage(
            ImageSpace.of((height, width), self.side, is_padded=self.family.is_padded), embeddings
        )

    def predict(self, encoded: EmbeddedImage, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue, in order.

        Dialogues with as many clicks, and alike in having a box and a mask, are decoded together, so that no prompt
        is ever padded: the decoder would attend to the padding.

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
            alike = list(group)
            answers = self.batches.map(
                lambda batch: self._decode(encoded, batch), [prompts[index] for index in alike]
            )
            predictions.update(zip(alike, answers, strict=True))
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
        """Return the prompts as the model takes them: one image, one object per dialogue."""
        arguments: dict[str, Any] = {}
        first = prompts[0]
        if len(first.points):
            arguments["input_points"] = self._stack([prompt.points for prompt in prompts])
            arguments["input_labels"] = self._stack([prompt.labels for prompt in prompts])
        if first.box is not None:
            arguments["input_boxes"] = self._stack([prompt.box for prompt in prompts])
        if first.logits is not None:
            arguments["input_masks"] = self._stack([prompt.logits for prompt in prompts]).to(
                self.dtype
            )
        return arguments

    def _stack(self, arrays: Sequence[Any]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)[:, None]).to(self.device)

    def _finish(self, space: ImageSpace, masks: Tensor, scores: NDArray[np.float32]) -> Prediction:
        """Return the chosen one of the masks (k, low, low), upsampled, and what the next round needs."""
        index = self.options.choose(scores)
        low = masks[index]
        tensor_serialization.check_finite(low, f"as {self.dtype}")
        mask = (space.upsample(low) > self.options.threshold).cpu().numpy()
        limit = self.family.logits_limit
        kept = low if limit is None else low.clamp(-limit, limit)
        return Prediction(mask=mask, logits=kept.cpu().numpy(), score=float(scores[index]))


def _expand(value: Any, count: int) -> Any:
    """Return tensors of batch size 1, in whatever they are nested, as views of batch size `count`."""
    if isinstance(value, dict):
        return {key: _expand(inner, count) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_expand(inner, count) for inner in value]
    return value.expand(count, *value.shape[1:])
