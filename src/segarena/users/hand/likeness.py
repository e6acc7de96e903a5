"""How drafts look to somebody who knows what people draw: what is measured of them, and which one is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.users.hand.surface import Floats, Surface

_SIDE_PX = 40
"""Drafts on goals of more than so many pixels' size are looked at in a smaller picture."""
_FINE = 4
_LEAST = 1e-3


class Board:
    """Where drafts on a surface are looked at: a picture of it, no larger than needed.

    Args:
        surface: what is drawn on.
    """

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._scale = min(1.0, _SIDE_PX / surface.size)
        self._shape = tuple(int(side * self._scale) + 2 for side in surface.sides)
        pixels = np.rint(surface.pixels * self._scale).astype(np.intp)
        self._goal = np.unique(pixels[:, 0] * self._shape[1] + pixels[:, 1])

    def marks(self, lines: Sequence[Floats]) -> list[float]:
        """Return what is seen of a draft: numbers about its lines, one pixel wide, on the board.

        Of these the first fourteen are those that `people compare` looks at, but for thinning.
        """
        surface, size = self._surface, self._surface.size * self._scale
        picture = self._picture(lines)
        rows, columns = np.nonzero(picture)
        depth = self._depth(rows, columns)
        around: Any = cv2.boxFilter(picture, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
        neighbours = around[rows, columns] - 1
        pieces = cv2.connectedComponents(picture, connectivity=8)[0] - 1
        height, width = int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1
        away: Any = cv2.distanceTransform(1 - picture, cv2.DIST_L2, 5)
        away = away.reshape(-1)[self._goal] / size
        count, off = len(rows), float(np.count_nonzero(depth <= 0)) / len(rows)
        row, column = surface.centre * self._scale
        ends, branching = int(np.count_nonzero(neighbours == 1)), float(np.count_nonzero(neighbours > 2)) / count
        reach_mean, reach_most = float(away.mean()), float(away.max())
        return [
            math.log(count / size), min(pieces, 8), float(depth.mean()), float(depth.min()), float(depth.std()),
            math.hypot(rows.mean() - row, columns.mean() - column) / size,
            height / (surface.extent[0] * self._scale), width / (surface.extent[1] * self._scale),
            math.log(count / math.hypot(height, width)), min(ends, 12), branching, off, reach_mean, reach_most,
            off > 0, math.sqrt(off), branching > 0, math.sqrt(branching), math.log(pieces),
            min(ends, 20) - 2 * min(pieces, 10), math.log(max(reach_mean, _LEAST)),
            math.log(max(reach_most, _LEAST)), bool(depth.min() <= 0),
        ]  # fmt: skip

    def _picture(self, lines: Sequence[Floats]) -> NDArray[np.uint8]:
        picture = np.zeros(self._shape, np.uint8)
        scale = self._scale * (1 << _FINE)
        courses = [np.rint(line[:, ::-1] * scale).astype(np.int32) for line in lines]
        cv2.polylines(picture, courses, isClosed=False, color=1, shift=_FINE)
        return picture

    def _depth(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        height, width = self._surface.sides
        rows = np.minimum((rows / self._scale + 0.5).astype(np.intp), height - 1)
        columns = np.minimum((columns / self._scale + 0.5).astype(np.intp), width - 1)
        return self._surface.inside[rows, columns] / np.float32(self._surface.depth)


def context(surface: Surface, habits: Floats) -> Floats:
    """Return what drafts have to be judged by besides their marks."""
    return np.concatenate([surface.shape, habits], dtype=np.float32)
