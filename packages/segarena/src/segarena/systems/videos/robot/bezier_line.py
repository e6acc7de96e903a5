"""Fourth stage: a smooth line along a path of pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.lines import Points, bezier, pixels_between
from segarena.samples import Mask

_POINTS_PER_PIXEL = 2


def smooth_line(path: NDArray[np.int64], max_points: int) -> Points:
    """Return one Bezier curve of `max_points` points with every pixel of `path` as a control point, from its end back.

    A path of more pixels than that is returned as it is. So many control points make the line smooth and let it cut
    bends, and off what it should be on: see `guided_line`.

    Args:
        path: (N, 2), N at least 1, as (row, column).
        max_points: at least 2.
    """
    if len(path) > max_points:
        return path.astype(np.float64)
    return bezier(path[::-1].astype(np.float64), max_points)


def guided_line(path: NDArray[np.int64], max_points: int, allowed: Mask) -> Points:
    """Return a line along `path` that is nowhere off `allowed`, as smooth as that lets it be.

    One Bezier curve where it stays on `allowed`; otherwise the path is cut in the middle, and so on in each half, down
    to steps from pixel to pixel. Neither the points nor the pixels between them are off. Two points a pixel.

    Args:
        path: (N, 2), N at least 1, as (row, column); every pixel in `allowed`.
        max_points: how many points there are at most, as long as two per piece are enough.
        allowed: bool (H, W).
    """
    per_pixel = min(_POINTS_PER_PIXEL, max_points / len(path))
    pieces = _pieces(path[::-1].astype(np.float64), per_pixel, allowed)
    return np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])


def points_on_mask(points: Points, mask: Mask) -> NDArray[np.bool_]:
    """Return for each point, (N, 2) inside the frame, whether its pixel is on `mask`."""
    return mask[nearest_pixels(points)]


def nearest_pixels(points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns of the pixels that points are nearest to; halfway, of the later pixel."""
    rows, columns = np.floor(points + 0.5).astype(np.int64).T
    return rows, columns


def _pieces(path: Points, per_pixel: float, allowed: Mask) -> list[Points]:
    if len(path) <= 2:
        return [path]
    curve = bezier(path, max(2, round(per_pixel * len(path))))
    drawn = pixels_between(np.stack(nearest_pixels(curve), axis=1))
    if allowed[tuple(drawn.T)].all():
        return [curve]
    middle = len(path) // 2
    return [
        *_pieces(path[: middle + 1], per_pixel, allowed),
        *_pieces(path[middle:], per_pixel, allowed),
    ]
