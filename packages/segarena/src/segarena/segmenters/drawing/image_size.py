"""Size of an image that is shrunk for processing."""

from __future__ import annotations

from segarena.samples import Shape


def shrunk_size(shape: Shape, most_px: int) -> tuple[int, int]:
    """Return the size (width, height), in OpenCV's order, of an image with at most `most_px` pixels.

    Rounded half to even, at least one pixel per axis; a small enough image keeps its size.
    """
    height, width = shape
    scale = min(1.0, (most_px / (height * width)) ** 0.5)
    return max(1, round(width * scale)), max(1, round(height * scale))
