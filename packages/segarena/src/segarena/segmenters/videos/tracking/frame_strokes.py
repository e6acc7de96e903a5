"""Strokes in a video: clicks and scribbles in single frames, and the pixels that they mark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import InvalidPrompt, SegmenterError
from segarena.prompts import Click, Prompt, Scribble, check_prompt
from segarena.samples import Labels, Shape

STROKE_PROMPT_KINDS = frozenset({"click", "scribble"})
BACKGROUND = 0
HIGHEST_OBJECT = 255
UNMARKED = -1

LabelMarks: TypeAlias = NDArray[np.int16]
"""(H, W): the label of each marked pixel, `UNMARKED` elsewhere."""


@dataclass(frozen=True, slots=True)
class FrameStroke:
    """A click or scribble in one frame.

    Attributes:
        frame: index of the frame.
        corners: (row, column), with sub-pixel precision.
        label: label of the marked pixels; background for negative prompts of any object.
        object_id: id of the prompted object.
    """

    frame: int
    corners: tuple[tuple[float, float], ...]
    label: int
    object_id: int


def read_strokes(prompts: Iterable[Prompt], shape: Shape) -> list[FrameStroke]:
    """Convert the prompts to strokes, in the order given.

    Raises:
        SegmenterError: a prompt has an unsupported kind, or a scribble spans several frames.
        InvalidPrompt: a prompt is outside the video, or labels cannot represent an object id.
    """
    return [_stroke(prompt, shape) for prompt in prompts]


def stroke_object_ids(strokes: Iterable[FrameStroke]) -> tuple[int, ...]:
    """Return the ids of all objects with strokes except the background, ascending."""
    return tuple(sorted({stroke.object_id for stroke in strokes} - {BACKGROUND}))


def draw_strokes(
    strokes: Iterable[FrameStroke],
    shape: tuple[int, int],
    *,
    scale: tuple[float, float] = (1.0, 1.0),
    width_px: int = 1,
) -> LabelMarks:
    """Draw the strokes of one frame; where they cross, the later one wins.

    Args:
        strokes: strokes of one frame.
        shape: (H, W) of the result.
        scale: size of the result relative to the frame, along rows and columns.
        width_px: width of the lines in the result.
    """
    marks = np.full(shape, UNMARKED, dtype=np.int16)
    # Rounding may move a stroke at the border outside the frame.
    last = np.asarray(shape) - 1
    for stroke in strokes:
        # Integers are pixel centres, so scaling shifts positions by half a pixel.
        corners = (np.asarray(stroke.corners) + 0.5) * scale - 0.5
        row_column = np.rint(corners).astype(np.int32).clip(0, last)
        x_y = row_column[:, ::-1]
        # OpenCV draws nothing for a line with a single point, so the point is repeated.
        line = np.ascontiguousarray(np.concatenate([x_y, x_y[-1:]]))
        cv2.polylines(marks, [line], isClosed=False, color=stroke.label, thickness=width_px)
    return marks


def apply_marks_to_labels(labels: Labels, marks: LabelMarks) -> Labels:
    """Return a copy of labels in which marked pixels have the label of their marks."""
    return np.where(marks == UNMARKED, labels, marks).astype(np.uint8)


def check_round(dialogue: Dialogue, kinds: Iterable[str] = STROKE_PROMPT_KINDS) -> None:
    """Raise `SegmenterError` unless the newest round has prompts."""
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(
            f"round {len(dialogue.rounds)} has no prompts; expected {', '.join(sorted(kinds))}"
        )


def group_by_frame(strokes: Sequence[FrameStroke]) -> dict[int, list[FrameStroke]]:
    """Group the strokes by frame, frames ascending, strokes in the order given."""
    frames: dict[int, list[FrameStroke]] = {}
    # Sorting is stable, so strokes of the same frame keep their order.
    for stroke in sorted(strokes, key=lambda stroke: stroke.frame):
        frames.setdefault(stroke.frame, []).append(stroke)
    return frames


def check_in_video(prompt: Prompt, shape: Shape) -> int:
    """Return the object id of a prompt; 1 for prompts without one.

    Raises:
        InvalidPrompt: the prompt is outside the video (T, H, W), or labels cannot hold its object id.
    """
    check_prompt(prompt, shape)
    object_id = getattr(prompt, "object_id", 1)
    if not BACKGROUND <= object_id <= HIGHEST_OBJECT:
        raise InvalidPrompt(
            f"{prompt.kind}: expected an object_id of 1 to {HIGHEST_OBJECT}, "
            f"0 for the background, got {object_id}"
        )
    return object_id


def frame_of_prompt(prompt: Click | Scribble) -> int:
    """Return the frame of a click or scribble.

    Raises:
        SegmenterError: the line goes through several frames, or lies between two.
    """
    points = (prompt.position,) if isinstance(prompt, Click) else prompt.points
    frames = {point[0] for point in points}
    frame = min(frames)
    if len(frames) > 1 or frame != int(frame):
        raise SegmenterError(
            f"scribble: expected all its points in one frame, got {sorted(frames)}; "
            "give one per frame"
        )
    return int(frame)


def _stroke(prompt: Prompt, shape: Shape) -> FrameStroke:
    if not isinstance(prompt, Click | Scribble):
        raise SegmenterError(
            f"expected prompts of kind {', '.join(sorted(STROKE_PROMPT_KINDS))}, got {prompt.kind!r}"
        )
    check_in_video(prompt, shape)
    points = (prompt.position,) if isinstance(prompt, Click) else prompt.points
    return FrameStroke(
        frame=frame_of_prompt(prompt),
        corners=tuple((float(point[1]), float(point[2])) for point in points),
        label=prompt.object_id if prompt.is_positive else BACKGROUND,
        object_id=prompt.object_id,
    )
