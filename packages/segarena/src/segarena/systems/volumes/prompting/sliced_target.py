"""A target seen slice by slice; what several prompting schemes ask of it is found once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.balls import disk
from segarena.arrays.boxes import Window, bounding_window, from_window, grow_window
from segarena.arrays.slices import Pixel, snapped_centre, snapped_mean
from segarena.comparison import Comparison, Memory, Reference
from segarena.errors import InvalidInput
from segarena.prompts import Box, Position
from segarena.roles import Turn
from segarena.samples import Mask, Shape

_RING_START_PX = 2
_RING_WIDTH_PX = 3


class SlicedTarget:
    """The foreground slices of one target, on the smallest window that holds it.

    Positions and slice numbers are those of the whole volume; masks are crops.

    Args:
        reference: of a bool target (D, H, W).
    """

    def __init__(self, reference: Reference) -> None:
        self.shape: Shape = reference.shape
        self.spacing_mm: tuple[float, ...] = reference.spacing_mm or (1.0, 1.0, 1.0)
        self.window: Window = reference.window
        self._mask = reference.mask
        self._memory = Memory()

    @classmethod
    def of(cls, comparison: Comparison) -> SlicedTarget:
        """Return the one of this target, made when first asked for and kept with the target."""
        return comparison.reference.remember("sliced target", lambda: cls(comparison.reference))

    @cached_property
    def areas(self) -> dict[int, int]:
        """Pixels of each slice that has any, in ascending order of slices."""
        counts = [int(np.count_nonzero(plane)) for plane in self._mask[self.window]]
        return {plane + self.window[0].start: count for plane, count in enumerate(counts) if count}

    @cached_property
    def slices(self) -> tuple[int, ...]:
        """The slices with foreground, in ascending order."""
        return tuple(self.areas)

    def plane(self, index: int) -> Mask:
        """Return slice `index` of the target, cropped to the window."""
        return self._mask[index][self.window[1:]]

    def centre(self, index: int) -> Position:
        """Return the snapped centre of the box of the largest component in slice `index`, which has foreground."""
        return self._memory.remember(
            ("centre", index), lambda: self._position(index, snapped_centre)
        )

    def mean(self, index: int) -> Position:
        """Return the snapped mean pixel of the largest component in slice `index`, which has foreground."""
        return self._memory.remember(("mean", index), lambda: self._position(index, snapped_mean))

    def box(self, index: int) -> Box:
        """Return the smallest box around all foreground of slice `index`, which has some."""
        return self._memory.remember(("box", index), lambda: self._box(index))

    def around(self, index: int) -> NDArray[np.int64]:
        """Return the pixels, (n, 2), of slice `index` that lie about 3 to 5 pixels outside the foreground."""
        return self._memory.remember(("around", index), lambda: self._around(index))

    def _position(self, index: int, snap: Callable[..., Pixel | None]) -> Position:
        found = snap(self.plane(index), origin=(self.window[1].start, self.window[2].start))
        if found is None:
            raise InvalidInput(f"slice {index} has no foreground; ask for one of {self.slices}")
        return (index, *found)

    def _box(self, index: int) -> Box:
        rows, columns = from_window(bounding_window(self.plane(index)), self.window[1:])
        return Box((index, rows.start, columns.start), (index + 1, rows.stop, columns.stop))

    def _around(self, index: int) -> NDArray[np.int64]:
        box = self.box(index)
        tight = tuple(slice(a, b) for a, b in zip(box.start[1:], box.stop[1:], strict=True))
        rows, columns = grow_window(tight, _RING_START_PX + _RING_WIDTH_PX, self.shape[1:])
        near = cv2.dilate(
            np.ascontiguousarray(self._mask[index, rows, columns]).view(np.uint8),
            disk(_RING_START_PX),
        )
        ring = np.greater(cv2.dilate(near, disk(_RING_WIDTH_PX)), near)
        return np.argwhere(ring) + np.array((rows.start, columns.start))


def require_volume_comparison(turn: Turn) -> Comparison:
    """Return the comparison of a turn about one object in a volume.

    Raises:
        InvalidInput: the turn is about an image, or about several objects.
    """
    if not isinstance(turn.comparison, Comparison) or len(turn.comparison.target.shape) != 3:
        raise InvalidInput(
            f"this user prompts one object in a volume; target {turn.target.id} is none"
        )
    return turn.comparison
