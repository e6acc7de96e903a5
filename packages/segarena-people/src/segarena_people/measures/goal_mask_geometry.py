"""Shape of a goal, computed once and shared by all prompts about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty, window_shape, window_start
from segarena.arrays.distance_transform import squared_distance_in_window
from segarena.errors import InvalidMask
from segarena.samples import Mask


@dataclass(frozen=True, eq=False)
class GoalShape:
    """Goal region of a prompt, with cached measures.

    >>> shape = GoalShape(np.ones((4, 9), bool))
    >>> shape.area, shape.side, shape.centroid.tolist(), shape.depth.max().item()
    (36, 6.0, [1.5, 4.0], 1.0)

    Attributes:
        mask: bool (H, W), with at least one pixel.

    Raises:
        InvalidMask: the mask is not two-dimensional, not bool, or empty.
    """

    mask: Mask

    def __post_init__(self) -> None:
        """Check the mask."""
        if self.mask.ndim != 2 or self.mask.dtype != np.bool_:
            raise InvalidMask(
                f"goal: expected bool (H, W), got {self.mask.dtype} of shape {self.mask.shape}"
            )
        if is_empty(self.window):
            raise InvalidMask(
                "goal: expected at least one pixel, got none; leave out prompts with an empty goal"
            )

    @cached_property
    def window(self) -> Window:
        """Smallest window that contains the goal."""
        return bounding_window(self.mask)

    @cached_property
    def extent(self) -> tuple[int, int]:
        """Height and width of the bounding box, px."""
        height, width = window_shape(self.window)
        return height, width

    @cached_property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask[self.window]))

    @cached_property
    def side(self) -> float:
        """Square root of the area in px, used as the unit of length."""
        return math.sqrt(self.area)

    @cached_property
    def pixels(self) -> NDArray[np.int64]:
        """Pixel coordinates (row, column), (area, 2), in raster order."""
        return np.argwhere(self.mask[self.window]) + window_start(self.window)

    @cached_property
    def centroid(self) -> NDArray[np.float64]:
        """Mean of the pixel coordinates, (row, column)."""
        return self.pixels.mean(axis=0)

    @cached_property
    def depth(self) -> NDArray[np.float64]:
        """Distance of each pixel of the window from the background, divided by the maximum; 0 outside the goal.

        Everything outside the image counts as background.
        """
        _, squared = squared_distance_in_window(self.mask)
        distance = np.sqrt(squared.astype(np.float64))
        return distance / distance.max()

    def depth_at(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the depth of pixels anywhere in the image; 0 outside the goal."""
        top, left = window_start(self.window)
        height, width = self.extent
        rows = rows - top
        columns = columns - left
        # Pixels beyond the window are outside the goal and have no entry in the depth map.
        is_near = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        found = np.zeros(len(rows))
        found[is_near] = self.depth[rows[is_near], columns[is_near]]
        return found
