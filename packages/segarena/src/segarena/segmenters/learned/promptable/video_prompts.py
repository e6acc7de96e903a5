"""Prompts of a video dialogue, grouped by object and frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue
from segarena.errors import SegmenterError
from segarena.prompts import Box, Click, MaskPrompt, Prompt, Scribble
from segarena.samples import Mask, Shape
from segarena.segmenters.learned.promptable.inference_options import VideoOptions
from segarena.segmenters.videos.tracking.frame_strokes import (
    BACKGROUND,
    check_in_video,
    check_round,
    frame_of_prompt,
)

VIDEO_PROMPT_KINDS = frozenset({"click", "box", "mask", "scribble"})
Point = tuple[float, ...]


@dataclass(slots=True)
class FrameMarks:
    """All prompts about one object in one frame.

    Attributes:
        points: (row, column), in the order given.
        is_positive: whether each point is on the object.
        box: first and last pixel of the box; None without a box.
        mask: bool (H, W), the object as the user drew it, without later corrections; None if there
            is none.
        drawn: bool (H, W), drawings that are only a hint: a mask with later points, or scribbles
            that are not converted to points; None if there are none.
        drawn_in: round of the newest drawing; -1 if there is none.
        since: first round with a positive prompt; None if there is none.
    """

    points: list[Point] = field(default_factory=list[Point])
    is_positive: list[bool] = field(default_factory=list[bool])
    box: tuple[Point, Point] | None = None
    mask: Mask | None = None
    drawn: Mask | None = None
    drawn_in: int = -1
    since: int | None = None

    def add_points(
        self,
        points: list[Point],
        is_positive: bool,
        round_: int,
    ) -> None:
        """Add points unless an earlier mask agrees with all of them; a mask that contradicts one becomes a hint."""
        if self.mask is not None:
            agreements = [self.mask[_pixel(point)] == is_positive for point in points]
            if all(agreements):
                return
        self._demote_mask()
        self.points.extend(points)
        self.is_positive.extend([is_positive] * len(points))
        if is_positive:
            self._begin(round_)

    def set_box(
        self,
        first: Point,
        last: Point,
        round_: int,
    ) -> None:
        """Replace the box; an earlier mask becomes a hint."""
        self._demote_mask()
        self.box = (first, last)
        self._begin(round_)

    def set_mask(self, mask: Mask, round_: int) -> None:
        """Replace all earlier prompts by a mask of the object."""
        self.points = []
        self.is_positive = []
        self.box = None
        self.drawn = None
        self.mask = mask
        self.drawn_in = round_
        self._begin(round_)

    def draw(self, line: Mask, round_: int) -> None:
        """Add a drawn line as a hint."""
        self._demote_mask()
        self.drawn = line if self.drawn is None else self.drawn | line
        self.drawn_in = round_
        self._begin(round_)

    def _demote_mask(self) -> None:
        if self.mask is not None:
            self.drawn = self.mask
            self.mask = None

    def _begin(self, round_: int) -> None:
        if self.since is None:
            self.since = round_


def read_marks(
    dialogue: Dialogue,
    shape: Shape,
    options: VideoOptions,
) -> dict[int, dict[int, FrameMarks]]:
    """Return the prompts of all rounds by object id and by frame, both ascending.

    Prompts about the background become negative prompts of every object.

    Raises:
        SegmenterError: no prompt in this round, one of an unsupported kind, no prompt about an
            object, or a box or scribble over several frames.
        InvalidPrompt: a prompt is outside the video.
    """
    check_round(dialogue, VIDEO_PROMPT_KINDS)
    for prompt in dialogue.prompts:
        _check(prompt, shape)
    marks: dict[int, dict[int, FrameMarks]] = {
        object_id: {} for object_id in prompted_object_ids(dialogue.prompts)
    }
    for number, prompts in enumerate(dialogue.rounds):
        for prompt in prompts:
            own = getattr(prompt, "object_id", 1)
            targets = list(marks) if own == BACKGROUND else [own]
            for object_id in targets:
                _add_prompt(marks[object_id], prompt, shape[1:], number, options)
    if not marks:
        raise _no_prompt_error(1)
    for object_id, frames in marks.items():
        if not frames:
            raise _no_prompt_error(object_id)
        marks[object_id] = dict(sorted(frames.items()))
    return marks


def _no_prompt_error(object_id: int) -> SegmenterError:
    return SegmenterError(f"no prompt marks object {object_id}; expected a mark of it in a frame")


def prompted_object_ids(prompts: Iterable[Prompt]) -> list[int]:
    """Return the ids of all prompted objects except the background, ascending."""
    return sorted({getattr(prompt, "object_id", 1) for prompt in prompts} - {BACKGROUND})


def corrected_frames(frames: dict[int, FrameMarks], options: VideoOptions) -> frozenset[int]:
    """Return the frames whose prompts correct the tracked object; tracking starts from its other prompted frames.

    Tracking starts from the prompts of the object's first round and from every mask. Later prompts,
    and frames with only negative prompts, are corrections. If an object has only negative prompts,
    tracking starts from these. If `options.corrections` is "alone", no frame is a correction.
    """
    first_rounds = [marks.since for marks in frames.values() if marks.since is not None]
    if options.corrections == "alone" or not first_rounds:
        return frozenset()
    first = min(first_rounds)
    corrected: set[int] = set()
    for frame, marks in frames.items():
        if marks.since != first and marks.mask is None:
            corrected.add(frame)
    return frozenset(corrected)


def points_along(points: tuple[Point, ...], count: int) -> list[Point]:
    """Return up to `count` points of a line, (row, column): the midpoints of pieces of equal length.

    A line of fewer than `count` pixels gives one point per pixel of its length plus one, so a dot
    gives one point.
    """
    corners = np.asarray(points, dtype=np.float64)
    lengths = np.zeros(0)
    if len(corners) > 1:
        row_steps, column_steps = np.diff(corners, axis=0).T
        lengths = np.hypot(row_steps, column_steps)
    distances = np.concatenate([[0.0], np.cumsum(lengths)])
    total = distances[-1]
    count = min(count, 1 + int(total))
    middles = (np.arange(count) + 0.5) / count * total
    rows = np.interp(middles, distances, corners[:, 0])
    columns = np.interp(middles, distances, corners[:, 1])
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _check(prompt: Prompt, shape: Shape) -> None:
    if prompt.kind not in VIDEO_PROMPT_KINDS:
        raise SegmenterError(
            f"expected prompts of kind {', '.join(sorted(VIDEO_PROMPT_KINDS))}, got {prompt.kind!r}"
        )
    if check_in_video(prompt, shape) == BACKGROUND and prompt.kind in ("box", "mask"):
        raise SegmenterError(
            f"{prompt.kind}: expected an object_id of at least 1, got 0; "
            "the background is marked by clicks and scribbles"
        )


def _add_prompt(
    frames: dict[int, FrameMarks],
    prompt: Prompt,
    shape: Shape,
    round_: int,
    options: VideoOptions,
) -> None:
    """Add a prompt about one object to the frames that it covers."""
    is_background = getattr(prompt, "object_id", 1) == BACKGROUND
    is_positive = getattr(prompt, "is_positive", True) and not is_background
    for frame in _frames_of(prompt):
        marks = frames.setdefault(frame, FrameMarks())
        match prompt:
            case Click():
                marks.add_points([prompt.position[1:]], is_positive, round_)
            case Box():
                last = tuple(stop - 1 for stop in prompt.stop[1:])
                marks.set_box(prompt.start[1:], last, round_)
            case MaskPrompt():
                marks.set_mask(prompt.mask[frame], round_)
            case Scribble():
                line = tuple(point[1:] for point in prompt.points)
                if is_positive and options.scribbles == "mask":
                    marks.draw(_draw_line(line, shape), round_)
                else:
                    points = points_along(line, options.scribble_points)
                    marks.add_points(points, is_positive, round_)
            case _:
                pass


def _frames_of(prompt: Prompt) -> Iterator[int]:
    """Yield the frames of a prompt: one, or several for a mask."""
    if isinstance(prompt, MaskPrompt):
        has_mask = prompt.mask.any(axis=(1, 2))
        yield from np.flatnonzero(has_mask).tolist()
    elif isinstance(prompt, Box):
        if prompt.stop[0] - prompt.start[0] != 1:
            frames = f"{prompt.start[0]} to {prompt.stop[0] - 1}"
            raise SegmenterError(
                f"box: expected all of it in one frame, got frames {frames}; give one per frame"
            )
        yield prompt.start[0]
    elif isinstance(prompt, Click | Scribble):
        yield frame_of_prompt(prompt)


def _draw_line(line: tuple[Point, ...], shape: Shape) -> Mask:
    canvas: NDArray[np.uint8] = np.zeros(shape, np.uint8)
    # OpenCV draws nothing for a line with a single point, so the point is repeated.
    pixels = [_pixel(point) for point in (*line, line[-1])]
    row_column = np.array(pixels, dtype=np.int32)
    x_y = row_column[:, ::-1].copy()
    cv2.polylines(canvas, [x_y], isClosed=False, color=1, thickness=1)
    return canvas.astype(np.bool_)


def _pixel(point: Point) -> tuple[int, ...]:
    return tuple(round(coordinate) for coordinate in point)
