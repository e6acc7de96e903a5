"""Resize and normalize images for networks in the same way as their own processors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

if TYPE_CHECKING:
    from segarena.pytorch import Tensor

# The image processors of SAM, SegGPT and DINO use these statistics.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
BICUBIC = Image.Resampling.BICUBIC
BILINEAR = Image.Resampling.BILINEAR
NEAREST = Image.Resampling.NEAREST


def prepare_image(
    image: NDArray[np.uint8],
    size: tuple[int, int],
    resample: Any,
) -> Tensor:
    """Resize an image without keeping its aspect ratio, and normalize it with ImageNet statistics.

    Args:
        image: uint8 (H, W, 3), RGB.
        size: (height, width) of the result.
        resample: Pillow's `BICUBIC`, `BILINEAR` or `NEAREST`, with antialiasing.

    Returns:
        float32 (1, 3, height, width).
    """
    # Imported here, so that segmenters can be listed without torch.
    from segarena.pytorch import torch

    height, width = size
    resized = Image.fromarray(image).resize((width, height), resample)
    normalized = normalize_image(np.asarray(resized), IMAGENET_MEAN, IMAGENET_STD)
    batch = torch.from_numpy(np.ascontiguousarray(normalized))
    return batch[None]


def normalize_image(
    image: NDArray[np.uint8],
    mean: Sequence[float],
    std: Sequence[float],
) -> NDArray[np.float32]:
    """Return an image (H, W, 3) as float32 (3, H, W), normalized per channel.

    Mean and standard deviation are those of values in 0..1.
    """
    # Rounded to float32 only once, after the multiplication, like the networks' processors.
    scaled = (image * (1 / 255)).astype(np.float32)
    centred = scaled - np.asarray(mean, np.float32)
    normalized = centred / np.asarray(std, np.float32)
    return normalized.transpose(2, 0, 1)
