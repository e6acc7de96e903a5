"""Rasterization of prompts with a given line width, for people and simulated users alike."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polylines import rasterize_polyline
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.samples import Mask


def rasterize_prompts(
    prompts: Iterable[Click | Box | Scribble | Lasso],
    shape: tuple[int, int],
    width_px: float = 1.0,
) -> Mask:
    """Draw prompts with a pen of the given width, bool (H, W); all False without prompts.

    A click is drawn as a dot, a scribble as a line with round ends, a lasso as its closed outline,
    and a box as the outline of its pixels. For positions with three coordinates the last two are
    used; the slice or frame is ignored. A pixel is inked if the distance of its centre from the
    line is at most half the width; lines of at most one pixel follow `rasterize_polyline`.

    Args:
        prompts: prompts inside the picture.
        shape: (H, W).
        width_px: width of the pen.
    """
    ink = np.zeros(shape, dtype=np.bool_)
    for prompt in prompts:
        corners = np.asarray(_corners(prompt), dtype=np.float64)[:, -2:]
        if width_px <= 1:
            pixels = np.floor(corners + 0.5).astype(np.int64)
            ink[tuple(rasterize_polyline(pixels).T)] = True
            continue
        # A dot is drawn as a segment from its point to itself.
        if len(corners) > 1:
            ends = corners[1:]
        else:
            ends = corners
        for start, stop in zip(corners, ends, strict=False):
            _draw_segment(ink, start, stop, width_px / 2)
    return ink


def _draw_segment(
    ink: Mask,
    start: NDArray[np.float64],
    stop: NDArray[np.float64],
    radius: float,
) -> None:
    """Draw a straight line with round ends."""
    lowest = np.floor(np.minimum(start, stop) - radius)
    highest = np.ceil(np.maximum(start, stop) + radius)
    low = np.maximum(0, lowest).astype(int)
    high = np.maximum(0, highest).astype(int) + 1
    # Compute only the pixels near the line: pictures are large and strokes are thin.
    window = ink[low[0] : high[0], low[1] : high[1]]
    rows = (low[0] + np.arange(window.shape[0]) - start[0])[:, None]
    columns = low[1] + np.arange(window.shape[1]) - start[1]
    step = stop - start
    # A dot has length 0; the lower bound avoids dividing by it.
    squared_length = max(float(step @ step), np.finfo(float).tiny)
    # Position of each pixel along the segment, 0 at its start and 1 at its end. Clipping to this
    # range makes an end point the nearest point for pixels beyond it, which rounds the ends.
    along = (rows * step[0] + columns * step[1]) / squared_length
    nearest = np.clip(along, 0, 1)
    row_offset = rows - nearest * step[0]
    column_offset = columns - nearest * step[1]
    window |= row_offset**2 + column_offset**2 <= radius**2


def _corners(prompt: Click | Box | Scribble | Lasso) -> tuple[tuple[float, ...], ...]:
    if isinstance(prompt, Click):
        return (prompt.position,)
    if isinstance(prompt, Box):
        top, left = prompt.start[-2:]
        # The stop of a box is exclusive; its outline runs through the last pixels inside.
        bottom = prompt.stop[-2] - 1
        right = prompt.stop[-1] - 1
        return (
            (top, left),
            (top, right),
            (bottom, right),
            (bottom, left),
            (top, left),
        )
    if isinstance(prompt, Scribble):
        return prompt.points
    return (*prompt.points, prompt.points[0])
