"""Conversion of pixels, positions and masks between an image and the network's square input.

All conversions follow the models' own processors, because the weights were trained with them.
Positions are scaled without a shift by half a pixel, while masks are upsampled with pixel centres
at halves. Positions are (row, column) in the image and (x, y) in the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.pytorch import Tensor, functional, torch
from segarena.samples import Mask, Shape
from segarena.segmenters.learned.promptable.devices import copy_to_device
from segarena.segmenters.learned.promptable.image_preparation import normalize_image

_MASK_LOGIT = 10.0
"""Logit of the pixels inside a mask prompt, negated outside it (SAM 2's values for mask inputs)."""


@dataclass(frozen=True, slots=True)
class ImageSpace:
    """Position and scale of an image in the square input of a network.

    Attributes:
        shape: (H, W) of the image.
        inner: (h, w) of the image after resizing; the rest of the square, below and to the right, is padding.
        side: side of the square, in pixels.
        is_padded: whether the image keeps its aspect ratio (SAM) or fills the square (SAM 2 and
            later).
    """

    shape: Shape
    inner: tuple[int, int]
    side: int
    is_padded: bool

    @classmethod
    def of(
        cls,
        shape: Shape,
        side: int,
        *,
        is_padded: bool,
    ) -> ImageSpace:
        """Return the space of an image whose longer side, or both sides, are scaled to `side`."""
        if not is_padded:
            return cls(shape, (side, side), side, is_padded)
        scale = side / max(shape)
        # A very long image keeps at least one pixel of its shorter side.
        height, width = (max(1, int(length * scale + 0.5)) for length in shape)
        return cls(shape, (height, width), side, is_padded)

    def to_network(self, positions: Sequence[tuple[float, ...]]) -> NDArray[np.floating]:
        """Convert (row, column) positions to (x, y) in the square, (n, 2).

        The precision is that of the models' processors: float64 for SAM, float32 for SAM 2 and
        later.
        """
        dtype = np.float64 if self.is_padded else np.float32
        row_column = np.asarray(positions, dtype=dtype).reshape(-1, 2)
        x_y = row_column[:, ::-1]
        x_scale = self.inner[1] / self.shape[1]
        y_scale = self.inner[0] / self.shape[0]
        return x_y * np.array([x_scale, y_scale], dtype=dtype)

    def pixels(
        self,
        image: NDArray[np.uint8],
        mean: Sequence[float],
        std: Sequence[float],
    ) -> Tensor:
        """Return the network's input, float32 (1, 3, side, side): the resized, normalized and zero-padded image."""
        height, width = self.inner
        square = np.zeros((3, self.side, self.side), np.float32)
        # Padded after normalization, so that padding equals the mean colour, as in SAM's processor.
        square[:, :height, :width] = normalize_image(self._resize(image), mean, std)
        return torch.from_numpy(square)[None]

    def pixels_on(
        self,
        device: torch.device,
        image: NDArray[np.uint8],
        mean: Sequence[float],
        std: Sequence[float],
    ) -> Tensor:
        """Return the network's input like `pixels`, but resized and normalized on the device.

        Only the 8-bit image travels to the device. Grey levels after resizing differ from those of
        `pixels` by at most one.
        """
        planes = copy_to_device(image, device).permute(2, 0, 1)[None]
        # GPUs resize only floating-point numbers with antialiasing; grey levels are whole numbers.
        resized = functional.interpolate(
            planes.float(), self.inner, mode="bilinear", align_corners=False, antialias=True
        )
        levels = resized.round().clamp(0, 255)
        centre = torch.tensor(mean, dtype=torch.float32).reshape(1, 3, 1, 1)
        spread = torch.tensor(std, dtype=torch.float32).reshape(1, 3, 1, 1)
        normalized = (levels / 255 - centre.to(device)) / spread.to(device)
        below = self.side - self.inner[0]
        right = self.side - self.inner[1]
        return functional.pad(normalized, (0, right, 0, below))

    def _resize(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Resize the image to its inner size: with Pillow if it is padded, otherwise with PyTorch.

        Results of Pillow and PyTorch differ by at most one grey level.
        """
        if self.is_padded:
            height, width = self.inner
            picture = Image.fromarray(image)
            resized = picture.resize((width, height), Image.Resampling.BILINEAR)
            return np.asarray(resized)
        planes = np.ascontiguousarray(image.transpose(2, 0, 1))
        batch = torch.from_numpy(planes)[None]
        resized_batch = functional.interpolate(
            batch, self.inner, mode="bilinear", align_corners=False, antialias=True
        )
        return resized_batch[0].permute(1, 2, 0).numpy()

    def upsample(self, logits: Tensor) -> Tensor:
        """Upsample low-resolution logits (n, h, w) to the image size (n, H, W), cropping the padding."""
        planes = logits[:, None]
        if self.is_padded:
            planes = functional.interpolate(
                planes, (self.side, self.side), mode="bilinear", align_corners=False
            )
            planes = planes[..., : self.inner[0], : self.inner[1]]
        full = functional.interpolate(planes, self.shape, mode="bilinear", align_corners=False)
        return full[:, 0]

    def mask_logits(self, mask: Mask, low_side: int) -> NDArray[np.float32]:
        """Convert a mask prompt to logits from -10 (outside) to 10, float32 (low_side, low_side).

        Padding is outside. Low-resolution pixels that the mask covers partly have values in
        between.
        """
        planes = torch.from_numpy(mask.astype(np.float32))[None, None]
        if self.is_padded:
            planes = functional.interpolate(
                planes, self.inner, mode="bilinear", align_corners=False, antialias=True
            )
            below = self.side - self.inner[0]
            right = self.side - self.inner[1]
            planes = functional.pad(planes, (0, right, 0, below))
        low = functional.interpolate(
            planes, (low_side, low_side), mode="bilinear", align_corners=False, antialias=True
        )
        logits = low[0, 0] * (2 * _MASK_LOGIT) - _MASK_LOGIT
        return logits.numpy()


def network_pixels(
    space: ImageSpace,
    image: NDArray[np.uint8],
    mean: Sequence[float],
    std: Sequence[float],
    device: torch.device,
) -> Tensor:
    """Return the network's input on its device, float32 (1, 3, side, side); a GPU resizes the image itself."""
    if device.type == "cuda":
        return space.pixels_on(device, image, mean, std)
    return space.pixels(image, mean, std).to(device)
