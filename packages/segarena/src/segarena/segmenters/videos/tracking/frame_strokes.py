"""Strokes in a video: what clicks and scribbles say of the pixels of a frame."""

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
    """A click or scribble.

    Attributes:
        frame: the frame it is drawn in.
        corners: (row, column), sub-pixel.
        label: what it says of the pixels under it; a negative one says background, whatever object it is about.
        object_id: the object it is about.
    """

    frame: int
    corners: tuple[tuple[float, float], ...]
    label: int
    object_id: int


def read_strokes(prompts: Iterable[Prompt], shape: Shape) -> list[FrameStroke]:
    """Return the prompts as strokes, in the order given.

    Raises:
        SegmenterError: a prompt of another kind, or a scribble over several frames.
        InvalidPrompt: a prompt outside of the video, or of an object that labels cannot name.
    """
    return [_stroke(prompt, shape) for prompt in prompts]


def stroke_object_ids(strokes: Iterable[FrameStroke]) -> tuple[int, ...]:
    """Return the ids of the objects that strokes are about, ascending; the background is none."""
    return tuple(sorted({stroke.object_id for stroke in strokes} - {BACKGROUND}))


def draw_strokes(
    strokes: Iterable[FrameStroke],
    shape: tuple[int, int],
    *,
    scale: tuple[float, float] = (1.0, 1.0),
    width_px: int = 1,
) -> LabelMarks:
    """Return what strokes of one frame say of its pixels; where they cross, the later one wins.

    What is drawn on has `shape` (H, W), which is the frame's times `scale`, by rows and columns.
    """
    marks = np.full(shape, UNMARKED, dtype=np.int16)
    for stroke in strokes:
        # Middles of pixels: a position of whole numbers is the middle of its pixel in any size.
        corners = (np.asarray(stroke.corners) + 0.5) * scale - 0.5
        pixels = np.rint(corners).astype(np.int32).clip(0, np.asarray(shape) - 1)[:, ::-1]
        # The last point twice: of a single one OpenCV draws nothing.
        line = np.ascontiguousarray(np.concatenate([pixels, pixels[-1:]]))
        cv2.polylines(marks, [line], isClosed=False, color=stroke.label, thickness=width_px)
    return marks


def apply_marks_to_labels(labels: Labels, marks: LabelMarks) -> Labels:
    """Return `labels`, and as marked where anything is marked."""
    return np.where(marks == UNMARKED, labels, marks).astype(np.uint8)


def check_round(dialogue: Dialogue, kinds: Iterable[str] = STROKE_PROMPT_KINDS) -> None:
    """Raise `SegmenterError` unless the newest round says something."""
    if not dialogue.rounds or not dialogue.rounds[-1]:
        raise SegmenterError(
            f"round {len(dialogue.rounds)} has no prompts; expected {', '.join(sorted(kinds))}"
        )


def group_by_frame(strokes: Sequence[FrameStroke]) -> dict[int, list[FrameStroke]]:
    """Return the strokes of each frame that has any; frames ascend, strokes stay in order."""
    frames: dict[int, list[FrameStroke]] = {}
    for stroke in sorted(strokes, key=lambda stroke: stroke.frame):
        frames.setdefault(stroke.frame, []).append(stroke)
    return frames


def check_in_video(prompt: Prompt, shape: Shape) -> int:
    """Return the object that a prompt is about, 1 where it does not say.

    Raises:
        InvalidPrompt: a prompt outside of the video (T, H, W), or of an object that labels cannot name.
    """
    check_prompt(prompt, shape)
    object_id = getattr(prompt, "object_id", 1)
    if not BACKGROUND <= object_id <= HIGHEST_OBJECT:
        raise InvalidPrompt(
            f"{prompt.kind}: expected an object_id of 1 to {HIGHEST_OBJECT}, 0 for the background, got {object_id}"
        )
    return object_id


def frame_of_prompt(prompt: Click | Scribble) -> int:
    """Return the frame of a click or scribble; raises `SegmenterError` for a line through several, or between two."""
    points = (prompt.position,) if isinstance(prompt, Click) else prompt.points
    frames = {point[0] for point in points}
    frame = min(frames)
    if len(frames) > 1 or frame != int(frame):
        raise SegmenterError(
            f"scribble: expected all its points in one frame, got {sorted(frames)}; give one per frame"
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
