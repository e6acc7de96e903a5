"""Vertices of polygons: float64 (N, 2), rows and columns, closed without repeating the first one.

Coordinates are continuous: pixel (r, c) is the square from (r, c) to (r + 1, c + 1).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput

Points: TypeAlias = NDArray[np.float64]

# Far larger than any image, and small enough that products of coordinates stay finite.
_LARGEST_COORDINATE = 1e9


def as_points(points: Any, *, name: str = "polygon") -> Points:
    """Convert `points` to float64 (N, 2), rows and columns.

    >>> as_points([(0, 0), (0, 2), (2, 2)]).shape
    (3, 2)

    Raises:
        InvalidInput: the shape is wrong, or a value is not a number, not finite or larger than any
            image.
    """
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidInput(
            f"{name}: expected numbers (N, 2), rows and columns, got something else"
        ) from cause
    if array.size == 0:
        return np.zeros((0, 2))
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(f"{name}: expected shape (N, 2), rows and columns, got {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name}: expected finite coordinates, got NaN or infinity")
    largest = np.abs(array).max()
    if largest > _LARGEST_COORDINATE:
        raise InvalidInput(
            f"{name}: expected coordinates of at most {_LARGEST_COORDINATE:g} pixels, got {largest:g}"
        )
    return array
