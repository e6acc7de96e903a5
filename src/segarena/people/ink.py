"""What was drawn, as pixels: lines of a given width, of people and of simulated users alike."""

from __future__ import annotations

from collections.abc import Iterable

import cv2
import numpy as np

from segarena.prompts import Box, Click, Lasso, Scribble
from segarena.samples import Mask

_FINE = 4
"""Bits of a fraction of a pixel, as OpenCV counts."""


def draw_ink(prompts: Iterable[Click | Box | Scribble | Lasso], shape: tuple[int, int], width_px: float = 1.0) -> Mask:
    """Return the pixels that a pen of some width leaves, bool (H, W); nothing is drawn where there are no prompts.

    A click is a dot, a scribble its line with round ends, a lasso its closed outline, a box the outline of its pixels.
    Of positions with three coordinates the last two are drawn, whatever the plane or frame.

    Args:
        prompts: inside the picture.
        shape: (H, W).
        width_px: at least 1, rounded to whole pixels.
    """
    canvas = np.zeros(shape, dtype=np.uint8)
    for prompt in prompts:
        places = np.asarray(_places(prompt), dtype=np.float64)[:, :-3:-1]  # x, y
        points = np.repeat(places, 2, axis=0) if len(places) == 1 else places  # a line of one point would be nothing
        fixed = np.round(points * 2**_FINE).astype(np.int32)
        is_closed = isinstance(prompt, Box | Lasso)
        cv2.polylines(canvas, [fixed], is_closed, 1, thickness=max(1, round(width_px)), shift=_FINE)
    return canvas.view(np.bool_)


def _places(prompt: Click | Box | Scribble | Lasso) -> tuple[tuple[float, ...], ...]:
    if isinstance(prompt, Click):
        return (prompt.position,)
    if isinstance(prompt, Box):
        (top, left), (bottom, right) = prompt.start[-2:], (stop - 1 for stop in prompt.stop[-2:])
        return ((top, left), (top, right), (bottom, right), (bottom, left))
    return prompt.points
