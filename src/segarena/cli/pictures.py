"""Pictures of clicks over photographs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.clickability.instances import Instance
from segarena.errors import InvalidInput

LONG_SIDE_PX = 1024
SHARE = 0.6
"""How much of a picture is the map where it is highest."""


def save_click_picture(path: Path, instance: Instance, values: NDArray[Any]) -> None:
    """Write the photograph with a click map as heat, the outline of the error, and the clicks as rings.

    Raises:
        InvalidInput: the file cannot be written.
    """
    scale = min(1.0, LONG_SIDE_PX / max(values.shape))
    size = (max(1, round(values.shape[1] * scale)), max(1, round(values.shape[0] * scale)))
    photograph = np.asarray(cv2.resize(instance.image[:, :, ::-1], size, interpolation=cv2.INTER_AREA))
    heat = cv2.resize(np.asarray(values, dtype=np.float32), size, interpolation=cv2.INTER_AREA)
    heat = np.sqrt(heat / max(float(heat.max()), np.finfo(np.float32).tiny))
    colours = np.asarray(cv2.applyColorMap((255 * heat).astype(np.uint8), cv2.COLORMAP_INFERNO))
    share = SHARE * heat[:, :, None]
    picture = np.ascontiguousarray((photograph * (1 - share) + colours * share).astype(np.uint8))
    error = cv2.resize((instance.error >= 0.5).astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(error, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(picture, outlines, -1, (255, 255, 255), 1, cv2.LINE_AA)
    for row, column in instance.positions:
        place = (int(column * scale), int(row * scale))
        cv2.circle(picture, place, 3, (255, 255, 0), 1, cv2.LINE_AA)
    if not cv2.imwrite(str(path), picture):
        raise InvalidInput(f"{path} cannot be written")
