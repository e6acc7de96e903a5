"""Rasterization of prompts: lines of a given width, of people and of simulated users alike."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polylines import rasterize_polyline
from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.samples import Mask


def rasterize_prompts(
    prompts: Iterable[Click | Box | Scribble | Lasso], shape: tuple[int, int], width_px: float = 1.0
) -> Mask:
    """Rasterize prompts with a pen of some width, bool (H, W); without prompts nothing is drawn.

    A click is a dot, a scribble its line with round ends, a lasso its closed outline, a box the
    outline of its pixels. Of positions with three coordinates the last two are drawn; the plane or
    frame is ignored. A pixel is inked when its centre is at most half the width away from the line;
    lines of up to one pixel are those of `pixels_between`.

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
        # A dot is a segment from its point to itself.
        ends = corners[1:] if len(corners) > 1 else corners
        for start, stop in zip(corners, ends, strict=False):
            _draw_segment(ink, start, stop, width_px / 2)
    return ink


def _draw_segment(
    ink: Mask, start: NDArray[np.float64], stop: NDArray[np.float64], radius: float
) -> None:
    """Draw a straight line with round ends."""
    low = np.maximum(0, np.floor(np.minimum(start, stop) - radius)).astype(int)
    high = np.maximum(0, np.ceil(np.maximum(start, stop) + radius)).astype(int) + 1
    window = ink[low[0] : high[0], low[1] : high[1]]
    rows = (low[0] + np.arange(window.shape[0]) - start[0])[:, None]
    columns = low[1] + np.arange(window.shape[1]) - start[1]
    step = stop - start
    squared_length = max(float(step @ step), np.finfo(float).tiny)
    nearest = np.clip((rows * step[0] + columns * step[1]) / squared_length, 0, 1)
    row_offset = rows - nearest * step[0]
    column_offset = columns - nearest * step[1]
    window |= row_offset**2 + column_offset**2 <= radius**2


def _corners(prompt: Click | Box | Scribble | Lasso) -> tuple[tuple[float, ...], ...]:
    if isinstance(prompt, Click):
        return (prompt.position,)
    if isinstance(prompt, Box):
        (top, left), (bottom, right) = prompt.start[-2:], (stop - 1 for stop in prompt.stop[-2:])
        return ((top, left), (top, right), (bottom, right), (bottom, left), (top, left))
    if isinstance(prompt, Scribble):
        return prompt.points
    return (*prompt.points, prompt.points[0])
