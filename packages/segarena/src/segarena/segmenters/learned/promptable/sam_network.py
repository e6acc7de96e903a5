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
from segarena.segmenters.learned.promptable.devices import BatchRunner, encoding_context
from segarena.segmenters.learned.promptable.image_preparation import IMAGENET_MEAN, IMAGENET_STD
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.network_prompt import (
    NetworkPrompt,
    build_network_prompt,
)

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
    """

    def __init__(
        self,
        model: Any,
        family: str,
        options: ImageOptions,
        batches: BatchRunner,
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
        # The decoder upsamples its patch grid by a factor of four.
        self.low_side = 4 * (self.side // int(settings.patch_size))

    def encode(self, image: NDArray[np.uint8]) -> EmbeddedImage:
        """Return the embeddings of an image, uint8 (H, W, 3).

        Raises:
            SegmenterError: the device ran out of memory.
        """
        mean, std = self.variant.normalization
        space = ImageSpace.of(image.shape[:2], self.side, is_padded=self.variant.is_padded)
        pixels = space.pixels(image, mean, std).to(self.device, self.dtype)
        with encoding_context():
            embeddings = self.variant.embed(self.model, pixels)
        return EmbeddedImage(space, embeddings)

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
        with torch.inference_mode():
            answer = self.model(
                **_expand(encoded.embeddings, len(prompts)),
                **self._arguments(prompts),
                multimask_output=prompts[0].is_several,
            )
            scores = answer.iou_scores[:, 0].float().cpu().numpy()
            predictions: list[Prediction] = []
            for masks, score in zip(answer.pred_masks[:, 0], scores, strict=True):
                predictions.append(self._finish(encoded.space, masks.float(), score))
            return predictions

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
            masks = self._stack([prompt.logits for prompt in prompts])
            arguments["input_masks"] = masks.to(self.dtype)
        return arguments

    def _stack(self, arrays: Sequence[Any]) -> Tensor:
        """Stack arrays to one tensor on the device, with one object per dialogue."""
        stacked = np.stack(arrays)[:, None]
        return torch.from_numpy(stacked).to(self.device)

    def _finish(
        self,
        space: ImageSpace,
        masks: Tensor,
        scores: NDArray[np.float32],
    ) -> Prediction:
        """Choose one of k masks, (k, low, low), and return it as a prediction with its logits."""
        index = self.options.choose(scores)
        low = masks[index]
        tensor_serialization.check_finite(low, f"as {self.dtype}")
        is_inside = space.upsample(low) > self.options.threshold
        mask = is_inside.cpu().numpy()
        # SAM 2 clamps the logits that it reuses as a mask prompt, but SAM does not.
        limit = self.variant.logits_limit
        if limit is not None:
            low = low.clamp(-limit, limit)
        score = float(scores[index])
        return Prediction(mask=mask, logits=low.cpu().numpy(), score=score)


def _expand(value: Any, count: int) -> Any:
    """Expand tensors with batch size 1, nested in dicts or lists, to views with batch size `count`."""
    if isinstance(value, dict):
        return {key: _expand(inner, count) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_expand(inner, count) for inner in value]
    # Views, because copies of the embeddings would fill the memory.
    return value.expand(count, *value.shape[1:])
