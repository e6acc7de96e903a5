"""SAM network that is guided by a target embedding instead of clicks (PerSAM)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window
from segarena.dialogue import Prediction
from segarena.pytorch import Tensor, functional, torch
from segarena.samples import Mask, as_mask
from segarena.segmenters.learned.promptable.devices import BatchRunner, MixedPrecision
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.network_prompt import NetworkPrompt
from segarena.segmenters.learned.promptable.sam_network import EmbeddedImage, SamNetwork
from segarena.segmenters.oneshot.support_segmenter import cell_coverage

_MIN_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class GuidedPrompt(NetworkPrompt):
    """Points, and the guidance of the decoder's attention.

    Attributes:
        similarity: (1, 1, cells), 0 to 1, similarity of each cell of the image's embedding to the
            target; added to the attention scores of that cell before the softmax.
        target: (1, 1, channels), added to every token.
    """

    similarity: Tensor
    target: Tensor


class GuidedNetwork(SamNetwork):
    """A loaded model that segments the objects similar to a vector in its embedding space.

    The first pass is guided and always predicts one mask, whatever the options. The first
    refinement uses the logits of this mask; the second refinement uses the logits and the box of
    the refined mask.
    """

    def __init__(
        self,
        model: Any,
        family: str,
        options: ImageOptions,
        batches: BatchRunner,
        refinements: int,
        precision: MixedPrecision | None = None,
    ) -> None:
        super().__init__(model, family, options, batches, precision)
        self.refinements = refinements

    def target_in(self, encoded: EmbeddedImage, mask: Mask) -> Tensor:
        """Return the mean embedding inside a mask, float32 (channels,); cells are weighted by their covered share."""
        features = _features(encoded)
        _, height, width = features.shape
        grid = (height, width)
        extent = _image_extent(encoded.space, grid)
        coverage = torch.from_numpy(cell_coverage(mask, grid, extent))
        weights = coverage / coverage.sum()
        return features.flatten(1) @ weights.flatten().to(features)

    def segment(self, encoded: EmbeddedImage, targets: Sequence[Tensor]) -> list[Prediction]:
        """Return the prediction for each target embedding, (channels,).

        The first pass is guided and predicts one mask. The second pass receives the logits of this
        mask, and the third pass receives the logits and the bounding box of the second pass's mask.
        These refinement passes, of which `refinements` run, are not guided, and the prediction is
        their best mask by the network's own estimate. An empty mask has no box, so it is returned unchanged.

        Raises:
            SegmenterError: the device ran out of memory.
            PredictionInvalid: the network returned NaN or infinity.
        """
        prompts: list[NetworkPrompt] = [self._guided(encoded, target) for target in targets]
        answers = self._decode_all(encoded, prompts)
        plain = [_without_guidance(prompt) for prompt in prompts]
        if self.refinements > 0:
            earlier = plain
            plain = []
            for prompt, answer in zip(earlier, answers, strict=True):
                plain.append(replace(prompt, logits=answer.logits))
            answers = self._decode_all(encoded, plain)
        if self.refinements > 1:
            indices = [index for index, answer in enumerate(answers) if answer.mask.any()]
            boxed: list[NetworkPrompt] = []
            for index in indices:
                answer = answers[index]
                box = _bounding_box(as_mask(answer.mask), encoded.space)
                boxed.append(replace(plain[index], logits=answer.logits, box=box))
            for index, answer in zip(indices, self._decode_all(encoded, boxed), strict=True):
                answers[index] = answer
        return answers

    def _decode_all(
        self, encoded: EmbeddedImage, prompts: Sequence[NetworkPrompt]
    ) -> list[Prediction]:
        return self.batches.map(lambda batch: self._decode(encoded, batch), prompts)

    def _arguments(self, prompts: Sequence[NetworkPrompt]) -> dict[str, Any]:
        arguments = super()._arguments(prompts)
        guided = [prompt for prompt in prompts if isinstance(prompt, GuidedPrompt)]
        if guided:
            similarities = torch.stack([prompt.similarity for prompt in guided])
            targets = torch.stack([prompt.target for prompt in guided])
            arguments["attention_similarity"] = similarities.to(self.dtype)
            arguments["target_embedding"] = targets.to(self.dtype)
        return arguments

    def _guided(self, encoded: EmbeddedImage, target: Tensor) -> GuidedPrompt:
        """Return the guided prompt, with points at the highest (positive) and lowest (negative) similarity."""
        features = _features(encoded)
        _, height, width = features.shape
        directions = functional.normalize(features.flatten(1), dim=0)
        cosines = functional.normalize(target, dim=0) @ directions
        cells = cosines.reshape(1, 1, height, width)
        # PerSAM's code selects the points from similarities at the resolution of SAM's masks.
        low = functional.interpolate(cells, scale_factor=4, mode="bilinear", align_corners=False)
        full = encoded.space.upsample(low[0])[0]
        similarities: NDArray[np.float32] = full.cpu().numpy()
        extremes: list[tuple[int, int]] = []
        for index in (similarities.argmax(), similarities.argmin()):
            row, column = np.unravel_index(int(index), similarities.shape)
            extremes.append((int(row), int(column)))
        deviation = full.std(unbiased=False).clamp(min=_MIN_DEVIATION)
        standardized = (cosines - full.mean()) / deviation
        return GuidedPrompt(
            points=encoded.space.to_network(extremes),
            labels=np.array([1, 0], np.int32),
            box=None,
            logits=None,
            is_several=False,
            similarity=standardized.sigmoid()[None, None],
            target=target[None, None],
        )


def _without_guidance(prompt: NetworkPrompt) -> NetworkPrompt:
    return NetworkPrompt(
        points=prompt.points,
        labels=prompt.labels,
        box=None,
        logits=None,
        is_several=True,
    )


def _features(encoded: EmbeddedImage) -> Tensor:
    """Return the embedding for the decoder's attention, float32 (channels, height, width)."""
    embeddings = encoded.embeddings["image_embeddings"]
    # SAM 2 and later models return several levels, of which the last is the coarsest.
    features = embeddings[-1] if isinstance(embeddings, (list, tuple)) else embeddings
    # Contiguous, because sums round differently in other memory layouts, such as the one after
    # `unpack`.
    return features[0].float().contiguous()


def _image_extent(space: ImageSpace, grid: tuple[int, int]) -> tuple[float, float]:
    """Return the size of the image along each axis, in cells of the square's grid."""
    height, width = space.inner
    rows, columns = grid
    return rows * height / space.side, columns * width / space.side


def _bounding_box(mask: Mask, space: ImageSpace) -> NDArray[np.floating[Any]]:
    rows, columns = bounding_window(mask)
    first = (rows.start, columns.start)
    last = (rows.stop - 1, columns.stop - 1)
    return space.to_network([first, last]).reshape(4)
