"""Heat maps over photographs, as small PNG images with transparency."""

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
"""Standard deviation of the Gaussian around a click, as a share of the view's longer side."""
MAX_OPACITY = 215
"""Maximum opacity, of 255, so that the photograph stays visible."""


def click_density(
    positions: Sequence[tuple[float, float]],
    shape: Shape,
    view: View,
) -> NDArray[np.float64]:
    """Return the density of clicks as a sum of Gaussians, scaled to a maximum of 1.

    Without clicks, the density is zero everywhere.
    """
    counts = np.zeros(shape[:2])
    for row, column in positions:
        counts[int(row), int(column)] += 1
    sigma_px = max(1.0, DENSITY_BLUR * max(window_shape(view.window)))
    blurred = cv2.GaussianBlur(counts, (0, 0), sigma_px, borderType=cv2.BORDER_CONSTANT)
    density = np.asarray(blurred, dtype=np.float64)
    return density / density.max() if len(positions) else density


def heat_image(
    values: NDArray[np.float64],
    view: View,
    *,
    is_fading: bool,
) -> str:
    """Return the values (0..1) inside the view as a PNG data URI; the value 0 is transparent.

    Args:
        values: float (H, W).
        view: the visible part of the image.
        is_fading: if True, low values are transparent, which is suitable for densities; if False,
            all values above 0 are about equally opaque.
    """
    crop = values[view.window]
    if view.scale < 1:
        size = (max(1, round(view.width)), max(1, round(view.height)))
        crop = np.asarray(cv2.resize(crop, size, interpolation=cv2.INTER_AREA))
    scaled = np.clip(crop, 0, 1) * COLOUR_LEVELS
    share = np.linspace(0, 1, COLOUR_LEVELS + 1)
    if is_fading:
        # Rounded to the nearest level, because otherwise the truncated tails of the Gaussians would
        # be visible.
        levels = np.round(scaled)
        opacity = MAX_OPACITY * share**0.7
    else:
        # Rounded up, so that even a single prediction among many is visible.
        levels = np.ceil(scaled - 1e-6)
        opacity = MAX_OPACITY * (0.6 + 0.3 * share)
    opacity[0] = 0
    image = Image.fromarray(levels.astype(np.uint8), mode="P")
    image.putpalette(_palette().ravel().tolist())
    transparency = bytes(opacity.astype(np.uint8).tolist())
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True, transparency=transparency)
    return data_uri(buffer.getvalue(), "png")


def heat_legend(low: str, high: str) -> str:
    """Return the HTML of a colour bar with labels for its low and high ends."""
    colours = _palette()[:: COLOUR_LEVELS // 8].tolist()
    stops = ", ".join(f"rgb({r} {g} {b})" for r, g, b in colours)
    bar = f'<i style="background: linear-gradient(90deg, {stops})"></i>'
    return f'<span class="ramp">{low}{bar}{high}</span>'


def _palette() -> NDArray[np.uint8]:
    """Return the RGB colours for the levels 0 to `COLOUR_LEVELS`.

    Lightness increases in even steps, so that the palette can be read with any kind of colour
    vision.
    """
    steps = np.linspace(0, 255, COLOUR_LEVELS + 1).astype(np.uint8)[:, None]
    colours_bgr = cv2.applyColorMap(steps, cv2.COLORMAP_VIRIDIS)[:, 0]
    return np.asarray(colours_bgr[:, ::-1], dtype=np.uint8)
