"""The masks of a collection: files of 0 and 255 beside its table, of the size of the picture; written and read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from segarena.errors import InvalidMask
from segarena.files.images import read_size, read_values
from segarena.files.within import within
from segarena.samples import Mask

GOALS = "goals"
PREVIOUS = "previous"
RASTERS = "rasters"
"""The folders: what was asked for, what was corrected, what was drawn."""

_KEPT = 16
"""Masks that stay in memory: prompts about the same thing come one after the other."""


class MaskFiles:
    """Reads masks below a folder, when asked for.

    Args:
        root: the folder; names that lead out of it are refused.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read = lru_cache(maxsize=_KEPT)(self._decode)

    def read(self, folder: str, name: str, shape: tuple[int, int]) -> Mask:
        """Return a mask, bool (H, W), not to be written into.

        Raises:
            DatasetError: the name leads out of the folder.
            InvalidMask: it is missing, damaged, not of `shape`, or holds more than two values.
        """
        return self._read(folder, name, shape)

    def _decode(self, folder: str, name: str, shape: tuple[int, int]) -> Mask:
        path = within(within(self._root, folder), name)  # the folder itself may be a link, too
        size = read_size(path, error=InvalidMask)
        if size != shape:
            raise InvalidMask(
                f"{path}: expected the size of its picture, {shape[1]} x {shape[0]}, got {size[::-1]}"
            )
        values = read_values(path)
        mask = values == 255
        if not (mask | (values == 0)).all():
            raise InvalidMask(
                f"{path}: expected only 0 and 255, got other values; threshold it first"
            )
        mask.flags.writeable = False
        return mask


def encode_mask_png(mask: Mask) -> bytes:
    """Return a mask as a PNG of 0 and 255."""
    return cv2.imencode(".png", np.where(mask, np.uint8(255), np.uint8(0)))[1].tobytes()
