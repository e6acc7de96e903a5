"""Structuring elements for dilation and erosion: disks and balls.

They equal `skimage.morphology.disk` and `ball`, but avoid importing scikit-image, which takes half
a second.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask


def ball(radius: float, axes: int = 3) -> Mask:
    """Return a Euclidean ball of `radius` pixels as a structuring element: bool, with an odd size along each axis.

    >>> ball(1, axes=2).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])

    Args:
        radius: 0 or more; 0 is the middle pixel alone.
        axes: 2 for a disk, 3 for a ball.
    """
    reach = math.floor(radius)
    side = slice(-reach, reach + 1)
    offsets = np.mgrid[(side,) * axes]
    squared_distance = (offsets**2).sum(axis=0)
    # Compare squares, because a square root could round a pixel on the border to either side.
    return squared_distance <= radius**2


def disk(radius_px: float) -> NDArray[np.uint8]:
    """Return `ball(radius_px, axes=2)` as uint8, the dtype that OpenCV expects for structuring elements.

    >>> disk(1).dtype, disk(2.5).shape
    (dtype('uint8'), (5, 5))
    """
    return ball(radius_px, axes=2).view(np.uint8)
