"""What a dialogue about a video says: per object, which frame is marked how, and what the tracker makes of it."""

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
Place = tuple[float, ...]


@dataclass(slots=True)
class FrameMarks:
    """What is said of one object in one frame.

    Attributes:
        points: (row, column), in the order given.
        is_positive: of each point, whether it is on the object.
        box: the first and the last pixel in it; None without.
        mask: bool (H, W), the object as the user drew it and nobody has corrected since; None without.
        drawn: bool (H, W), what was drawn and is only a hint: a mask with later points, or scribbles that are not
            made points of; None without.
        drawn_in: the round of the newest of it.
        since: the round that first said where the object is, not only where it is not; None: no round did.
    """

    points: list[Place] = field(default_factory=list[Place])
    is_positive: list[bool] = field(default_factory=list[bool])
    box: tuple[Place, Place] | None = None
    mask: Mask | None = None
    drawn: Mask | None = None
    drawn_in: int = -1
    since: int | None = None

    def add_points(self, points: list[Place], is_positive: bool, round_: int) -> None:
        """Add points. A mask given before says the same already, or becomes a hint."""
        if self.mask is not None and all(
            self.mask[_pixel(point)] == is_positive for point in points
        ):
            return
        self._doubt_mask()
        self.points.extend(points)
        self.is_positive.extend([is_positive] * len(points))
        if is_positive:
            self._begin(round_)

    def set_box(self, first: Place, last: Place, round_: int) -> None:
        """Replace the box; a mask given before becomes a hint."""
        self._doubt_mask()
        self.box = (first, last)
        self._begin(round_)

    def set_mask(self, mask: Mask, round_: int) -> None:
        """Replace all that was said by the object itself."""
        self.points = []
        self.is_positive = []
        self.box = None
        self.drawn = None
        self.mask = mask
        self.drawn_in = round_
        self._begin(round_)

    def draw(self, line: Mask, round_: int) -> None:
        """Add a hint."""
        self._doubt_mask()
        self.drawn = line if self.drawn is None else self.drawn | line
        self.drawn_in = round_
        self._begin(round_)

    def _doubt_mask(self) -> None:
        if self.mask is not None:
            self.drawn = self.mask
            self.mask = None

    def _begin(self, round_: int) -> None:
        self.since = round_ if self.since is None else self.since


def read_marks(
    dialogue: Dialogue, shape: Shape, options: VideoOptions
) -> dict[int, dict[int, FrameMarks]]:
    """Return what all rounds say, by object id and frame, both ascending.

    Marks of the background are negative for every object.

    Raises:
        SegmenterError: no prompt in this round, one of another kind, nothing about an object, or a box or scribble
            over several frames.
        InvalidPrompt: a prompt outside of the video.
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
            for object_id in marks if own == BACKGROUND else (own,):
                _mark(marks[object_id], prompt, shape[1:], number, options)
    marks = {object_id: dict(sorted(frames.items())) for object_id, frames in marks.items()}
    silent = [object_id for object_id, frames in marks.items() if not frames]
    if silent or not marks:
        raise SegmenterError(
            f"nothing is said about object {silent[0] if silent else 1}; expected a mark of it in a frame"
        )
    return marks


def prompted_object_ids(prompts: Iterable[Prompt]) -> list[int]:
    """Return the ids of the objects that the prompts are about, ascending; the background is none."""
    return sorted({getattr(prompt, "object_id", 1) for prompt in prompts} - {BACKGROUND})


def corrected_frames(frames: dict[int, FrameMarks], options: VideoOptions) -> frozenset[int]:
    """Return the frames of an object whose marks correct what was tracked; its other frames say what to track.

    What the first round about the object says is what to track, and so is every mask. Later marks, and those that only
    say where the object is not, correct. An object of which nothing else is said is tracked from these.
    """
    first = min((marks.since for marks in frames.values() if marks.since is not None), default=None)
    if options.corrections == "alone" or first is None:
        return frozenset()
    return frozenset(
        frame for frame, marks in frames.items() if marks.since != first and marks.mask is None
    )


def points_along(points: tuple[Place, ...], count: int) -> list[Place]:
    """Return `count` points of a line, (row, column): the middles of as many pieces of equal length.

    A line shorter than that many pixels gives one point per pixel of its length and one more, so a dot gives one.
    """
    corners = np.asarray(points, dtype=np.float64)
    lengths = np.hypot(*np.diff(corners, axis=0).T) if len(corners) > 1 else np.zeros(0)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    count = min(count, 1 + int(at[-1]))
    middles = (np.arange(count) + 0.5) / count * at[-1]
    return [
        (float(row), float(column))
        for row, column in zip(*(np.interp(middles, at, c) for c in corners.T), strict=True)
    ]


def _check(prompt: Prompt, shape: Shape) -> None:
    if prompt.kind not in VIDEO_PROMPT_KINDS:
        raise SegmenterError(
            f"expected prompts of kind {', '.join(sorted(VIDEO_PROMPT_KINDS))}, got {prompt.kind!r}"
        )
    if check_in_video(prompt, shape) == BACKGROUND and prompt.kind in ("box", "mask"):
        raise SegmenterError(
            f"{prompt.kind}: the background is marked by clicks and scribbles; got object_id 0"
        )


def _mark(
    frames: dict[int, FrameMarks], prompt: Prompt, shape: Shape, round_: int, options: VideoOptions
) -> None:
    """Enter the prompt into the frames of one object."""
    is_positive = (
        getattr(prompt, "is_positive", True) and getattr(prompt, "object_id", 1) != BACKGROUND
    )
    for frame in _frames_of(prompt):
        marks = frames.setdefault(frame, FrameMarks())
        match prompt:
            case Click():
                marks.add_points([prompt.position[1:]], is_positive, round_)
            case Box():
                marks.set_box(prompt.start[1:], tuple(stop - 1 for stop in prompt.stop[1:]), round_)
            case MaskPrompt():
                marks.set_mask(prompt.mask[frame], round_)
            case Scribble():
                line = tuple(point[1:] for point in prompt.points)
                if is_positive and options.scribbles == "mask":
                    marks.draw(_drawn(line, shape), round_)
                else:
                    marks.add_points(
                        points_along(line, options.scribble_points), is_positive, round_
                    )
            case _:
                pass


def _frames_of(prompt: Prompt) -> Iterator[int]:
    """Yield the frames that the prompt is in: several for a mask, else one."""
    if isinstance(prompt, MaskPrompt):
        yield from (int(frame) for frame in np.flatnonzero(prompt.mask.any(axis=(1, 2))))
    elif isinstance(prompt, Box):
        if prompt.stop[0] - prompt.start[0] != 1:
            frames = f"{prompt.start[0]} to {prompt.stop[0] - 1}"
            raise SegmenterError(
                f"box: expected it in one frame, got frames {frames}; give one per frame"
            )
        yield prompt.start[0]
    elif isinstance(prompt, Click | Scribble):
        yield frame_of_prompt(prompt)


def _drawn(line: tuple[Place, ...], shape: Shape) -> Mask:
    canvas: NDArray[np.uint8] = np.zeros(shape, np.uint8)
    # The last point twice: of a single one OpenCV draws nothing.
    corners = np.array([_pixel(point)[::-1] for point in (*line, line[-1])], dtype=np.int32)
    cv2.polylines(canvas, [corners], isClosed=False, color=1, thickness=1)
    return canvas.astype(np.bool_)


def _pixel(point: Place) -> tuple[int, ...]:
    return tuple(round(coordinate) for coordinate in point)
