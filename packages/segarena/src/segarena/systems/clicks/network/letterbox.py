"""Letterboxing: placement of images of any size on a square canvas.

The longer side fills the canvas, the shorter side is centred, and the rest is zero. Colours on the
canvas are normalised, so zero is the mean colour.

Source: the published code of RClicks; the paper does not mention letterboxing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, grow_window, is_empty, window_shape
from segarena.errors import InvalidImage

# Mean and standard deviation of ImageNet colours, as in the published code.
MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)
LEAST_MARGIN_PX = 4


def view_window(error: NDArray[Any], margin: float | None) -> Window:
    """Return the image window that the network receives: the error's bounding box with a margin.

    Without an error, this is the whole image.

    Args:
        error: bool or float in [0, 1], (H, W); pixels with at least 0.5 count as error; if there
            are none, all pixels above 0 count.
        margin: margin on every side, as a multiple of the box's longer side, at least 4 pixels.
            None returns the whole image.
    """
    values = np.asarray(error)
    whole = (slice(0, values.shape[0]), slice(0, values.shape[1]))
    if margin is None:
        return whole
    box = bounding_window(values >= 0.5)
    if is_empty(box):
        box = bounding_window(values > 0)
    if is_empty(box):
        return whole
    longer = max(window_shape(box))
    margin_px = max(LEAST_MARGIN_PX, round(margin * longer))
    return grow_window(box, margin_px, values.shape)


@dataclass(frozen=True, slots=True)
class Letterbox:
    """Position of an image of `shape` on a square canvas of `side_px`.

    Attributes:
        shape: (H, W) of the image.
        side_px: side of the canvas.
        rows: the rows of the canvas that the image fills.
        columns: the columns of the canvas that the image fills.
    """

    shape: tuple[int, int]
    side_px: int
    rows: slice
    columns: slice

    @classmethod
    def fit(cls, shape: tuple[int, int], side_px: int = 416) -> Letterbox:
        """Return the letterbox of an image of `shape`.

        Raises:
            InvalidImage: the image is so long and thin that its short side rounds to 0 pixels.
        """
        height, width = shape
        rows = side_px
        columns = side_px
        # Integer division rounds down, as in the published code, so the placement of the image
        # agrees to the pixel.
        if height > width:
            columns = width * side_px // height
        else:
            rows = height * side_px // width
        if not rows or not columns:
            raise InvalidImage(
                f"an image of {height} x {width} has no pixels left on a canvas of {side_px}; "
                f"crop it to an aspect ratio below {side_px} : 1 first"
            )
        top = (side_px - rows) // 2
        left = (side_px - columns) // 2
        return cls(shape, side_px, slice(top, top + rows), slice(left, left + columns))

    def put_image(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the canvas (3, S, S) of a uint8 RGB image with normalised colours.

        Colours are normalised after the resize rather than before it, which gives the same values
        with less work.
        """
        canvas = np.zeros((3, self.side_px, self.side_px), dtype=np.float32)
        resized = self._resize(image.astype(np.float32))
        normalised = (resized / 255 - MEAN) / STD
        canvas[:, self.rows, self.columns] = np.moveaxis(normalised, -1, 0)
        return canvas

    def put_mask(self, mask: NDArray[Any]) -> NDArray[np.float32]:
        """Return the canvas (S, S) of a mask or map; bilinear resizing makes hard borders soft."""
        canvas = np.zeros((self.side_px, self.side_px), dtype=np.float32)
        canvas[self.rows, self.columns] = self._resize(mask.astype(np.float32))
        return canvas

    def _resize(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        width = self.columns.stop - self.columns.start
        height = self.rows.stop - self.rows.start
        resized = cv2.resize(values, (width, height), interpolation=cv2.INTER_LINEAR)
        return np.asarray(resized, dtype=np.float32)
