"""A network of the SAM family that is shown what to look for instead of being clicked on (PerSAM)."""

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
from segarena.segmenters.learned.promptable.devices import BatchRunner
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.network_prompt import NetworkPrompt
from segarena.segmenters.learned.promptable.sam_network import EmbeddedImage, SamNetwork
from segarena.segmenters.oneshot.support_segmenter import cell_coverage

_FLAT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class GuidedPrompt(NetworkPrompt):
    """Points, and what the decoder's attention is guided by.

    Attributes:
        similarity: (1, 1, cells), 0 to 1, of each cell of the image's embedding to the target; added to what
            attention gives that cell before its softmax.
        target: (1, 1, channels), added to every token.
    """

    similarity: Tensor
    target: Tensor


class GuidedNetwork(SamNetwork):
    """A loaded model that segments what a vector in the space of its image embeddings stands for.

    The first, guided pass asks for one mask whatever the options say. Of the refinements after it, the first is given
    its logits, the second then also the box of that mask.
    """

    def __init__(
        self, model: Any, family: str, options: ImageOptions, batches: BatchRunner, refinements: int
    ) -> None:
        super().__init__(model, family, options, batches)
        self.refinements = refinements

    def target_in(self, encoded: EmbeddedImage, mask: Mask) -> Tensor:
        """Return the mean embedding, float32 (channels,), of what a mask shows; cells count with the part it covers."""
        features = _features(encoded)
        _, height, width = features.shape
        shares = torch.from_numpy(
            cell_coverage(mask, (height, width), _extent(encoded.space, (height, width)))
        )
        return features.flatten(1) @ (shares / shares.sum()).flatten().to(features)

    def segment(self, encoded: EmbeddedImage, targets: Sequence[Tensor]) -> list[Prediction]:
        """Return the mask of each target, (channels,).

        The first pass is guided and gives one mask. The second is given its logits, the third also its box; they are
        not guided, and the best of their masks by the network's own estimate is taken. A mask without a pixel has no
        box and is the answer.

        Raises:
            SegmenterError: out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        prompts: list[NetworkPrompt] = [self._guided(encoded, target) for target in targets]
        answers = self._decode_all(encoded, prompts)
        plain = [_unguided(prompt) for prompt in prompts]
        if self.refinements > 0:
            plain = [
                replace(prompt, logits=answer.logits)
                for prompt, answer in zip(plain, answers, strict=True)
            ]
            answers = self._decode_all(encoded, plain)
        if self.refinements > 1:
            found = [index for index, answer in enumerate(answers) if answer.mask.any()]
            boxed = [
                replace(
                    plain[index],
                    logits=answers[index].logits,
                    box=_box(as_mask(answers[index].mask), encoded.space),
                )
                for index in found
            ]
            for index, answer in zip(found, self._decode_all(encoded, boxed), strict=True):
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
            arguments["attention_similarity"] = torch.stack(
                [prompt.similarity for prompt in guided]
            ).to(self.dtype)
            arguments["target_embedding"] = torch.stack([prompt.target for prompt in guided]).to(
                self.dtype
            )
        return arguments

    def _guided(self, encoded: EmbeddedImage, target: Tensor) -> GuidedPrompt:
        """Return a positive point where the image is most similar to the target, and a negative one where least."""
        features = _features(encoded)
        cosines = functional.normalize(target, dim=0) @ functional.normalize(
            features.flatten(1), dim=0
        )
        cells = cosines.reshape(1, 1, *features.shape[1:])
        low = functional.interpolate(cells, scale_factor=4, mode="bilinear", align_corners=False)[
            0, 0
        ]
        full = encoded.space.upsample(low)
        shown: NDArray[np.float32] = full.cpu().numpy()
        extremes = [
            np.unravel_index(int(index), shown.shape) for index in (shown.argmax(), shown.argmin())
        ]
        spread = (cosines - full.mean()) / full.std(unbiased=False).clamp(min=_FLAT)
        return GuidedPrompt(
            points=encoded.space.to_network([(int(row), int(column)) for row, column in extremes]),
            labels=np.array([1, 0], np.int32),
            box=None,
            logits=None,
            is_several=False,
            similarity=spread.sigmoid()[None, None],
            target=target[None, None],
        )


def _unguided(prompt: NetworkPrompt) -> NetworkPrompt:
    return NetworkPrompt(
        points=prompt.points, labels=prompt.labels, box=None, logits=None, is_several=True
    )


def _features(encoded: EmbeddedImage) -> Tensor:
    """Return the embedding that the decoder attends to, float32 (channels, height, width)."""
    embeddings = encoded.embeddings["image_embeddings"]
    features = embeddings[-1] if isinstance(embeddings, (list, tuple)) else embeddings
    return (
        features[0].float().contiguous()
    )  # sums round otherwise in another layout, as after `unpack`


def _extent(space: ImageSpace, grid: tuple[int, int]) -> tuple[float, float]:
    """Return how many cells of the square's grid the image takes along each axis."""
    return grid[0] * space.inner[0] / space.side, grid[1] * space.inner[1] / space.side


def _box(mask: Mask, space: ImageSpace) -> NDArray[np.floating[Any]]:
    rows, columns = bounding_window(mask)
    return space.to_network(
        [(rows.start, columns.start), (rows.stop - 1, columns.stop - 1)]
    ).reshape(4)
