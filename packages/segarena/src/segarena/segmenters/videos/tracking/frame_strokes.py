"""Strokes in a video: clicks and scribbles of single frames, and the pixels they mark."""

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
"""(H, W): the label of each marked pixel, else `UNMARKED`."""


@dataclass(frozen=True, slots=True)
class FrameStroke:
    """A click or scribble in one frame.

    Attributes:
        frame: its frame.
        corners: (row, column), sub-pixel.
        label: of the marked pixels; background for negative prompts of any object.
        object_id: the prompted object.
    """

    frame: int
    corners: tuple[tuple[float, float], ...]
    label: int
    object_id: int


def read_strokes(prompts: Iterable[Prompt], shape: Shape) -> list[FrameStroke]:
    """Return the prompts as strokes, in the order given.

    Raises:
        SegmenterError: a prompt of another kind, or a scribble over several frames.
        InvalidPrompt: a prompt outside of the video, or an object id that labels cannot hold.
    """
    return [_stroke(prompt, shape) for prompt in prompts]


def stroke_object_ids(strokes: Iterable[FrameStroke]) -> tuple[int, ...]:
    """Return the ids of the objects with strokes, ascending, without the background."""
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
        strokes: of one frame.
        shape: (H, W) of the result.
        scale: size of the result relative to the frame, along rows and columns.
        width_px: of the lines in the result.
    """
    marks = np.full(shape, UNMARKED, dtype=np.int16)
    for stroke in strokes:
        # Whole numbers are pixel centres, which scale with a shift of half a pixel.
        corners = (np.asarray(stroke.corners) + 0.5) * scale - 0.5
        pixels = np.rint(corners).astype(np.int32).clip(0, np.asarray(shape) - 1)[:, ::-1]
        # OpenCV draws nothing for a single point, so the last one is repeated.
        line = np.ascontiguousarray(np.concatenate([pixels, pixels[-1:]]))
        cv2.polylines(marks, [line], isClosed=False, color=stroke.label, thickness=width_px)
    return marks


def apply_marks_to_labels(labels: Labels, marks: LabelMarks) -> Labels:
    """Return labels with the marked pixels set to their marks."""
    return np.where(marks == UNMARKED, labels, marks).astype(np.uint8)


def check_round(dialogue: Dialogue, kinds: Iterable[str] = STROKE_PROMPT_KINDS) -> None:
    """Raise `SegmenterError` unless the newest round has prompts."""
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(
            f"round {len(dialogue.rounds)} has no prompts; expected {', '.join(sorted(kinds))}"
        )


def group_by_frame(strokes: Sequence[FrameStroke]) -> dict[int, list[FrameStroke]]:
    """Return the strokes by frame; frames ascending, strokes in the order given."""
    frames: dict[int, list[FrameStroke]] = {}
    for stroke in sorted(strokes, key=lambda stroke: stroke.frame):
        frames.setdefault(stroke.frame, []).append(stroke)
    return frames


def check_in_video(prompt: Prompt, shape: Shape) -> int:
    """Return the object id of a prompt; 1 for prompts without one.

    Raises:
        InvalidPrompt: a prompt outside of the video (T, H, W), or an object id that labels cannot
            hold.
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
