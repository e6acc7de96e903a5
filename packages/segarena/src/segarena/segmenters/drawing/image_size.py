"""Size of an image after shrinking it for processing."""

from __future__ import annotations

from segarena.samples import Shape


def shrunk_size(shape: Shape, most_px: int) -> tuple[int, int]:
    """Return the (width, height), in OpenCV's order, of an image after shrinking it to at most `most_px` pixels.

    Sizes are rounded half to even, with at least one pixel per axis. An image that is small enough
    keeps its size.
    """
    height, width = shape
    share = most_px / (height * width)
    scale = min(1.0, share**0.5)
    small_width = max(1, round(width * scale))
    small_height = max(1, round(height * scale))
    return small_width, small_height
