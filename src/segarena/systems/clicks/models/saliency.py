"""What stands out in an image: saliency as a plug-in of the saliency reference models.

A saliency is any callable from a crop, uint8 (h, w, 3) RGB, and the window it was cut from, to numbers of at least 0,
(h, w). Here are one that needs no weights, and the canvas that published networks want their crops on.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.arrays.saliency import mean_contrast
from segarena.errors import InvalidInput

PADDING = 1


class Saliency(Protocol):
    """How much each pixel of a crop stands out."""

    def __call__(self, crop: NDArray[np.uint8], window: Window) -> NDArray[Any]:
        """Return numbers of at least 0, (h, w), for a crop (h, w, 3) cut at `window` out of the image."""
        ...


def contrast(crop: NDArray[np.uint8], window: Window) -> NDArray[np.float64]:
    """Return `segarena.arrays.saliency.mean_contrast` of the crop; `window` is not used."""
    return mean_contrast(crop)


@dataclass(eq=False)
class OnCanvas:
    """Gives a network its crop on a canvas of fixed size, and brings the answer back to the crop.

    Wrap a network of your own in it, in the file that `saliency-crop(saliency='file.py:Name')` reads. The answer is
    rounded down to 8 bits on the way, as in the published code.

    Args:
        network: crop on the canvas, uint8 (*shape, 3), to saliency in [0, 1], `shape`.
        shape: of the canvas; TranSalNet's by default.
    """

    network: Any
    _: KW_ONLY
    shape: tuple[int, int] = (288, 384)

    def __call__(self, crop: NDArray[np.uint8], window: Window) -> NDArray[np.uint8]:
        """Return 8-bit saliency of the crop's shape."""
        answer = np.asarray(self.network(self._put(crop)))
        if answer.shape != self.shape:
            raise InvalidInput(f"a saliency network on a canvas of {self.shape} returned a map of {answer.shape}")
        return self._cut((255 * answer).astype(np.uint8), (crop.shape[0], crop.shape[1]))

    def _put(self, crop: NDArray[np.uint8]) -> NDArray[np.uint8]:
        rows, columns = _fit((crop.shape[0], crop.shape[1]), self.shape)
        canvas = np.full((*self.shape, 3), PADDING, dtype=np.uint8)
        top, left = (self.shape[0] - rows) // 2, (self.shape[1] - columns) // 2
        canvas[top : top + rows, left : left + columns] = cv2.resize(crop, (columns, rows))
        return canvas

    def _cut(self, answer: NDArray[np.uint8], shape: tuple[int, int]) -> NDArray[np.uint8]:
        """Return the answer scaled until it covers `shape`, and cut to it around the centre."""
        height, width = self.shape
        rows, columns = shape
        if shape[0] / height > shape[1] / width:
            columns = width * shape[0] // height
        else:
            rows = height * shape[1] // width
        scaled = np.asarray(cv2.resize(answer, (columns, rows)), dtype=np.uint8)
        top, left = (rows - shape[0]) // 2, (columns - shape[1]) // 2
        return scaled[top : top + shape[0], left : left + shape[1]]


def _fit(shape: tuple[int, int], canvas: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same proportions on the canvas, at least one pixel each way."""
    if shape[0] / canvas[0] > shape[1] / canvas[1]:
        return canvas[0], max(1, shape[1] * canvas[0] // shape[0])
    return max(1, shape[0] * canvas[1] // shape[1]), canvas[1]
