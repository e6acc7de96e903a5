"""Mask files of a collection: PNG files with values 0 and 255, each the size of its picture."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from segarena.errors import InvalidMask
from segarena.files.images import read_mask_values, read_size
from segarena.files.safe_paths import safe_join
from segarena.samples import Mask

GOALS = "goals"
PREVIOUS = "previous"
RASTERS = "rasters"
"""Folders of goal masks, corrected masks, and rasterized strokes."""

# Number of masks kept in memory: consecutive prompts often share a goal.
_CACHED_MASKS = 16


class MaskFiles:
    """Reads masks from a folder when they are needed.

    Args:
        root: folder; a name that points outside it raises an error.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read = lru_cache(maxsize=_CACHED_MASKS)(self._decode)

    def read(
        self,
        folder: str,
        name: str,
        shape: tuple[int, int],
    ) -> Mask:
        """Read a mask, bool (H, W); the array is read-only.

        Raises:
            DatasetError: the name points outside the folder.
            InvalidMask: the file is missing, damaged, not of shape `shape`, or contains values other
                than 0 and 255.
        """
        return self._read(folder, name, shape)

    def _decode(
        self,
        folder: str,
        name: str,
        shape: tuple[int, int],
    ) -> Mask:
        # The subfolder itself may also be a symbolic link that leads out of the root.
        path = safe_join(safe_join(self._root, folder), name)
        size = read_size(path, error=InvalidMask)
        if size != shape:
            raise InvalidMask(
                f"{path}: expected the size of its picture, {shape[1]} x {shape[0]}, got {size[::-1]}"
            )
        values = read_mask_values(path)
        mask = values == 255
        if not (mask | (values == 0)).all():
            raise InvalidMask(
                f"{path}: expected only the values 0 and 255, got other values; threshold the mask first"
            )
        # The array is cached, so a caller that modified it would change the mask of later prompts.
        mask.flags.writeable = False
        return mask


def encode_mask_png(mask: Mask) -> bytes:
    """Encode a mask as a PNG with values 0 and 255."""
    pixels = np.where(mask, np.uint8(255), np.uint8(0))
    return cv2.imencode(".png", pixels)[1].tobytes()
