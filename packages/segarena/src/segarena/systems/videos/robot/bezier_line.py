"""Fourth stage of the robot: a smooth line along a path of pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polylines import Points, bezier_curve, rasterize_polyline
from segarena.samples import Mask

_POINTS_PER_PIXEL = 2


def smooth_line(path: NDArray[np.int64], max_points: int) -> Points:
    """Return a Bezier curve of `max_points` points with every pixel of `path` as a control point, in reverse order.

    A path with more than `max_points` pixels is returned unchanged. Using every pixel as a control
    point makes the line smooth, but the line cuts corners and can leave its target; `guided_line`
    avoids this.

    Args:
        path: (N, 2), N at least 1, as (row, column).
        max_points: at least 2.
    """
    # As in the published robot, which returns a long path without resampling it.
    if len(path) > max_points:
        return path.astype(np.float64)
    control_points = path[::-1].astype(np.float64)
    return bezier_curve(control_points, max_points)


def guided_line(
    path: NDArray[np.int64],
    max_points: int,
    allowed: Mask,
) -> Points:
    """Return a line along `path` that stays on `allowed`, as smooth as possible.

    The line is a single Bezier curve if that stays on `allowed`. Otherwise the path is halved, and
    each half again, down to steps between neighbouring pixels. Both the points and the pixels
    between them stay on `allowed`. There are about two points per pixel of the path, or fewer if
    `max_points` requires it.

    Args:
        path: (N, 2), N at least 1, as (row, column); every pixel in `allowed`.
        max_points: maximum number of points; exceeded only if two points per piece need more.
        allowed: bool (H, W).
    """
    per_pixel = min(_POINTS_PER_PIXEL, max_points / len(path))
    # Reversed like the published line, which starts at the last pixel of the path.
    control_points = path[::-1].astype(np.float64)
    pieces = _curve_pieces(control_points, per_pixel, allowed)
    # Neighbouring pieces share an end point.
    without_first_point = [piece[1:] for piece in pieces[1:]]
    return np.concatenate([pieces[0], *without_first_point])


def points_on_mask(points: Points, mask: Mask) -> NDArray[np.bool_]:
    """Return for each point, (N, 2) inside the frame, whether its pixel is on `mask`."""
    return mask[nearest_pixels(points)]


def nearest_pixels(points: Points) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and columns of the pixels nearest to points; ties go to the later pixel."""
    # `np.rint` would round halves to even, so a line along half pixels would zigzag.
    pixels = np.floor(points + 0.5).astype(np.int64)
    rows, columns = pixels.T
    return rows, columns


def _curve_pieces(
    path: Points,
    per_pixel: float,
    allowed: Mask,
) -> list[Points]:
    if len(path) <= 2:
        return [path]
    points = max(2, round(per_pixel * len(path)))
    curve = bezier_curve(path, points)
    # The pixels between the points are checked too, because rasterising the scribble marks them.
    corners = np.stack(nearest_pixels(curve), axis=1)
    rows, columns = rasterize_polyline(corners).T
    if allowed[rows, columns].all():
        return [curve]
    middle = len(path) // 2
    return [
        # Both halves contain the middle pixel, so that the pieces join without a gap.
        *_curve_pieces(path[: middle + 1], per_pixel, allowed),
        *_curve_pieces(path[middle:], per_pixel, allowed),
    ]
