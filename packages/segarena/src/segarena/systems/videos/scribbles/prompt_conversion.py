"""Conversion between the fractions of scribble files and the pixels of prompts.

The published code uses two meanings of fractions: in people's files, 1 is the last pixel, but the
robot divides by the size of the frame. Here 1 is the last pixel by default for both reading and
writing, so that a round trip is exact; `fractions_of_round` follows the published code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput, InvalidPrompt
from segarena.prompts import Prompt, Scribble, check_prompt
from segarena.samples import Shape
from segarena.systems.videos.scribbles.files import Scribbles, no_scribbles

Fractions: TypeAlias = Literal["last-pixel", "size"]
"""Pixel coordinate to which a fraction of 1 corresponds: the last pixel, n - 1, or the size, n."""


def fractions_of_round(number: int, protocol: str) -> Fractions:
    """Return how to read the fractions in the scribbles of a round, numbered from 1.

    In the first round, a fraction of 1 means the last pixel, as in the published files of people's
    scribbles. Under the published protocol, 1 means the size of the frame in later rounds, because
    the published robot divides by it.
    """
    if protocol == "published" and number > 1:
        return "size"
    return "last-pixel"


def prompts_from_scribbles(
    data: Scribbles,
    shape: Shape,
    *,
    fractions: Fractions = "last-pixel",
) -> tuple[Scribble, ...]:
    """Return the lines as prompts, ordered by frame, and as drawn within a frame; times are dropped.

    A line on the background is a negative prompt for object 0.

    Args:
        data: checked scribbles.
        shape: (T, H, W) of the video.
        fractions: meaning of the fractions; with "size", positions beyond the last pixel are moved
            to it.

    Raises:
        InvalidPrompt: the number of frames differs.
    """
    if len(data["scribbles"]) != shape[0]:
        raise InvalidPrompt(
            f"scribbles of {data['sequence']!r}: expected {shape[0]} frames, got {len(data['scribbles'])}"
        )
    scribbles: list[Scribble] = []
    for frame, lines in enumerate(data["scribbles"]):
        for line in lines:
            pixels = to_pixels(line["path"], shape[1:], fractions)
            scribbles.append(line_prompt(frame, pixels, line["object_id"]))
    return tuple(scribbles)


def line_prompt(
    frame: int | None,
    points: NDArray[Any],
    object_id: int,
) -> Scribble:
    """Convert a line in one frame, (n, 2) rows and columns, to a prompt, which is negative for object 0.

    If `frame` is None, the line belongs to an image, and its positions have no frame coordinate.
    """
    positions: list[tuple[float, ...]] = []
    for row, column in points.tolist():
        if frame is None:
            positions.append((row, column))
        else:
            positions.append((float(frame), row, column))
    return Scribble(tuple(positions), is_positive=object_id != 0, object_id=object_id)


def scribbles_from_prompts(
    prompts: Iterable[Prompt],
    shape: Shape,
    sequence: str,
    *,
    fractions: Fractions = "last-pixel",
    times: tuple[float, float] = (0, 0),
) -> dict[str, Any]:
    """Return scribble prompts in the form of a scribble file; within a frame they keep their order.

    Args:
        prompts: scribbles, each within one frame.
        shape: (T, H, W) of the video.
        sequence: name of the sequence.
        fractions: meaning of the fractions. "size" writes them as the published robot does.
            "last-pixel" writes fractions that `to_pixels` converts back to exactly the same
            positions, for all positions that it can return.
        times: start and end of each line in milliseconds.

    Raises:
        InvalidPrompt: a prompt is not a scribble, a line is outside the video or in several frames,
            or a line on an object is negative.
    """
    data = no_scribbles(sequence, shape[0])
    start_time, end_time = times
    for prompt in prompts:
        frame, points, object_id = _line_in_frame(prompt, shape)
        relative = _relative(points, shape[1:], fractions)
        xy = relative[:, ::-1]  # the file has x before y
        line = {
            "path": xy.tolist(),
            "object_id": object_id,
            "start_time": start_time,
            "end_time": end_time,
        }
        data["scribbles"][frame].append(line)
    return data


def to_pixels(
    path: Any,
    shape: Shape,
    fractions: Fractions = "last-pixel",
) -> NDArray[np.float64]:
    """Return a path of [x, y] fractions as (N, 2) positions (row, column) in a frame of `shape` (H, W).

    Positions beyond the last pixel are moved to it.

    Raises:
        InvalidInput: the value of `fractions` is unknown.
    """
    x_y = np.asarray(path, dtype=np.float64)
    row_column = x_y[:, ::-1]
    points = row_column * _spans(shape, fractions)
    # If fractions refer to the size, a fraction of 1 lies one pixel beyond the frame.
    last = np.asarray(shape) - 1
    return np.minimum(points, last)


def _relative(
    points: NDArray[np.float64],
    shape: Shape,
    fractions: Fractions,
) -> NDArray[np.float64]:
    """Return positions (N, 2) in a frame of `shape` (H, W) as fractions."""
    spans = _spans(shape, fractions)
    quotient = points / spans
    if fractions == "size":
        return quotient  # the published robot divides, and nothing reads its lines back
    # The fraction in a file was multiplied and rounded, so the plain quotient may differ from it in
    # the last bit. Only a fraction that gives the same product makes a program of the published
    # package see the pixels that the person drew on.
    relative = quotient
    for limit in (0.0, 1.0):
        neighbour = np.nextafter(quotient, limit)
        is_better = (relative * spans != points) & (neighbour * spans == points)
        relative = np.where(is_better, neighbour, relative)
    return relative


def _spans(shape: Shape, fractions: Fractions) -> NDArray[np.float64]:
    """Return the pixels that a fraction of 1 spans along (row, column); 1 for an axis with a single pixel."""
    if fractions not in get_args(Fractions):
        raise InvalidInput(
            f"fractions: expected one of {', '.join(get_args(Fractions))}, got {fractions!r}"
        )
    # An axis with a single pixel would have a span of 0, by which nothing can be divided.
    size = np.asarray(shape, dtype=np.float64)
    return size if fractions == "size" else np.maximum(size - 1, 1)


def _line_in_frame(prompt: Prompt, shape: Shape) -> tuple[int, NDArray[np.float64], int]:
    """Return the frame of a scribble, its points as (row, column), and its object."""
    if not isinstance(prompt, Scribble):
        raise InvalidPrompt(f"scribble file: expected scribbles only, got a {prompt.kind}")
    check_prompt(prompt, shape)
    if not prompt.is_positive and prompt.object_id != 0:
        raise InvalidPrompt(
            f"scribble file: lines on object {prompt.object_id} cannot be negative; "
            "draw on the background, object_id 0, or on another object"
        )
    points = np.asarray(prompt.points, dtype=np.float64)
    frames = np.unique(points[:, 0])
    if len(frames) > 1 or frames[0] != np.floor(frames[0]):
        raise InvalidPrompt(
            f"scribble file: expected all points of a line in one frame, got {frames.tolist()}"
        )
    return int(frames[0]), points[:, 1:], prompt.object_id
