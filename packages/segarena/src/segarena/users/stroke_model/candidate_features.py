"""Features of candidate drawings, from which a network predicts how likely people are to draw them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.drawing_surface import ComplexPoints, DrawingSurface, FloatArray

_RASTER_SIZE_PX = 40
"""Goal size, in pixels, up to which candidates are measured at full resolution; larger goals use a coarser raster."""
_SUBPIXEL_BITS = 4
_LEAST_DISTANCE = 1e-3
"""Lower bound of distances, which keeps their logarithms finite."""
_SHARP_TURN = math.radians(50)
_MOST_PIECES = 8
_MOST_ENDS = 12
_LOOSE_ENDS_CAP = 20
_LOOSE_PIECES_CAP = 10


class CandidateMeter:
    """Measures candidates on one surface, in a raster that is no finer than needed.

    Args:
        surface: surface on which candidates were drawn.
    """

    def __init__(self, surface: DrawingSurface) -> None:
        self._surface = surface
        scale = min(1.0, _RASTER_SIZE_PX / surface.size)
        self._scale = scale
        height, width = surface.sides
        rows = _source_pixels(height, scale)
        columns = _source_pixels(width, scale)
        sampled_depths = surface.inside[np.ix_(rows, columns)]
        self._depth = sampled_depths / np.float32(surface.depth)
        raster_columns = np.rint(surface.pixels.real * scale)
        raster_rows = np.rint(surface.pixels.imag * scale)
        flat = raster_rows * len(columns) + raster_columns
        self._goal_pixels = np.unique(flat.astype(np.intp))

    def features(self, lines: Sequence[ComplexPoints]) -> list[float]:
        """Return the features of a candidate, measured on its one-pixel lines and their turns.

        Most of them are also measured by `segarena people compare`, which thins strokes first;
        lines are already thin here.
        """
        surface = self._surface
        size = surface.size * self._scale
        picture = self._rasterize(lines)
        flat = np.flatnonzero(picture)
        rows, columns = np.divmod(flat, picture.shape[1])
        count = len(flat)
        height = int(rows[-1] - rows[0]) + 1
        width = int(columns.max() - columns.min()) + 1
        box_width, box_height = (surface.extent * self._scale).tolist()
        centroid = complex(columns.mean(), rows.mean())
        centroid_offset = centroid - surface.centre * self._scale
        component_count, _ = cv2.connectedComponents(picture, connectivity=8)
        pieces = component_count - 1  # without the background
        around: Any = cv2.boxFilter(
            picture, -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT
        )
        neighbours = np.bincount(around.ravel()[flat], minlength=10)[:10]
        # The box filter counts each pixel among its own neighbours, so an end has 2 and a branch 4
        # or more.
        ends = int(neighbours[2])
        branch_share = float(neighbours[4:].sum()) / count
        depth = self._depth.ravel()[flat]
        mean_depth = float(depth.mean())
        least_depth = float(depth.min())
        depth_variance = float(depth @ depth) / count - mean_depth**2
        off_goal_share = float(np.count_nonzero(depth <= 0)) / count
        # OpenCV measures the distance to the nearest zero pixel, so the lines must be the zeros.
        empty = 1 - picture
        distance: Any = cv2.distanceTransform(empty, cv2.DIST_L2, cv2.DIST_MASK_5).ravel()
        goal_distance = distance[self._goal_pixels]
        mean_distance = max(float(goal_distance.mean()) / size, _LEAST_DISTANCE)
        most_distance = max(float(goal_distance.max()) / size, _LEAST_DISTANCE)
        dilated = cv2.dilate(picture, np.ones((3, 3), np.uint8))
        mean_turn, sharp_share = _turn_features(lines)
        # The order is that of the trained network's input columns, so it must not change.
        return [
            math.log(count / size),
            min(pieces, _MOST_PIECES),
            math.log(pieces),
            mean_depth,
            least_depth,
            least_depth <= 0,
            math.sqrt(max(0.0, depth_variance)),
            abs(centroid_offset) / size,
            height / box_height,
            width / box_width,
            math.log(count / math.hypot(height, width)),
            min(ends, _MOST_ENDS),
            min(ends, _LOOSE_ENDS_CAP) - 2 * min(pieces, _LOOSE_PIECES_CAP),
            branch_share,
            math.sqrt(branch_share),
            branch_share > 0,
            off_goal_share,
            math.sqrt(off_goal_share),
            off_goal_share > 0,
            mean_distance,
            most_distance,
            math.log(mean_distance),
            math.log(most_distance),
            math.log(np.count_nonzero(dilated) / count),
            mean_turn,
            sharp_share,
        ]

    def _rasterize(self, lines: Sequence[ComplexPoints]) -> NDArray[np.uint8]:
        picture = np.zeros(self._depth.shape, np.uint8)
        scale = np.float32(self._scale * (1 << _SUBPIXEL_BITS))
        for line in lines:
            # OpenCV takes (x, y) as fixed-point numbers, and draws nothing for a line with a single
            # point.
            doubled_end = np.concatenate([line, line[-1:]]).astype(np.complex64)
            coordinates = np.rint(doubled_end.view(np.float32) * scale)
            corners = coordinates.astype(np.int32).reshape(-1, 1, 2)
            cv2.polylines(picture, [corners], isClosed=False, color=1, shift=_SUBPIXEL_BITS)
        return picture


def _source_pixels(side: int, scale: float) -> NDArray[np.intp]:
    """Return the surface pixel of each raster pixel along one side."""
    raster_pixels = np.arange(int(side * scale) + 2)
    pixels = (raster_pixels / scale + 0.5).astype(np.intp)
    return np.minimum(pixels, side - 1)


def _turn_features(lines: Sequence[ComplexPoints]) -> tuple[float, float]:
    """Return the mean turn between steps in radians, and the share of sharp turns."""
    turns_of_lines: list[ComplexPoints] = []
    for line in lines:
        steps = np.diff(line)
        # The angle of a product with a complex conjugate is the difference of the two angles.
        turns_of_lines.append(steps[1:] * steps[:-1].conj())
    all_turns = np.concatenate(turns_of_lines)
    turns = np.abs(np.angle(all_turns))
    count = max(1, len(turns))
    mean_turn = float(turns.sum()) / count
    sharp_share = np.count_nonzero(turns > _SHARP_TURN) / count
    return mean_turn, sharp_share


def context_features(surface: DrawingSurface, habits: FloatArray) -> FloatArray:
    """Return the inputs of the likelihood network that all candidates share: the goal's shape and the person."""
    return np.concatenate([surface.shape, habits], dtype=np.float32)
