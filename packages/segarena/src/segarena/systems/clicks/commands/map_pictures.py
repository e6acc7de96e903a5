"""Pictures of clicks over photographs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.files.whole import write_whole
from segarena.systems.clicks.crowd.instances import Instance

LONG_SIDE_PX = 1024
HEAT_SHARE = 0.6
"""How much of a picture is the map where it is highest."""
TITLE_PX = 26
GAP_PX = 6


def save_click_picture(
    path: Path,
    instance: Instance,
    values: NDArray[Any],
    models: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write the photograph with a click map as heat, the outline of the error, and the clicks as rings.

    Args:
        path: of the picture.
        instance: with its clicks.
        values: their map.
        models: further maps by name, each in a picture to the right, without clicks.

    Raises:
        StoreError: the file cannot be written.
    """
    first = _picture(instance, values)
    scale = first.shape[1] / values.shape[1]
    for row, column in instance.positions:
        place = (int(column * scale), int(row * scale))
        cv2.circle(first, place, 3, (255, 255, 0), 1, cv2.LINE_AA)
    pictures = {
        "clicks": first,
        **{name: _picture(instance, found) for name, found in (models or {}).items()},
    }
    if models:
        strip = np.hstack([_titled(picture, name) for name, picture in pictures.items()])
    else:
        strip = first
    write_whole(path, cv2.imencode(path.suffix, strip)[1].tobytes())


def _picture(instance: Instance, values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the photograph (BGR), at most 1024 pixels a side, with heat and outline."""
    scale = min(1.0, LONG_SIDE_PX / max(values.shape))
    size = (max(1, round(values.shape[1] * scale)), max(1, round(values.shape[0] * scale)))
    photograph = np.asarray(
        cv2.resize(instance.image[:, :, ::-1], size, interpolation=cv2.INTER_AREA)
    )
    heat = cv2.resize(np.asarray(values, dtype=np.float32), size, interpolation=cv2.INTER_AREA)
    heat = np.sqrt(heat / max(float(heat.max()), np.finfo(np.float32).tiny))
    colours = np.asarray(cv2.applyColorMap((255 * heat).astype(np.uint8), cv2.COLORMAP_INFERNO))
    share = HEAT_SHARE * heat[:, :, None]
    picture = np.ascontiguousarray((photograph * (1 - share) + colours * share).astype(np.uint8))
    error = cv2.resize(
        (instance.error >= 0.5).astype(np.uint8), size, interpolation=cv2.INTER_NEAREST
    )
    outlines, _ = cv2.findContours(error, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(picture, outlines, -1, (255, 255, 255), 1, cv2.LINE_AA)
    return picture


def _titled(picture: NDArray[np.uint8], name: str) -> NDArray[np.uint8]:
    """Return the picture with its name above and a gap beside it."""
    titled = cv2.copyMakeBorder(
        picture, TITLE_PX, 0, 0, GAP_PX, cv2.BORDER_CONSTANT, value=(255, 255, 255)
    )
    cv2.putText(
        titled, name, (2, TITLE_PX - 8), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (30, 30, 30), 1, cv2.LINE_AA
    )
    return np.asarray(titled, dtype=np.uint8)
