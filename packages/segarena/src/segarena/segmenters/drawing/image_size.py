"""How small an image becomes before it is worked on."""

from __future__ import annotations

from segarena.samples import Shape


def shrunk_size(shape: Shape, most_px: int) -> tuple[int, int]:
    """Return (width, height), as OpenCV takes a size, of an image (H, W) shrunk to at most `most_px` pixels.

    Rounded half to even, at least one pixel along each axis; an image that is small enough keeps its size.
    """
    height, width = shape
    scale = min(1.0, (most_px / (height * width)) ** 0.5)
    return max(1, round(width * scale)), max(1, round(height * scale))
