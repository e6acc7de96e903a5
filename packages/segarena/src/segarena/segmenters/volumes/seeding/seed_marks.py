"""Seeds from prompts: blocks that are marked as inside or outside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window, is_empty
from segarena.prompts import Box, Click, Lasso, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Shape
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE, UNKNOWN
from segarena.segmenters.volumes.lifting.slice_prompts import lasso_region
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks

DrawnPrompt: TypeAlias = Click | Scribble | Lasso

_CORE = 0.25
"""Radii of the inside ellipsoid at the centre of a box, as a share of its edges."""


class Seeds:
    """Marks of blocks, int8 (d, h, w): INSIDE, OUTSIDE or UNKNOWN; later marks overwrite earlier ones.

    Args:
        blocks: the window.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.marks = np.full(blocks.shape, UNKNOWN, np.int8)

    def draw_faces(self) -> None:
        """Mark as OUTSIDE the faces of the window that are not faces of the scan.

        If no block of the window is OUTSIDE afterwards, mark all its faces. An axis with one or two
        layers has no faces to mark.
        """
        for anywhere in (False, True):
            for axis, (s, n) in enumerate(
                zip(self.blocks.window, self.blocks.sample.shape, strict=True)
            ):
                layers = np.moveaxis(self.marks, axis, 0)
                # A window with two layers has no block between its faces.
                if len(layers) > 2:
                    layers[0] = OUTSIDE if s.start > 0 or anywhere else layers[0]
                    layers[-1] = OUTSIDE if s.stop < n or anywhere else layers[-1]
            if (self.marks == OUTSIDE).any():
                return

    def draw_mask(self, mask: Mask) -> None:
        """Mark the inside and outside of a mask, leaving one block unmarked on each side of its border."""
        from scipy import ndimage

        share = self.blocks.means(mask)
        outside = ndimage.binary_erosion(share == 0, border_value=1)
        inside = ndimage.binary_erosion(share == 1, border_value=1)
        if not inside.any():
            # A mask thinner than three blocks would otherwise have no seed.
            inside = share == share.max()
        self.marks[outside] = OUTSIDE
        self.marks[inside] = INSIDE

    def draw_box(self, box: Box) -> None:
        """Mark the outside of a box (within its slice if the box is flat) and the core at its centre."""
        steps = self.blocks.steps
        inner: list[slice] = []
        outer: list[slice] = []
        middle: list[float] = []
        edges = zip(box.start, box.stop, self.blocks.window, steps, strict=True)
        for start, stop, window, step in edges:
            first = max(0, (start - window.start) // step)
            # Rounded up, so that blocks partly covered by the box count as inside it.
            end = max(0, -(-(stop - window.start) // step))
            # A flat box contains no information about other slices.
            is_flat = stop - start == 1
            inner.append(slice(first, end))
            outer.append(slice(first, end) if is_flat else slice(None))
            middle.append((start + stop - 1) / 2)
        kept = self.marks[tuple(inner)].copy()
        self.marks[tuple(outer)] = OUTSIDE
        self.marks[tuple(inner)] = kept
        # Most objects contain the centre of their box, but few contain its corners.
        radii = _CORE * (np.asarray(box.stop) - box.start) / np.asarray(steps)
        for block in self.blocks.at(np.array([middle])):
            self._draw_ellipsoid(block, radii, INSIDE)

    def draw_points(self, prompts: Sequence[Prompt], radius_mm: float) -> None:
        """Mark clicks and lines with a ball around them, and lassos with their region.

        Where balls overlap, the later prompt wins; clicked blocks always keep their own mark.
        """
        drawn = [prompt for prompt in prompts if isinstance(prompt, DrawnPrompt)]
        prompted: list[tuple[NDArray[np.intp], int]] = []
        radii = radius_mm / np.asarray(self.blocks.spacing_mm)
        for prompt in drawn:
            blocks = self.blocks.at(drawn_points(prompt, self.blocks))
            value = INSIDE if prompt.is_positive else OUTSIDE
            prompted.append((blocks, value))
            # The region of a lasso is exact, so it needs no ball.
            if not isinstance(prompt, Lasso):
                for block in blocks:
                    self._draw_ellipsoid(block, radii, value)
        # Drawn after all balls, because a later ball may cover an earlier click.
        for blocks, value in prompted:
            self.marks[tuple(blocks.T)] = value

    def _draw_ellipsoid(
        self,
        block: NDArray[np.intp],
        radii: NDArray[Any],
        value: int,
    ) -> None:
        """Mark the blocks whose centres are inside an ellipsoid around `block`, with radii in blocks."""
        reach = radii.astype(int)
        low = np.maximum(block - reach, 0)
        high = np.minimum(block + reach + 1, self.blocks.shape)
        window = tuple(slice(start, stop) for start, stop in zip(low, high, strict=True))
        squares = np.zeros(())
        for axis, centre, radius in zip(np.ogrid[window], block, radii, strict=True):
            squares = squares + ((axis - centre) / max(radius, 1e-9)) ** 2
        self.marks[window][squares <= 1] = value


def drawn_points(prompt: DrawnPrompt, blocks: Blocks) -> NDArray[np.float64]:
    """Return positions of a prompt in the scan, (n, 3), dense enough to include every block on the way."""
    if isinstance(prompt, Click):
        return np.asarray([prompt.position], dtype=np.float64)
    if isinstance(prompt, Lasso):
        axis, index, region = lasso_region(prompt, blocks.sample.shape)
        in_plane = np.argwhere(region)
        return np.insert(in_plane, axis, index, axis=1).astype(np.float64)
    points = np.asarray(prompt.points, dtype=np.float64)
    edges = np.asarray(blocks.steps)
    pieces = [points[:1]]
    for first, last in pairwise(points):
        step = last - first
        # Two positions per block, so that rounding does not skip a block.
        count = int(np.ceil(2 * np.abs(step / edges).max()))
        parts = np.linspace(0, 1, count + 1)[1:]
        pieces.append(first + parts[:, None] * step)
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
    window: Window,
    reach_mm: Sequence[float],
    spacing_mm: Sequence[float],
    shape: Shape,
) -> Window:
    """Grow a window by a reach in millimetres plus one voxel along each axis, clipped to the scan."""
    grown: list[slice] = []
    for extent, reach, edge, length in zip(window, reach_mm, spacing_mm, shape, strict=True):
        margin = int(reach / edge) + 1
        grown.append(slice(max(0, extent.start - margin), min(length, extent.stop + margin)))
    return tuple(grown)
