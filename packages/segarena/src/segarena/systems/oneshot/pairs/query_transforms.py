"""Similarity transforms of a query image and its mask, stored as text in a table of pairs."""

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
    """Rotation about the image centre, followed by scaling, flipping and shifting.

    Pixels from outside the frame become black and do not belong to the object.
    """

    rotation_deg: float = 0.0  # counter-clockwise in the displayed image
    scale: float = 1.0  # above 1 enlarges
    shift_row: float = 0.0  # downwards, as a share of the height
    shift_column: float = 0.0  # to the right, as a share of the width
    flip: bool = False  # left to right

    def __str__(self) -> str:
        options = [f"{name}={value!r}" for name, value in asdict(self).items()]
        return f"{_NAME}({', '.join(options)})"

    def image(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Transform an image, uint8 (H, W, 3), with linear interpolation."""
        return self._warp(image, cv2.INTER_LINEAR)

    def mask(self, mask: Mask) -> Mask:
        """Transform a mask, bool (H, W), with the same matrix and nearest-neighbour interpolation."""
        warped = self._warp(mask.astype(np.uint8), cv2.INTER_NEAREST)
        return warped.astype(np.bool_)

    def _warp(self, pixels: NDArray[np.uint8], interpolation: int) -> NDArray[Any]:
        height, width = pixels.shape[:2]
        # The centre of a pixel has integer coordinates.
        centre = ((width - 1) / 2, (height - 1) / 2)
        matrix = cv2.getRotationMatrix2D(centre, self.rotation_deg, self.scale)
        if self.flip:
            # Mirroring maps x to W - 1 - x, so that pixel centres map to pixel centres.
            matrix[0] = -matrix[0]
            matrix[0, 2] += width - 1
        matrix[0, 2] += self.shift_column * width
        matrix[1, 2] += self.shift_row * height
        return cv2.warpAffine(pixels, matrix, (width, height), flags=interpolation)


def parse_transform(text: str) -> SimilarityTransform:
    """Parse a transform from a table of pairs, such as `similarity(rotation_deg=10.0, ...)`.

    The published lists give transforms names (`xf33271`), but their parameters were never
    published. Such a name seeds a random rigid transform: a rotation of up to 30 degrees, and
    shifts of up to a tenth of the frame.

    Raises:
        DatasetError: the text is neither of the two forms.
    """
    if text.startswith("xf"):
        digest = hashlib.sha256(text.encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        # The ranges are our choice: the paper calls the transforms "random rigid" without giving a
        # range.
        turn, down, right = rng.uniform(-1, 1, 3).round(4).tolist()
        return SimilarityTransform(
            rotation_deg=30 * turn, shift_row=0.1 * down, shift_column=0.1 * right
        )
    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == _NAME:
            options = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            return SimilarityTransform(**options)
    except (SyntaxError, ValueError, TypeError) as error:
        raise DatasetError(
            f"transform {text!r}: expected {SimilarityTransform()}, got: {error}"
        ) from error
    raise DatasetError(
        f"transform {text!r}: expected {SimilarityTransform()} or a name from the published lists (xf33271)"
    )
