"""Prompts drawn into blocks: which ones the user has said to be in, and which out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.prompts import Box, Click, Lasso, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Shape
from segarena.segmenters.drawing.marks import INSIDE, OUTSIDE, UNKNOWN
from segarena.segmenters.volumes.lifting.slice_prompts import lasso_region
from segarena.segmenters.volumes.seeding.voxel_blocks import Blocks

DrawnPrompt: TypeAlias = Click | Scribble | Lasso

_CORE = 0.25
"""A box holds an ellipsoid of the object, of so much of its edges, in the middle."""


class Seeds:
    """What is known of each block: `marks`, int8 (d, h, w), INSIDE, OUTSIDE or UNKNOWN. Later drawing covers earlier.

    Args:
        blocks: the window.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.marks = np.full(blocks.shape, UNKNOWN, np.int8)

    def draw_faces(self) -> None:
        """Mark the faces of the window that lie within the scan OUTSIDE; all of them when nothing is by then."""
        for anywhere in (False, True):
            for axis, (s, n) in enumerate(
                zip(self.blocks.window, self.blocks.sample.shape, strict=True)
            ):
                layers = np.moveaxis(self.marks, axis, 0)
                if len(layers) > 2:  # two layers have nothing between them
                    layers[0] = OUTSIDE if s.start > 0 or anywhere else layers[0]
                    layers[-1] = OUTSIDE if s.stop < n or anywhere else layers[-1]
            if (self.marks == OUTSIDE).any():
                return

    def draw_mask(self, mask: Mask) -> None:
        """Mark what is in or out of a mask, but for a block on either side of its border."""
        from scipy import ndimage

        share = self.blocks.means(mask)
        inside = ndimage.binary_erosion(share == 1, border_value=1)
        self.marks[ndimage.binary_erosion(share == 0, border_value=1)] = OUTSIDE
        self.marks[inside if inside.any() else share == share.max()] = INSIDE

    def draw_box(self, box: Box) -> None:
        """Mark what a box leaves out, in its slice or, of a box of the volume, everywhere; and its core."""
        steps = self.blocks.steps
        inner = tuple(
            slice(max(0, (a - s.start) // step), max(0, -(-(b - s.start) // step)))
            for a, b, s, step in zip(box.start, box.stop, self.blocks.window, steps, strict=True)
        )
        flat = [b - a == 1 for a, b in zip(box.start, box.stop, strict=True)]
        plane = tuple(
            here if is_flat else slice(None) for here, is_flat in zip(inner, flat, strict=True)
        )
        kept = self.marks[inner].copy()
        self.marks[plane] = OUTSIDE
        self.marks[inner] = kept
        middle = np.array([[(a + b - 1) / 2 for a, b in zip(box.start, box.stop, strict=True)]])
        radii = _CORE * (np.asarray(box.stop) - box.start) / np.asarray(steps)
        for block in self.blocks.at(middle):
            self._draw_ellipsoid(block, radii, INSIDE)

    def draw_points(self, prompts: Sequence[Prompt], radius_mm: float) -> None:
        """Mark clicks and lines with a ball around them, and what lassos enclose.

        Of prompts whose balls meet the later one counts; the clicked blocks themselves always go with their click.
        """
        drawn = [prompt for prompt in prompts if isinstance(prompt, DrawnPrompt)]
        places = [self.blocks.at(prompt_points(prompt, self.blocks)) for prompt in drawn]
        values = [INSIDE if prompt.is_positive else OUTSIDE for prompt in drawn]
        radii = radius_mm / np.asarray(self.blocks.spacing_mm)
        for prompt, blocks, value in zip(drawn, places, values, strict=True):
            if not isinstance(prompt, Lasso):  # what a lasso encloses is meant to the pixel
                for block in blocks:
                    self._draw_ellipsoid(block, radii, value)
        for blocks, value in zip(places, values, strict=True):
            self.marks[tuple(blocks.T)] = value

    def _draw_ellipsoid(self, block: NDArray[np.intp], radii: NDArray[Any], value: int) -> None:
        """Mark the blocks whose middles lie within `radii` blocks of that of `block`."""
        low = np.maximum(block - radii.astype(int), 0)
        high = np.minimum(block + radii.astype(int) + 1, self.blocks.shape)
        axes = np.ogrid[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        away = sum(
            ((axis - b) / max(r, 1e-9)) ** 2 for axis, b, r in zip(axes, block, radii, strict=True)
        )
        self.marks[tuple(slice(a, b) for a, b in zip(low, high, strict=True))][
            np.asarray(away) <= 1
        ] = value


def prompt_points(prompt: DrawnPrompt, blocks: Blocks) -> NDArray[np.float64]:
    """Return positions of a prompt in the scan, (n, 3), so near to each other that no block between them is missed."""
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
    """Return the smallest window that holds what was drawn; None for limits, and for an empty mask."""
    from segarena.arrays.boxes import bounding_window, is_empty

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
    """Return `window` with a reach in millimetres and one voxel more along each axis, cut at the scan."""
    margins = [int(reach / edge) + 1 for reach, edge in zip(reach_mm, spacing_mm, strict=True)]
    return tuple(
        slice(max(0, s.start - m), min(n, s.stop + m))
        for s, m, n in zip(window, margins, shape, strict=True)
    )
