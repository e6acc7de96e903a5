"""Colour spaces: CIELAB, in which equal distances look roughly equally different."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray


def rgb_to_lab(image: NDArray[Any]) -> NDArray[np.float32]:
    """Convert RGB to CIELAB: lightness from 0 to 100, then the green-red and blue-yellow axes, both around 0.

    >>> rgb_to_lab(np.full((1, 1, 3), 255, np.uint8)).round(2).tolist()
    [[[100.0, 0.0, 0.0]]]

    Args:
        image: (H, W, 3), 0 to 255, of any dtype.

    Returns:
        float32 (H, W, 3), for the D65 white point.
    """
    shares = image.astype(np.float32) / np.float32(255)
    return np.asarray(cv2.cvtColor(shares, cv2.COLOR_RGB2LAB), dtype=np.float32)
