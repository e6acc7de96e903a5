"""From an image to the pixels that a network takes, as the networks' own processors make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.pytorch import Tensor, torch

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
BICUBIC = Image.Resampling.BICUBIC
BILINEAR = Image.Resampling.BILINEAR
NEAREST = Image.Resampling.NEAREST


def prepare_image(image: NDArray[np.uint8], size: tuple[int, int], resample: Any) -> Tensor:
    """Return an image resized to `size` whatever its ratio, and normalised with ImageNet's statistics.

    Args:
        image: uint8 (H, W, 3), RGB.
        size: (height, width) of the result.
        resample: `BICUBIC`, `BILINEAR` or `NEAREST`; Pillow's, so with antialiasing.

    Returns:
        float32 (1, 3, height, width).
    """
    height, width = size
    resized = np.asarray(Image.fromarray(image).resize((width, height), resample))
    return torch.from_numpy(
        np.ascontiguousarray(normalize_image(resized, IMAGENET_MEAN, IMAGENET_STD))
    )[None]


def normalize_image(
    image: NDArray[np.uint8], mean: Sequence[float], std: Sequence[float]
) -> NDArray[np.float32]:
    """Return an image (H, W, 3), by mean and deviation of each channel of values 0..1, as float32 (3, H, W)."""
    grey = (image * (1 / 255)).astype(np.float32)  # rounded once, as the processors do
    return ((grey - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)).transpose(2, 0, 1)
