"""SAM's network with the preprocessing and postprocessing of MedSAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.pytorch import Tensor, torch
from segarena.segmenters.learned.promptable.devices import BatchRunner, MixedPrecision
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import ImageOptions
from segarena.segmenters.learned.promptable.sam_network import SamNetwork, upsample_in_parts
from segarena.segmenters.volumes.intensity_windows import resize_to_unit_square


class MedSamNetwork(SamNetwork):
    """SAM's network for images with values from 0 to 1, with masks upsampled as probabilities."""

    def __init__(
        self,
        model: Any,
        batches: BatchRunner,
        precision: MixedPrecision | None = None,
    ) -> None:
        options = ImageOptions(multimask="never", mask_choice="first")
        super().__init__(model, "sam", options, batches, precision)
        self.variant = replace(self.variant, is_padded=False)

    def _input(self, image: NDArray[np.uint8]) -> tuple[ImageSpace, Tensor]:
        """Resize an image, uint8 (H, W, 3), bicubically, and stretch its values to 0..1."""
        space = ImageSpace.of(image.shape[:2], self.side, is_padded=False)
        resized = resize_to_unit_square(image, self.side)
        planes = np.ascontiguousarray(resized.transpose(2, 0, 1))
        return space, torch.from_numpy(planes)[None].to(self.device, self.dtype)

    def _is_inside(self, space: ImageSpace, low: Tensor) -> Tensor:
        # MedSAM's code applies the sigmoid before it resizes, so its interpolated borders differ
        # from SAM's.
        return upsample_in_parts(low, lambda part: space.upsample(part.sigmoid()) > 0.5)

    def _logits_to_keep(self, low: Tensor) -> Sequence[Any]:
        # MedSAM accepts boxes only.
        return [None] * len(low)
