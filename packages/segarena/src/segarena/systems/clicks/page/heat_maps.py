"""Heat maps laid over photographs, as small PNG images with their own transparency."""

from __future__ import annotations

import io
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.arrays.boxes import window_shape
from segarena.reports.overlays import View, data_uri
from segarena.samples import Shape

COLOUR_LEVELS = 32
DENSITY_BLUR = 0.045
"""Standard deviation around a click in a density."""
MAX_OPACITY = 215
"""Of 255: the photograph shines through."""


def click_density(
    positions: Sequence[tuple[float, float]], shape: Shape, view: View
) -> NDArray[np.float64]:
    """Return how densely clicks lie, 1 where most: a Gaussian around each, its width `BLUR` of the view's longest side.

    No clicks give zeros.
    """
    counts = np.zeros(shape[:2])
    for row, column in positions:
        counts[int(row), int(column)] += 1
    sigma = max(1.0, DENSITY_BLUR * max(window_shape(view.window)))
    smooth = np.asarray(
        cv2.GaussianBlur(counts, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), dtype=np.float64
    )
    return smooth / smooth.max() if len(positions) else smooth


def heat_image(values: NDArray[np.float64], view: View, *, is_fading: bool) -> str:
    """Return the SVG image of values in 0..1 inside the view; 0 shows nothing.

    Args:
        values: float (H, W).
        view: what is seen of it.
        is_fading: low values are transparent, as suits a density; otherwise all are about as opaque.
    """
    crop = values[view.window]
    if view.scale < 1:
        size = (max(1, round(view.width)), max(1, round(view.height)))
        crop = np.asarray(cv2.resize(crop, size, interpolation=cv2.INTER_AREA))
    levels = np.clip(crop, 0, 1) * COLOUR_LEVELS
    # Of a density, traces would show where its Gaussians are cut off; of predictions even one in many shows.
    levels = (np.round(levels) if is_fading else np.ceil(levels - 1e-6)).astype(np.uint8)
    image = Image.fromarray(levels, mode="P")
    image.putpalette(_palette().ravel().tolist())
    share = np.linspace(0, 1, COLOUR_LEVELS + 1)
    opacity = MAX_OPACITY * (share**0.7 if is_fading else 0.6 + 0.3 * share)
    opacity[0] = 0
    buffer = io.BytesIO()
    image.save(
        buffer, format="PNG", optimize=True, transparency=bytes(opacity.astype(np.uint8).tolist())
    )
    return (
        f'<image width="{view.width:.1f}" height="{view.height:.1f}" preserveAspectRatio="none" '
        f'href="{data_uri(buffer.getvalue(), "png")}"/>'
    )


def heat_legend(low: str, high: str) -> str:
    """Return the HTML of a bar with the colours from low to high."""
    stops = ", ".join(f"rgb({r} {g} {b})" for r, g, b in _palette()[:: COLOUR_LEVELS // 8].tolist())
    return f'<span class="ramp">{low}<i style="background: linear-gradient(90deg, {stops})"></i>{high}</span>'


def _palette() -> NDArray[np.uint8]:
    """Return the colours of levels 0 to `LEVELS`, RGB: even steps of lightness, for any kind of colour vision."""
    steps = np.linspace(0, 255, COLOUR_LEVELS + 1).astype(np.uint8)[:, None]
    return np.asarray(cv2.applyColorMap(steps, cv2.COLORMAP_VIRIDIS)[:, 0, ::-1], dtype=np.uint8)
