"""How drafts look to somebody who knows what people draw: what is measured of them, and by what they are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.surface import ComplexPoints, DrawingSurface, FloatArray

_SIDE_PX = 40
"""Drafts on goals of more than so many pixels' size are looked at in a smaller picture."""
_FINE = 4
_LEAST = 1e-3
_SHARP = math.radians(50)


class CandidateMeter:
    """Where drafts on a surface are looked at: a picture of it, no larger than needed.

    Args:
        surface: what is drawn on.
    """

    def __init__(self, surface: DrawingSurface) -> None:
        self._surface = surface
        self._scale = scale = min(1.0, _SIDE_PX / surface.size)
        height, width = surface.sides
        rows, columns = (
            (np.arange(int(side * scale) + 2) / scale + 0.5).astype(np.intp)
            for side in (height, width)
        )
        shown = np.ix_(np.minimum(rows, height - 1), np.minimum(columns, width - 1))
        self._depth = surface.inside[shown] / np.float32(surface.depth)
        across = np.rint(surface.pixels.real * scale)
        down = np.rint(surface.pixels.imag * scale)
        self._goal = np.unique((down * len(columns) + across).astype(np.intp))

    def marks(self, lines: Sequence[ComplexPoints]) -> list[float]:
        """Return what is seen of a draft: numbers about its lines, one pixel wide, on the board, and about its bends.

        Most are what `segarena people compare` looks at, but for thinning.
        """
        surface = self._surface
        size = self._surface.size * self._scale
        picture = self._picture(lines)
        flat = np.flatnonzero(picture)
        rows, columns = np.divmod(flat, picture.shape[1])
        count = len(flat)
        depth = self._depth.ravel()[flat]
        around: Any = cv2.boxFilter(
            picture, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT
        )
        neighbours = np.bincount(around.ravel()[flat], minlength=10)[:10]
        pieces = cv2.connectedComponents(picture, connectivity=8)[0] - 1
        height = int(rows[-1] - rows[0]) + 1
        width = int(columns.max() - columns.min()) + 1
        away: Any = cv2.distanceTransform(1 - picture, cv2.DIST_L2, 5).ravel()[self._goal]
        middle = complex(columns.mean(), rows.mean()) - surface.centre * self._scale
        # A pixel counts itself among those around it.
        ends = int(neighbours[2])
        branching = float(neighbours[4:].sum()) / count
        mean = float(depth.mean())
        least = float(depth.min())
        off = float(np.count_nonzero(depth <= 0)) / count
        reach_mean = max(float(away.mean()) / size, _LEAST)
        reach_most = max(float(away.max()) / size, _LEAST)
        spread = math.sqrt(max(0.0, float(depth @ depth) / count - mean**2))
        box = surface.extent * self._scale
        tall = height / float(box[1])
        wide = width / float(box[0])
        broad = cv2.dilate(picture, np.ones((3, 3), np.uint8))
        close = math.log(np.count_nonzero(broad) / count)
        loose = min(ends, 20) - 2 * min(pieces, 10)
        return [
            math.log(count / size), min(pieces, 8), math.log(pieces),
            mean, least, least <= 0, spread, abs(middle) / size,
            tall, wide, math.log(count / math.hypot(height, width)), min(ends, 12), loose,
            branching, math.sqrt(branching), branching > 0, off, math.sqrt(off), off > 0,
            reach_mean, reach_most, math.log(reach_mean), math.log(reach_most), close, *_bends(lines),
        ]  # fmt: skip

    def _picture(self, lines: Sequence[ComplexPoints]) -> NDArray[np.uint8]:
        picture = np.zeros(self._depth.shape, np.uint8)
        scale = np.float32(self._scale * (1 << _FINE))
        for line in lines:
            # OpenCV takes (x, y), with so many bits of each below the point; of a single one it draws nothing.
            twice = np.concatenate([line, line[-1:]]).astype(np.complex64).view(np.float32)
            corners = np.rint(twice * scale).astype(np.int32).reshape(-1, 1, 2)
            cv2.polylines(picture, [corners], isClosed=False, color=1, shift=_FINE)
        return picture


def _bends(lines: Sequence[ComplexPoints]) -> tuple[float, float]:
    """Return by how much lines turn from step to step, mean in radians, and how often sharply."""
    steps = [np.diff(line) for line in lines]
    turns = np.abs(np.angle(np.concatenate([each[1:] * each[:-1].conj() for each in steps])))
    count = max(1, len(turns))
    return float(turns.sum()) / count, np.count_nonzero(turns > _SHARP) / count


def context_features(surface: DrawingSurface, habits: FloatArray) -> FloatArray:
    """Return what drafts have to be judged by besides their marks."""
    return np.concatenate([surface.shape, habits], dtype=np.float32)
