"""Patch prototypes: finds DINOv2 or DINOv3 patches that resemble the support's object more than its background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segarena.comparison import Memory
from segarena.dialogue import Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample, Shape, Support
from segarena.segmenters.drawing.grabcut_refinement import refine_by_colours
from segarena.segmenters.drawing.prompt_pixel_marks import require_image
from segarena.segmenters.learned.network_segmenter import NetworkSegmenter
from segarena.segmenters.learned.promptable.image_preparation import (
    BICUBIC,
    BILINEAR,
    prepare_image,
)
from segarena.segmenters.learned.promptable.tensor_serialization import (
    check_finite,
    pack_tensor,
    unpack_tensor,
)
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
"""Patches that are covered up to this rounding error do not count as background."""


@dataclass(frozen=True, slots=True, eq=False)
class PatchFeatures:
    """Patch features of one image.

    Attributes:
        shape: (H, W) of the image.
        features: (rows, columns, channels), one vector per patch.
        image: uint8 (H, W, 3) for the refinement of masks; it has no rows if there is no refinement.
    """

    shape: Shape
    features: Tensor
    image: NDArray[np.uint8]


@segmenter("dino")
@dataclass(kw_only=True, eq=False)
class DinoSegmenter(SupportSegmenter, NetworkSegmenter):
    """Classifies patches by the nearest prototype of the supports' object or background.

    Prototypes are weighted means of the supports' patch features, or several centres by k-means.
    The weight of a patch for the object is the share of it inside the mask, and the rest is its
    weight for the background. The score of a patch is its cosine with the nearest prototype of the
    object minus its cosine with the nearest prototype of the background (0 without background).
    Scores are upsampled bilinearly. Nothing is trained, and the prediction is deterministic. It is
    empty if no support shows an object. A support with an empty mask next to others adds only to
    the background.

    Args:
        family: "dinov2" (with registers or without) or "dinov3" (ViT or ConvNeXt).
        side_px: approximate longer side of the resized image; both sides become whole patches.
        prototypes: number of prototypes of the object.
        background_prototypes: number of prototypes of the background.
        refine: "grabcut" refines by colour models seeded where the score is most confident.
        threshold: threshold of the upsampled score, -2 to 2; pixels above it belong to the object.

    Source: Oquab et al., DINOv2, TMLR 2024; Siméoni et al., DINOv3, 2025. Prototypes by masked
    average pooling: Wang et al., PANet, ICCV 2019, which averages features without scaling them to
    unit length.
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
        """Side, in pixels, of the square that one feature describes."""
        config = self.model.config
        # The first stage of a ConvNeXt divides the resolution by four, and each further stage
        # halves it.
        if hasattr(config, "hidden_sizes"):
            return 4 * 2 ** (len(config.hidden_sizes) - 1)
        return int(config.patch_size)

    def encode(self, sample: Sample) -> PatchFeatures:
        """Return the features of the image's patches; the network runs only here.

        Raises:
            SegmenterError: the sample is not an image, or does not fit into memory.
            PredictionInvalid: the network returned NaN or infinity.
        """
        image = require_image(sample, "dino")
        height, width = image.shape[:2]
        patches_per_px = self.side_px / max(height, width) / self.patch_px
        rows = max(1, round(height * patches_per_px))
        columns = max(1, round(width * patches_per_px))
        features = self._features(image, (rows, columns))
        # Only the refinement uses the image, so otherwise the cache does not need it.
        kept_image = image if self.refine != "none" else image[:0]
        return PatchFeatures((height, width), features, kept_image)

    def pack(self, encoded: PatchFeatures) -> dict[str, NDArray[Any]]:
        """Convert an encoding to arrays for the cache."""
        features = pack_tensor(encoded.features)
        return {"shape": np.array(encoded.shape), "features": features, "image": encoded.image}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> PatchFeatures:
        """Restore an encoding from the arrays of `pack`."""
        features = unpack_tensor(arrays["features"], self.torch_dtype, self.torch_device)
        shape = tuple(arrays["shape"].tolist())
        return PatchFeatures(shape, features, arrays["image"])

    def _answer(
        self,
        encoded: PatchFeatures,
        requests: Sequence[Supports],
        memory: Memory,
    ) -> list[Prediction]:
        return [self._answer_one(encoded, supports, memory) for supports in requests]

    def _features(self, image: NDArray[np.uint8], grid: tuple[int, int]) -> Tensor:
        size = grid[0] * self.patch_px, grid[1] * self.patch_px
        pixels = prepare_image(image, size, BICUBIC if self.family == "dinov2" else BILINEAR).to(
            self.torch_device, self.torch_dtype
        )
        with self.precision.encoding():
            tokens = self.model(pixels).last_hidden_state[0].to(self.torch_dtype)
        check_finite(tokens, f"as {self.torch_dtype}")
        # The output starts with one token for the whole image and the tokens that DINOv2 calls
        # registers.
        others = 1 + getattr(self.model.config, "num_register_tokens", 0)
        return tokens[others:].reshape(*grid, -1).contiguous()

    def _answer_one(
        self,
        encoded: PatchFeatures,
        supports: Sequence[Support],
        memory: Memory,
    ) -> Prediction:
        from segarena.pytorch import functional
        from segarena.segmenters.learned.promptable.prototypes import unit_vectors

        if not shows_object(supports):
            return empty_prediction(encoded.shape)
        parts: list[tuple[Tensor, Tensor, Tensor]] = []
        for support in supports:
            key = ("parts", support_key(support))
            parts.append(memory.remember(key, partial(self._weighted_patches, support, memory)))
        patches = unit_vectors(encoded.features)
        scores = self._score(patches.flatten(0, 1), parts).reshape(patches.shape[:2])
        full = functional.interpolate(
            scores[None, None], tuple(encoded.shape), mode="bilinear", align_corners=False
        )
        upsampled = full[0, 0].cpu().numpy()
        mask = upsampled > self.threshold
        if self.refine == "grabcut":
            mask = refine_by_colours(encoded.image, upsampled, mask)
        return Prediction(mask=mask)

    def _weighted_patches(self, support: Support, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """Return a support's patch features, and their weights for the object and for the background.

        Each of the two sets of weights sums to 1, or is all 0.
        """
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.prototypes import unit_vectors

        features: Tensor = encoding_of(support, self.encode, memory).features
        grid = (features.shape[0], features.shape[1])
        inside = cell_coverage(support.mask, grid).ravel()
        # A patch that is fully covered, apart from rounding errors, has no background.
        outside = np.where(inside < 1 - _ROUNDING, 1 - inside, 0)

        def normalized(weights: NDArray[Any]) -> Tensor:
            # The weights are all 0 if a support has no object or no background.
            total = max(weights.sum(), 1e-12)
            shares = torch.from_numpy(weights / total)
            return shares.float().to(self.torch_device)

        patches = unit_vectors(features).flatten(0, 1)
        return patches, normalized(inside), normalized(outside)

    def _score(self, patches: Tensor, parts: Sequence[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        from segarena.pytorch import torch
        from segarena.segmenters.learned.promptable.prototypes import (
            find_prototypes,
            nearest_cosine,
        )

        features, inside, outside = map(torch.cat, zip(*parts, strict=True))
        background = features[:0]
        if float(outside.sum()) > 0:
            background = find_prototypes(features, outside, self.background_prototypes)
        foreground = find_prototypes(features, inside, self.prototypes)
        return nearest_cosine(patches, foreground) - nearest_cosine(patches, background)
