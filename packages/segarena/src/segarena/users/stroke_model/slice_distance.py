"""Distance between candidate drawings and the drawing on a neighbouring slice; people tend to repeat the latter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.users.stroke_model.drawing_surface import ComplexPoints, DrawingSurface, FloatArray

_MOST_POINTS = 200
"""Longer drawings are subsampled to about this many points, because all pairs of points are compared."""


def distances_to_strokes(
    drawings: Sequence[Sequence[ComplexPoints]],
    former: ComplexPoints,
    surface: DrawingSurface,
) -> FloatArray:
    """Return the symmetric mean distance between each drawing and an earlier one, (n,), divided by the goal's size.

    This is the mean distance from the points of each of the two to the nearest point of the other.

    Args:
        drawings: lines of each drawing, with at least one point.
        former: points drawn on another slice, (m,), at least one.
        surface: surface of the goal.
    """
    former_points = _subsample(former)
    distances: list[float] = []
    for lines in drawings:
        points = _subsample(np.concatenate(lines))
        pairs = np.abs(points[:, None] - former_points)
        from_former = pairs.min(axis=0).mean()
        to_former = pairs.min(axis=1).mean()
        distances.append(float(from_former + to_former) / 2)
    return np.array(distances) / surface.size


def _subsample(points: ComplexPoints) -> ComplexPoints:
    return points[:: 1 + len(points) // _MOST_POINTS]
