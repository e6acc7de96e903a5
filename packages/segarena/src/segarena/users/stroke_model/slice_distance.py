"""How strokes on neighbouring slices hang together: whoever draws on one has just drawn on the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.users.stroke_model.surface import ComplexPoints, DrawingSurface, FloatArray

_MOST = 200
"""Points of a drawing that are looked at."""


def distances_to_strokes(
    drawings: Sequence[Sequence[ComplexPoints]], former: ComplexPoints, surface: DrawingSurface
) -> FloatArray:
    """Return how far drawings are from a former one, (n,), over the goal's size.

    The mean over points of either of the distance to the nearest point of the other.

    Args:
        drawings: lines of each, at least one point.
        former: points of what was drawn on another slice, (m,), at least one.
        surface: of the goal.
    """
    known = _some(former)
    found: list[float] = []
    for lines in drawings:
        distances = np.abs(_some(np.concatenate(lines))[:, None] - known)
        found.append(float(distances.min(axis=0).mean() + distances.min(axis=1).mean()) / 2)
    return np.array(found) / surface.size


def _some(points: ComplexPoints) -> ComplexPoints:
    return points[:: 1 + len(points) // _MOST]
