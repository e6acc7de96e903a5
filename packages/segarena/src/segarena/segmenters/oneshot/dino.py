"""Prototypes of patches: what looks like the support's object and unlike its background, to DINOv2 and DINOv3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample, Shape, Support
from segarena.segmenters.drawing.colour_cut import refine_by_colours
from segarena.segmenters.drawing.marks import require_image
from segarena.segmenters.learned.network_segmenter import NetworkSegmenter
from segarena.segmenters.oneshot.support_segmenter import (
    Supports,
    SupportSegmenter,
    cell_coverage,
    empty_prediction,
    encoding_of,
    shows_object,
    support_key,
)

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class PatchFeatures:
    """What the network made of an image.

    Attributes:
        shape: (H, W) of the image.
        features: (rows, columns, channels) of its patches.
        image: uint8 (H, W, 3), kept where masks are refined on it; else of no pixel.
    """

    shape: Shape
    features: Tensor
    image: NDArray[np.uint8]


@segmenter("dino")
@dataclass(kw_only=True, eq=False)
class DinoSegmenter(SupportSegmenter, NetworkSegmenter):
    """Patches of an image, each nearer to a prototype of the supports' object or of their background.

    Prototypes are weighted means of the supports' patch features (or several, by k-means). A patch counts with the
    share that the mask covers, and for the background with the rest. A patch scores its cosine with the nearest
    prototype of the object less that with the nearest of the background, which is 0 where supports have none. Scores
    are upsampled bilinearly. Nothing is learned, and there is no chance in it. The answer is empty where no support
    shows an object; an empty mask beside others adds to the background alone.

    Args:
        family: "dinov2" (with registers or without) or "dinov3" (ViT or ConvNeXt).
        side_px: the longer side is resized to about so many pixels, both to whole patches.
        prototypes: how many stand for the object.
        background_prototypes: how many stand for the background.
        refine: "grabcut" refines by colour models seeded where the score is most confident.
        threshold: of the upsampled score, -2 to 2; a pixel above it is in.

    Source: Oquab et al., DINOv2, TMLR 2024; Siméoni et al., DINOv3, 2025. Prototypes by masked average pooling: Wang et
    al., PANet, ICCV 2019; there features are not scaled to unit length before they are averaged.
    """

    family: Literal["dinov2", "dinov3"] = "dinov2"
    side_px: int = 518
    prototypes: int = 1
    background_prototypes: int = 1
    refine: Literal["none", "grabcut"] = "none"
    threshold: float = 0.0

    def __post_init__(self) -> None:
        for option in ("side_px", "prototypes", "background_prototypes"):
            number = getattr(self, option)
            if number < 1 or number != int(number):
                raise PluginInvalid(f"{option}={number!r}: expected a whole number of at least 1")
        if not np.isfinite(self.threshold):
            raise PluginInvalid(
                f"threshold={self.threshold!r}: expected a finite difference of two cosines"
            )
        self.load(self.family)

    @cached_property
    def patch_px(self) -> int:
        """Side of the square that one feature stands for."""
        config = self.model.config
        # A ConvNeXt halves the side before every stage but the first, which sees squares of four pixels.
        if hasattr(config, "hidden_sizes"):
            return 4 * 2 ** (len(config.hidden_sizes) - 1)
        return int(config.patch_size)

    def encode(self, sample: Sample) -> PatchFeatures:
        """Return the features of the image's patches: the one pass of the network.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        image = require_image(sample, "dino")
        height, width = image.shape[:2]
        scale = self.side_px / max(height, width) / self.patch_px
        grid = max(1, round(height * scale)), max(1, round(width * scale))
        kept = image if self.refine != "none" else image[:0]
        return PatchFeatures((height, width), self._features(image, grid), kept)

    def pack(self, encoded: PatchFeatures) -> dict[str, NDArray[Any]]:
        """Return an encoding as arrays, so that other runs can have it."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        features = tensor_serialization.pack_tensor(encoded.features)
        return {"shape": np.array(encoded.shape), "features": features, "image": encoded.image}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> PatchFeatures:
        """Return the encoding that `pack` was given."""
        from segarena.segmenters.learned.promptable import tensor_serialization

        features = tensor_serialization.unpack_tensor(arrays["features"], self.numbers, self.place)
        return PatchFeatures(
            tuple(int(length) for length in arrays["shape"]), features, arrays["image"]
        )

    def _answer(
        self, encoded: PatchFeatures, asked: Sequence[Supports], memory: Memory
    ) -> list[Prediction]:
        return [self._answer_one(encoded, supports, memory) for supports in asked]

    def _features(self, image: NDArray[np.uint8], grid: tuple[int, int]) -> Tensor:
        from segarena.segmenters.learned.promptable.devices import encoding_context
        from segarena.segmenters.learned.promptable.image_preparation import (
            BICUBIC,
            BILINEAR,
            prepare_image,
        )
        from segarena.segmenters.learned.promptable.tensor_serialization import check_finite

        size = grid[0] * self.patch_px, grid[1] * self.patch_px
        pixels = prepare_image(image, size, BICUBIC if self.family == "dinov2" else BILINEAR).to(
            self.place, self.numbers
        )
        with encoding_context():
            tokens = self.model(pixels).last_hidden_state[0]
        check_finite(tokens, f"as {self.numbers}")
        # Before the patches come one token for the whole image, and those that DINOv2 calls registers.
        others = 1 + getattr(self.model.config, "num_register_tokens", 0)
        return tokens[others:].reshape(*grid, -1).contiguous()

    def _answer_one(
        self, encoded: PatchFeatures, supports: Sequence[Support], memory: Memory
    ) -> Prediction:
        from segarena.pytorch import functional
        from segarena.segmenters.learned.promptable.prototypes import unit_vectors

        if not shows_object(supports):
            return empty_prediction(encoded.shape)
        parts = [
            memory.remember(
                ("parts", support_key(each)), lambda each=each: self._parts(each, memory)
            )
            for each in supports
        ]
        patches = unit_vectors(encoded.features)
        scores = self._score(patches.flatten(0, 1), parts).reshape(patches.shape[:2])
        full = functional.interpolate(
            scores[None, None], tuple(encoded.shape), mode="bilinear", align_corners=False
        )
        shown = full[0, 0].cpu().numpy()
        mask = shown > self.threshold
        return Prediction(
            mask=refine_by_colours(encoded.image, shown, mask) if self.refine == "grabcut" else mask
        )

    def _parts(self, support: Support, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """Return a support's patches, and how much each counts for object and background; each sum is 1, or 0."""
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.prototypes import unit_vectors

        features: Tensor = encoding_of(support, self.encode, memory).features
        share = cell_coverage(support.mask, (features.shape[0], features.shape[1])).ravel()
        rest = np.where(share < 1 - _ROUNDING, 1 - share, 0)
        weights = (
            torch.from_numpy(part / max(part.sum(), 1e-12)).float().to(self.place)
            for part in (share, rest)
        )
        inside, outside = weights
        return unit_vectors(features).flatten(0, 1), inside, outside

    def _score(self, patches: Tensor, parts: Sequence[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.prototypes import (
            find_prototypes,
            nearest_cosine,
        )

        features, inside, outside = (torch.cat(each) for each in zip(*parts, strict=True))
        background = features[:0]
        if float(outside.sum()) > 0:
            background = find_prototypes(features, outside, self.background_prototypes)
        return nearest_cosine(
            patches, find_prototypes(features, inside, self.prototypes)
        ) - nearest_cosine(patches, background)
