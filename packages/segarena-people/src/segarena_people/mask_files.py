"""Mask files of a collection: PNGs of 0 and 255 beside its table, of the size of the picture."""

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
"""Folders of goal masks, of corrected masks, and of rasterized strokes."""

_CACHED_MASKS = 16
"""Masks kept in memory: prompts about the same goal follow each other."""


class MaskFiles:
    """Reads masks below a folder on demand.

    Args:
        root: folder; names that lead out of it raise an error.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read = lru_cache(maxsize=_CACHED_MASKS)(self._decode)

    def read(self, folder: str, name: str, shape: tuple[int, int]) -> Mask:
        """Return a mask, bool (H, W), read-only.

        Raises:
            DatasetError: the name leads out of the folder.
            InvalidMask: the file is missing, damaged, not of `shape`, or holds other values than 0
                and 255.
        """
        return self._read(folder, name, shape)

    def _decode(self, folder: str, name: str, shape: tuple[int, int]) -> Mask:
        # The folder itself may be a link out of the root, too.
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
                f"{path}: expected only 0 and 255, got other values; threshold it first"
            )
        mask.flags.writeable = False
        return mask


def encode_mask_png(mask: Mask) -> bytes:
    """Encode a mask as a PNG of 0 and 255."""
    pixels = np.where(mask, np.uint8(255), np.uint8(0))
    return cv2.imencode(".png", pixels)[1].tobytes()
