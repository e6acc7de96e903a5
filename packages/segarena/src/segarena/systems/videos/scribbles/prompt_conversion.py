"""Conversion between the fractions of scribble files and the pixels of prompts.

The published code uses two meanings of fractions: people's files are read with 1 as the last pixel,
and the robot divides by the size of the frame. Here files are read and written with 1 as the last
pixel by default, so that reading reverses writing.
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
"""Meaning of a fraction of 1: the last pixel, n - 1, or the size, n."""


def prompts_from_scribbles(
    data: Scribbles, shape: Shape, *, fractions: Fractions = "last-pixel"
) -> tuple[Scribble, ...]:
    """Return the lines as prompts, in the order of frames and then as drawn; times are dropped.

    A line on the background is a negative prompt for object 0.

    Args:
        data: checked scribbles.
        shape: (T, H, W) of the video.
        fractions: "size" moves positions beyond the last pixel onto it.

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


def line_prompt(frame: int | None, points: NDArray[Any], object_id: int) -> Scribble:
    """Return a line in one frame, (n, 2) rows and columns, as a prompt; one on the background, 0, is negative.

    With `frame` None it is a line in an image, whose positions have no frame.
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
    """Return scribble prompts in the form of a scribble file, in the order given within each frame.

    Args:
        prompts: scribbles, each within one frame.
        shape: (T, H, W) of the video.
        sequence: its name.
        fractions: "size" writes as the published robot does.
        times: start and end of each line.

    Raises:
        InvalidPrompt: another kind of prompt, a line outside the video or through several frames,
            or a negative line on an object.
    """
    data = no_scribbles(sequence, shape[0])
    start_time, end_time = times
    for prompt in prompts:
        frame, points, object_id = _line_in_frame(prompt, shape)
        relative = points / _spans(shape[1:], fractions)
        xy = relative[:, ::-1]  # the file has x before y
        line = {
            "path": xy.tolist(),
            "object_id": object_id,
            "start_time": start_time,
            "end_time": end_time,
        }
        data["scribbles"][frame].append(line)
    return data


def to_pixels(path: Any, shape: Shape, fractions: Fractions = "last-pixel") -> NDArray[np.float64]:
    """Return a path of [x, y] fractions as (N, 2) positions (row, column) in a frame of `shape` (H, W).

    Raises:
        InvalidInput: unknown `fractions`.
    """
    relative = np.asarray(path, dtype=np.float64)[:, ::-1]  # the file has x before y
    points = relative * _spans(shape, fractions)
    last = np.asarray(shape) - 1
    return np.minimum(points, last)


def _spans(shape: Shape, fractions: Fractions) -> NDArray[np.float64]:
    """Return the number of pixels of a fraction of 1 along (row, column); 1 along an axis of a single pixel."""
    if fractions not in get_args(Fractions):
        raise InvalidInput(
            f"fractions: expected one of {', '.join(get_args(Fractions))}, got {fractions!r}"
        )
    size = np.asarray(shape, dtype=np.float64)
    return size if fractions == "size" else np.maximum(size - 1, 1)


def _line_in_frame(prompt: Prompt, shape: Shape) -> tuple[int, NDArray[np.float64], int]:
    """Return the frame of a scribble, its points as (row, column), and its object."""
    if not isinstance(prompt, Scribble):
        raise InvalidPrompt(f"scribble file: expected scribbles only, got a {prompt.kind}")
    check_prompt(prompt, shape)
    if not prompt.is_positive and prompt.object_id != 0:
        raise InvalidPrompt(
            f"scribble file: a line can say where object {prompt.object_id} is, not where it is not; "
            "draw on the background, object_id 0, or on another object"
        )
    points = np.asarray(prompt.points, dtype=np.float64)
    frames = np.unique(points[:, 0])
    if len(frames) > 1 or frames[0] != np.floor(frames[0]):
        raise InvalidPrompt(
            f"scribble file: expected all points of a line in one frame, got {frames.tolist()}"
        )
    return int(frames[0]), points[:, 1:], prompt.object_id
