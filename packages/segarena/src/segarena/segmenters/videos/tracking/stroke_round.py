"""One round of strokes, which changes the frames up to the next frame with earlier strokes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

import cv2
import numpy as np

from segarena.dialogue import Dialogue, Prediction
from segarena.samples import Labels, Shape
from segarena.segmenters.videos.tracking.frame_strokes import (
    BACKGROUND,
    FrameStroke,
    LabelMarks,
    apply_marks_to_labels,
    check_round,
    draw_strokes,
    group_by_frame,
    read_strokes,
    stroke_object_ids,
)
from segarena.segmenters.videos.tracking.stroke_seeds import mark_border
from segarena.segmenters.videos.tracking.working_video import Field, WorkingVideo

Rounds: TypeAlias = Sequence[Sequence[FrameStroke]]
Advance: TypeAlias = Callable[[Labels | None, Rounds], Labels]
"""Function that maps the previous labels (T, H, W), None in the first round, and all strokes to new labels."""


class FrameRange(NamedTuple):
    """Frames `first` to `last` to solve again, and the nearest frames with strokes before and after, if any."""

    first: int
    last: int
    before: int | None
    after: int | None


@dataclass(
    frozen=True,
    slots=True,
    kw_only=True,
    eq=False,
)
class StrokeRound:
    """Strokes and previous labels of one round.

    Attributes:
        video: the video at working size.
        previous: uint8 (T, H, W), labels of the previous round; None in the first round.
        strokes: strokes of all rounds, by frame.
        marks: strokes of all rounds drawn at working size; in the first round with `mark_border`.
        fresh: strokes of this round, drawn at working size.
        ids: 0 and the object ids, ascending; layers are in this order.
    """

    video: WorkingVideo
    previous: Labels | None
    strokes: Mapping[int, Sequence[FrameStroke]]
    marks: Mapping[int, LabelMarks]
    fresh: Mapping[int, LabelMarks]
    ids: tuple[int, ...]

    @classmethod
    def of(
        cls,
        video: WorkingVideo,
        previous: Labels | None,
        rounds: Rounds,
        *,
        stroke_px: int,
        reach: float,
    ) -> StrokeRound:
        """Build the newest round, and draw the strokes of all rounds so far."""
        strokes = list(chain(*rounds))

        def draw(frames: Mapping[int, Sequence[FrameStroke]]) -> dict[int, LabelMarks]:
            drawn: dict[int, LabelMarks] = {}
            for frame, of_frame in frames.items():
                drawn[frame] = draw_strokes(
                    of_frame, video.size, scale=video.scale, width_px=stroke_px
                )
            return drawn

        frames = group_by_frame(strokes)
        marks = draw(frames)
        fresh = draw(group_by_frame(rounds[-1]))
        if previous is None:
            marks = {frame: mark_border(drawn, reach=reach) for frame, drawn in marks.items()}
        ids = (BACKGROUND, *stroke_object_ids(strokes))
        return cls(
            video=video,
            previous=previous,
            strokes=frames,
            marks=marks,
            fresh=fresh,
            ids=ids,
        )

    @property
    def has_object(self) -> bool:
        """Whether at least one stroke so far is positive."""
        strokes = chain(*self.strokes.values())
        return any(stroke.label != BACKGROUND for stroke in strokes)

    def empty(self) -> Labels:
        """Return labels without any object."""
        return np.zeros(self.video.shape, dtype=np.uint8)

    def previous_at(self, frame: int) -> Labels | None:
        """Return the previous labels of a frame, at working size; None in the first round."""
        if self.previous is None:
            return None
        ids = np.asarray(self.ids, dtype=np.uint8)
        likeliest = self.layers(frame).argmax(axis=0)
        return ids[likeliest]

    def layers(self, frame: int) -> Field:
        """Return the previous labels of a frame as float32 layers (labels, h, w); all background in the first round."""
        if self.previous is None:
            labels = self.empty()[frame]
        else:
            labels = self.previous[frame]
        size = self.video.size[::-1]
        stack: list[cv2.typing.MatLike] = []
        for label in self.ids:
            is_label = (labels == label).astype(np.float32)
            stack.append(cv2.resize(is_label, size, interpolation=cv2.INTER_AREA))
        return np.stack(stack).astype(np.float32)

    def open_ranges(self) -> Iterator[FrameRange]:
        """Yield the ranges between neighbouring frames with strokes, if either frame has fresh strokes."""
        # None stands for the start and for the end of the video.
        ends: list[int | None] = [None, *sorted(self.marks), None]
        for before, after in pairwise(ends):
            first = 0 if before is None else before + 1
            last = self.video.shape[0] - 1 if after is None else after - 1
            if first <= last and (before in self.fresh or after in self.fresh):
                yield FrameRange(first, last, before, after)

    def merge(self, layers: Mapping[int, Field]) -> Labels:
        """Return new labels: the highest layer in these frames, the previous labels elsewhere, and strokes on top."""
        labels = self.empty() if self.previous is None else self.previous.copy()
        shape = (self.video.shape[1], self.video.shape[2])
        for frame, stack in layers.items():
            if self.video.size == shape:
                full = stack
            else:
                size = shape[::-1]
                resized = [
                    cv2.resize(layer, size, interpolation=cv2.INTER_LINEAR) for layer in stack
                ]
                full = np.stack(resized)
            labels[frame] = np.asarray(self.ids, dtype=np.uint8)[full.argmax(axis=0)]
        for frame in self.fresh:
            labels[frame] = apply_marks_to_labels(
                labels[frame], draw_strokes(self.strokes[frame], shape)
            )
        return labels


def answer_round(
    dialogue: Dialogue,
    shape: Shape,
    advance: Advance,
) -> Prediction:
    """Return the prediction of the newest round; without a previous prediction, solve all rounds in order.

    The mask is bool if all prompts are about object 1 or the background, and labels otherwise.

    Raises:
        SegmenterError: no prompt in this round, or one of a wrong kind.
        InvalidPrompt: a prompt is outside the video.
    """
    check_round(dialogue)
    rounds = [read_strokes(prompts, shape) for prompts in dialogue.rounds]
    if dialogue.previous is None:
        labels = None
        first = 1
    else:
        labels = dialogue.previous.mask.astype(np.uint8)
        first = len(rounds)
    for count in range(first, len(rounds) + 1):
        labels = advance(labels, rounds[:count])
    if labels is None:
        labels = np.zeros(shape, dtype=np.uint8)
    has_one_object = set(stroke_object_ids(chain(*rounds))) <= {1}
    if has_one_object:
        return Prediction(mask=labels == 1)
    return Prediction(mask=labels)
