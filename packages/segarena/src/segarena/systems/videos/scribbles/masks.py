"""Scribbles as masks and as points."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polylines import bezier_curve, rasterize_polyline
from segarena.errors import InvalidInput
from segarena.samples import Shape
from segarena.systems.videos.scribbles.files import Scribbles
from segarena.systems.videos.scribbles.prompt_conversion import Fractions, to_pixels

Rounding: TypeAlias = Literal["nearest", "down"]
"""Rounding of positions to pixels: to the nearest pixel (exactly halfway, the later one), or down."""

# The published default; 0 would be a line on the background.
NOT_DRAWN_ON = -1


class ScribblePoints(NamedTuple):
    """The points of all lines: `positions` float (N, 3) as (frame, row, column), `object_ids` int (N,)."""

    positions: NDArray[np.float64]
    object_ids: NDArray[np.int64]


def scribbles_to_masks(
    data: Scribbles,
    shape: Shape,
    *,
    default: int = NOT_DRAWN_ON,
    is_joined: bool = True,
    bezier_points: int | None = None,
    fractions: Fractions = "last-pixel",
    rounding: Rounding = "nearest",
) -> NDArray[np.int16]:
    """Rasterize scribbles as object ids, in lines one pixel wide; later lines cover earlier ones.

    Args:
        data: checked scribbles.
        shape: (H, W) of a frame.
        default: value of pixels without a line.
        is_joined: fill the pixels between the points of a line, by
            `segarena.arrays.polylines.rasterize_polyline`; otherwise only the points are drawn.
        bezier_points: draw each line as a Bezier curve of this many points, with its points as
            control points; None draws it unchanged.
        fractions: meaning of the fractions; use "size" for lines of the published robot.
        rounding: rounding rule; "down" as in the published code, which shifts positions by up to
            one pixel up and to the left.

    Returns:
        int16 (T, H, W).

    Raises:
        InvalidInput: an option is invalid.
    """
    if rounding not in get_args(Rounding):
        raise InvalidInput(
            f"rounding: expected one of {', '.join(get_args(Rounding))}, got {rounding!r}"
        )
    if bezier_points is not None and bezier_points < 2:
        raise InvalidInput(f"bezier_points: expected 2 or more, got {bezier_points}")
    shift = 0.5 if rounding == "nearest" else 0.0
    masks = np.full((len(data["scribbles"]), *shape), default, dtype=np.int16)
    for mask, lines in zip(masks, data["scribbles"], strict=True):
        for line in lines:
            points = to_pixels(line["path"], shape, fractions)
            if bezier_points is not None:
                points = bezier_curve(points, bezier_points)
            # Not `np.rint`, which would round halves to even.
            pixels = np.floor(points + shift).astype(np.int64)
            if is_joined:
                pixels = rasterize_polyline(pixels)
            rows, columns = pixels.T
            mask[rows, columns] = line["object_id"]
    return masks


def scribbles_to_points(
    data: Scribbles,
    shape: Shape | None = None,
    *,
    fractions: Fractions = "last-pixel",
) -> ScribblePoints:
    """Return the points of all lines, ordered by frame, and as drawn within a frame.

    Args:
        data: checked scribbles.
        shape: (H, W) of a frame; None leaves rows and columns as fractions of height and width.
        fractions: meaning of the fractions.

    Source: the published code, which puts x before y and multiplies x by the height and y by the
    width; this function does not.
    """
    # Starts with an empty array, because a file may contain no line.
    positions: list[NDArray[np.float64]] = [np.empty((0, 3))]
    object_ids: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    for frame, lines in enumerate(data["scribbles"]):
        for line in lines:
            path = line["path"]
            if shape:
                points = to_pixels(path, shape, fractions)
            else:
                # The file stores x before y.
                points = np.asarray(path, dtype=np.float64)[:, ::-1]
            positions.append(np.insert(points, 0, frame, axis=1))
            object_ids.append(np.full(len(points), line["object_id"], dtype=np.int64))
    return ScribblePoints(np.concatenate(positions), np.concatenate(object_ids))
