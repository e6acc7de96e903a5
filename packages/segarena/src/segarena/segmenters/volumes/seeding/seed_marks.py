"""Seeds from prompts: blocks marked as inside or outside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty
from segarena.prompts import Box, Click, Lasso, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Shape
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE, UNKNOWN
from segarena.segmenters.volumes.lifting.slice_prompts import lasso_region
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks

DrawnPrompt: TypeAlias = Click | Scribble | Lasso

_CORE = 0.25
"""Radii of the inside ellipsoid in the middle of a box, as a share of its edges."""


class Seeds:
    """Marks of blocks: `marks`, int8 (d, h, w), INSIDE, OUTSIDE or UNKNOWN; later drawing wins.

    Args:
        blocks: the window.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.marks = np.full(blocks.shape, UNKNOWN, np.int8)

    def draw_faces(self) -> None:
        """Mark the faces of the window inside the scan as OUTSIDE; all faces if no block is OUTSIDE yet."""
        for anywhere in (False, True):
            for axis, (s, n) in enumerate(
                zip(self.blocks.window, self.blocks.sample.shape, strict=True)
            ):
                layers = np.moveaxis(self.marks, axis, 0)
                # Two layers leave no block between the faces.
                if len(layers) > 2:
                    layers[0] = OUTSIDE if s.start > 0 or anywhere else layers[0]
                    layers[-1] = OUTSIDE if s.stop < n or anywhere else layers[-1]
            if (self.marks == OUTSIDE).any():
                return

    def draw_mask(self, mask: Mask) -> None:
        """Mark the inside and outside of a mask, except one block on either side of its border."""
        from scipy import ndimage

        share = self.blocks.means(mask)
        inside = ndimage.binary_erosion(share == 1, border_value=1)
        self.marks[ndimage.binary_erosion(share == 0, border_value=1)] = OUTSIDE
        self.marks[inside if inside.any() else share == share.max()] = INSIDE

    def draw_box(self, box: Box) -> None:
        """Mark the outside of a box, within its slice for a flat box, and the core in its middle."""
        steps = self.blocks.steps
        inner: list[slice] = []
        outer: list[slice] = []
        middle: list[float] = []
        edges = zip(box.start, box.stop, self.blocks.window, steps, strict=True)
        for start, stop, window, step in edges:
            first = max(0, (start - window.start) // step)
            # Rounded up, so that blocks that the box covers in part are inside.
            end = max(0, -(-(stop - window.start) // step))
            is_flat = stop - start == 1
            inner.append(slice(first, end))
            outer.append(slice(first, end) if is_flat else slice(None))
            middle.append((start + stop - 1) / 2)
        kept = self.marks[tuple(inner)].copy()
        self.marks[tuple(outer)] = OUTSIDE
        self.marks[tuple(inner)] = kept
        radii = _CORE * (np.asarray(box.stop) - box.start) / np.asarray(steps)
        for block in self.blocks.at(np.array([middle])):
            self._draw_ellipsoid(block, radii, INSIDE)

    def draw_points(self, prompts: Sequence[Prompt], radius_mm: float) -> None:
        """Mark clicks and lines with a ball around them, and the regions of lassos.

        Where balls overlap, the later prompt counts; clicked blocks always keep their own mark.
        """
        drawn = [prompt for prompt in prompts if isinstance(prompt, DrawnPrompt)]
        places = [self.blocks.at(prompt_points(prompt, self.blocks)) for prompt in drawn]
        values = [INSIDE if prompt.is_positive else OUTSIDE for prompt in drawn]
        radii = radius_mm / np.asarray(self.blocks.spacing_mm)
        for prompt, blocks, value in zip(drawn, places, values, strict=True):
            # The region of a lasso is exact, so it gets no ball.
            if not isinstance(prompt, Lasso):
                for block in blocks:
                    self._draw_ellipsoid(block, radii, value)
        for blocks, value in zip(places, values, strict=True):
            self.marks[tuple(blocks.T)] = value

    def _draw_ellipsoid(self, block: NDArray[np.intp], radii: NDArray[Any], value: int) -> None:
        """Mark the blocks whose centres lie in an ellipsoid around `block` with radii in blocks."""
        low = np.maximum(block - radii.astype(int), 0)
        high = np.minimum(block + radii.astype(int) + 1, self.blocks.shape)
        window = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        axes = np.ogrid[window]
        away = sum(
            ((axis - b) / max(r, 1e-9)) ** 2 for axis, b, r in zip(axes, block, radii, strict=True)
        )
        self.marks[window][np.asarray(away) <= 1] = value


def prompt_points(prompt: DrawnPrompt, blocks: Blocks) -> NDArray[np.float64]:
    """Return positions of a prompt in the scan, (n, 3), dense enough to hit every block on the way."""
    if isinstance(prompt, Click):
        return np.asarray([prompt.position], dtype=np.float64)
    if isinstance(prompt, Lasso):
        axis, index, region = lasso_region(prompt, blocks.sample.shape)
        return np.insert(np.argwhere(region), axis, index, axis=1).astype(np.float64)
    points = np.asarray(prompt.points, dtype=np.float64)
    pieces = [points[:1]]
    for first, last in pairwise(points):
        count = int(np.ceil(2 * np.abs((last - first) / np.asarray(blocks.steps)).max()))
        pieces.append(first + np.linspace(0, 1, count + 1)[1:, None] * (last - first))
    return np.concatenate(pieces)


def prompt_window(prompt: Prompt) -> Window | None:
    """Return the smallest window around a prompt; None for limits and for an empty mask."""
    match prompt:
        case Click():
            return tuple(slice(i, i + 1) for i in prompt.position)
        case Box():
            return tuple(slice(a, b) for a, b in zip(prompt.start, prompt.stop, strict=True))
        case Scribble() | Lasso():
            points = np.rint(np.asarray(prompt.points)).astype(int)
            ends = zip(points.min(axis=0).tolist(), points.max(axis=0).tolist(), strict=True)
            return tuple(slice(first, last + 1) for first, last in ends)
        case MaskPrompt():
            window = bounding_window(prompt.mask)
            return None if is_empty(window) else window
        case _:
            return None


def grow_by_mm(
    window: Window, reach_mm: Sequence[float], spacing_mm: Sequence[float], shape: Shape
) -> Window:
    """Grow a window by a reach in millimetres plus one voxel per axis, clipped to the scan."""
    margins = [int(reach / edge) + 1 for reach, edge in zip(reach_mm, spacing_mm, strict=True)]
    return tuple(
        slice(max(0, s.start - m), min(n, s.stop + m))
        for s, m, n in zip(window, margins, shape, strict=True)
    )
