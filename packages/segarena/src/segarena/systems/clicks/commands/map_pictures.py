"""Pictures of click maps on photographs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.files.atomic_write import write_atomic
from segarena.systems.clicks.crowd.instances import Instance

LONG_SIDE_PX = 1024
HEAT_SHARE = 0.6
"""Opacity of the heat map at its maximum."""
TITLE_PX = 26
GAP_PX = 6


def save_click_picture(
    path: Path,
    instance: Instance,
    values: NDArray[Any],
    models: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write a photograph with its click map as heat, the error's outline, and the clicks as rings.

    Args:
        path: the file to write.
        instance: the instance to draw, with its clicks.
        values: the click map of the instance.
        models: maps of click models by name; each is drawn in a further panel to the right, without
            clicks.

    Raises:
        StoreError: the file cannot be written.
    """
    picture = _heat_picture(instance, values)
    scale = picture.shape[1] / values.shape[1]
    for row, column in instance.positions:
        centre = (int(column * scale), int(row * scale))
        cv2.circle(picture, centre, 3, (255, 255, 0), 1, cv2.LINE_AA)
    if models:
        panels = [_add_title(picture, "clicks")]
        for name, model_map in models.items():
            panels.append(_add_title(_heat_picture(instance, model_map), name))
        picture = np.hstack(panels)
    encoded = cv2.imencode(path.suffix, picture)[1]
    write_atomic(path, encoded.tobytes())


def _heat_picture(instance: Instance, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the photograph (BGR) with heat and outline, reduced to at most 1024 pixels a side."""
    scale = min(1.0, LONG_SIDE_PX / max(values.shape))
    width = max(1, round(values.shape[1] * scale))
    height = max(1, round(values.shape[0] * scale))
    size = (width, height)
    image_bgr = instance.image[:, :, ::-1]  # OpenCV writes blue first
    photograph = np.asarray(cv2.resize(image_bgr, size, interpolation=cv2.INTER_AREA))
    density = np.asarray(values, dtype=np.float32)
    heat = cv2.resize(density, size, interpolation=cv2.INTER_AREA)
    # The lower limit avoids division by zero for an empty map.
    highest = max(float(heat.max()), np.finfo(np.float32).tiny)
    # The square root makes low densities visible.
    heat = np.sqrt(heat / highest)
    levels = (255 * heat).astype(np.uint8)
    colours = np.asarray(cv2.applyColorMap(levels, cv2.COLORMAP_INFERNO))
    opacity = HEAT_SHARE * heat[:, :, None]
    blended = photograph * (1 - opacity) + colours * opacity
    picture = np.ascontiguousarray(blended.astype(np.uint8))
    is_error = (instance.error >= 0.5).astype(np.uint8)
    error = cv2.resize(is_error, size, interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(error, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(picture, outlines, -1, (255, 255, 255), 1, cv2.LINE_AA)
    return picture


def _add_title(picture: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """Return the picture with its title above it and a gap to its right."""
    white = (255, 255, 255)
    titled = cv2.copyMakeBorder(picture, TITLE_PX, 0, 0, GAP_PX, cv2.BORDER_CONSTANT, value=white)
    origin = (2, TITLE_PX - 8)
    grey = (30, 30, 30)
    cv2.putText(titled, name, origin, cv2.FONT_HERSHEY_SIMPLEX, 0.6, grey, 1, cv2.LINE_AA)
    return np.asarray(titled, dtype=np.uint8)
