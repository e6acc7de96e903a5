"""View of a target slice by slice, with cached properties that several prompting schemes use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, from_window, grow_window
from segarena.arrays.slices import Pixel, snapped_box_centre, snapped_mean
from segarena.arrays.structuring_elements import disk
from segarena.comparison import Comparison, Memory, Reference
from segarena.errors import InvalidInput
from segarena.prompts import Box, Position
from segarena.roles import Turn
from segarena.samples import Mask, Shape

# RadioActive dilates with a disk of radius 2, then with a disk of radius 3, and uses the
# difference.
_RING_START_PX = 2
_RING_WIDTH_PX = 3


class SlicedTarget:
    """The foreground slices of one target, in the smallest window that contains the target.

    Positions and slice indices refer to the whole volume; masks are cropped to the window.

    Args:
        reference: reference mask of a bool target (D, H, W).
    """

    def __init__(self, reference: Reference) -> None:
        self.shape: Shape = reference.shape
        self.spacing_mm: tuple[float, ...] = reference.spacing_mm or (1.0, 1.0, 1.0)
        self.window: Window = reference.window
        self._mask = reference.mask
        self._memory = Memory()

    @classmethod
    def of(cls, comparison: Comparison) -> SlicedTarget:
        """Return the sliced target of a comparison, which is created on the first call and cached with the target."""
        return comparison.reference.remember("sliced target", lambda: cls(comparison.reference))

    @cached_property
    def areas(self) -> dict[int, int]:
        """Number of pixels in each foreground slice, in ascending order of slices."""
        first = self.window[0].start
        areas: dict[int, int] = {}
        for index, plane in enumerate(self._mask[self.window], start=first):
            area = int(np.count_nonzero(plane))
            if area:
                areas[index] = area
        return areas

    @cached_property
    def slices(self) -> tuple[int, ...]:
        """The slices with foreground, in ascending order."""
        return tuple(self.areas)

    def plane(self, index: int) -> Mask:
        """Return slice `index` of the target, cropped to the window."""
        return self._mask[index][self.window[1:]]

    def centre(self, index: int) -> Position:
        """Return the box centre of the largest component in foreground slice `index`, snapped to the component."""
        return self._memory.remember(
            ("centre", index), lambda: self._find_position(index, snapped_box_centre)
        )

    def mean(self, index: int) -> Position:
        """Return the mean pixel of the largest component in foreground slice `index`, snapped to the component."""
        return self._memory.remember(
            ("mean", index), lambda: self._find_position(index, snapped_mean)
        )

    def box(self, index: int) -> Box:
        """Return the bounding box of all foreground in foreground slice `index`."""
        return self._memory.remember(("box", index), lambda: self._find_box(index))

    def ring(self, index: int) -> NDArray[np.int64]:
        """Return the pixels of slice `index`, (n, 2), that lie about 3 to 5 pixels outside the foreground."""
        return self._memory.remember(("ring", index), lambda: self._find_ring(index))

    def _find_position(self, index: int, snap: Callable[..., Pixel | None]) -> Position:
        _, rows, columns = self.window
        pixel = snap(self.plane(index), origin=(rows.start, columns.start))
        if pixel is None:
            raise InvalidInput(f"slice {index} has no foreground; expected one of {self.slices}")
        return (index, *pixel)

    def _find_box(self, index: int) -> Box:
        inner = bounding_window(self.plane(index))
        rows, columns = from_window(inner, self.window[1:])
        start = (index, rows.start, columns.start)
        stop = (index + 1, rows.stop, columns.stop)
        return Box(start, stop)

    def _find_ring(self, index: int) -> NDArray[np.int64]:
        box = self.box(index)
        _, top, left = box.start
        _, bottom, right = box.stop
        tight = (slice(top, bottom), slice(left, right))
        reach_px = _RING_START_PX + _RING_WIDTH_PX
        rows, columns = grow_window(tight, reach_px, self.shape[1:])
        crop = self._mask[index, rows, columns]
        foreground = np.ascontiguousarray(crop).view(np.uint8)
        # Two successive dilations, as in the published code, so the ring is not an exact range of
        # distances.
        inner = cv2.dilate(foreground, disk(_RING_START_PX))
        outer = cv2.dilate(inner, disk(_RING_WIDTH_PX))
        ring = np.greater(outer, inner)
        return np.argwhere(ring) + np.array((rows.start, columns.start))


def require_volume_comparison(turn: Turn) -> Comparison:
    """Return the comparison of a turn that concerns one object in a volume.

    Raises:
        InvalidInput: the turn concerns an image or several objects.
    """
    comparison = turn.comparison
    if not isinstance(comparison, Comparison) or len(comparison.target.shape) != 3:
        raise InvalidInput(
            f"this user needs one object in a volume; target {turn.target.id} is something else"
        )
    return comparison
