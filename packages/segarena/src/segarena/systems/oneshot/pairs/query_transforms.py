"""What is done to a query image and its mask before it is shown: a similarity transform, written as text."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.errors import DatasetError
from segarena.samples import Mask

_NAME = "similarity"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityTransform:
    """Rotation about the centre, then scale, flip and shift; what comes from outside is black and no object."""

    rotation_deg: float = 0.0  # counter-clockwise as seen
    scale: float = 1.0  # above 1 enlarges
    shift_row: float = 0.0  # downwards, as a share of the height
    shift_column: float = 0.0  # to the right, as a share of the width
    flip: bool = False  # left to right

    def __str__(self) -> str:
        return f"{_NAME}({', '.join(f'{name}={value!r}' for name, value in asdict(self).items())})"

    def image(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return an image, uint8 (H, W, 3), transformed; linear interpolation."""
        return self._warp(image, cv2.INTER_LINEAR)

    def mask(self, mask: Mask) -> Mask:
        """Return a mask, bool (H, W), transformed with the same matrix; nearest pixel."""
        return self._warp(mask.astype(np.uint8), cv2.INTER_NEAREST).astype(np.bool_)

    def _warp(self, pixels: NDArray[np.uint8], interpolation: int) -> NDArray[Any]:
        height, width = pixels.shape[:2]
        matrix = cv2.getRotationMatrix2D(
            ((width - 1) / 2, (height - 1) / 2), self.rotation_deg, self.scale
        )
        if self.flip:  # x becomes W - 1 - x, so that pixel centres fall on pixel centres
            matrix[0] = -matrix[0]
            matrix[0, 2] += width - 1
        matrix[:, 2] += (self.shift_column * width, self.shift_row * height)
        return cv2.warpAffine(pixels, matrix, (width, height), flags=interpolation)


def parse_transform(text: str) -> SimilarityTransform:
    """Return the transform that a table of pairs names.

    `similarity(rotation_deg=10.0, ...)` is that one. The published lists name transforms (`xf33271`) whose
    parameters were never published: for these a rigid one is drawn, always the same for a name, within 30 degrees and
    a tenth of the frame.

    Raises:
        DatasetError: another text.
    """
    if text.startswith("xf"):
        digest = hashlib.sha256(text.encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        turn, down, right = rng.uniform(-1, 1, 3).round(4).tolist()
        return SimilarityTransform(
            rotation_deg=30 * turn, shift_row=0.1 * down, shift_column=0.1 * right
        )
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _NAME:
            return SimilarityTransform(
                **{str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            )
    except (SyntaxError, ValueError, TypeError) as error:
        raise DatasetError(
            f"transform {text!r}: expected {SimilarityTransform()}, got: {error}"
        ) from error
    raise DatasetError(
        f"transform {text!r}: expected {SimilarityTransform()} or a name of the published lists (xf33271)"
    )
