"""Selection of the pictures to draw on: the one image, a frame of a video, some slices of a volume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.multi_object import AnyComparison, ObjectsComparison
from segarena.prompts import Scribble
from segarena.roles import Turn
from segarena.samples import Labels, Mask

_STOP_SHARE = 0.5
"""A reader stops at a slice with at least this share of the errors of the worst one."""


class PictureStack:
    """Prediction and target of a turn as a stack of pictures; an image is a stack of one.

    Args:
        turn: turn in which strokes are drawn.
    """

    def __init__(self, turn: Turn) -> None:
        judged: AnyComparison = turn.comparison
        self.objects = turn.target.objects
        if isinstance(judged, ObjectsComparison):
            ignore = judged.reference.ignore
        else:
            ignore = judged.ignore
        self.prediction = _stack(judged.prediction)
        self.target = _stack(judged.target)
        self.ignore: Mask | None = None if ignore is None else _stack(ignore).view(np.bool_)
        self.drawn_in = _drawn_pictures(turn)
        previous = turn.dialogue.previous
        self.requested_frames = None if previous is None else previous.candidates

    def ignored(self, picture: int) -> Mask | None:
        """Return the ignored pixels of a picture; None where all pixels count."""
        return None if self.ignore is None else self.ignore[picture]

    def fullest_frame(self) -> int:
        """Return the frame with the most objects; break ties by object area, then by index."""
        keys: list[tuple[int, int, int]] = []
        for frame in range(len(self.target)):
            areas = np.bincount(self._counted_labels(frame).reshape(-1), minlength=2)[1:]
            keys.append((int(np.count_nonzero(areas)), int(areas.sum()), -frame))
        return -max(keys)[2]

    def worst_frame(self) -> int:
        """Return the frame to correct: drawn in least often, then with the most errors per object pixel.

        Frames without errors are chosen only where no frame has any; the last answer may narrow the
        choice.

        Raises:
            InvalidInput: the last answer asks for a frame that does not exist.
        """
        frames = self._selectable_frames()
        errors = self.errors()
        areas = [
            np.count_nonzero(prediction | target)
            for prediction, target in zip(self.prediction, self.target, strict=True)
        ]
        error_rates = errors / np.maximum(np.array(areas), 1)
        times_drawn = Counter(self.drawn_in)
        with_errors = [frame for frame in frames if errors[frame]]
        return min(
            with_errors or frames,
            key=lambda frame: (times_drawn[frame], -error_rates[frame], frame),
        )

    def slices_to_begin(self, count: int) -> list[int]:
        """Return up to `count` slices spread evenly over those of the target, never its outermost ones."""
        planes = range(len(self.target))
        with_target = [plane for plane in planes if self._counted_labels(plane).any()]
        count = min(count, len(with_target))
        middles = [(2 * number + 1) * len(with_target) // (2 * count) for number in range(count)]
        return [with_target[middle] for middle in middles]

    def slices_to_correct(self, count: int) -> list[int]:
        """Return up to `count` slices at which a reader stops when scrolling on from the last slice drawn on.

        A reader stops where there are at least half as many errors as in the worst slice, nearest
        first.
        """
        errors = self.errors()
        stops = np.flatnonzero(errors >= max(1.0, _STOP_SHARE * errors.max(initial=0)))
        last = self.drawn_in[-1] if self.drawn_in else int(errors.argmax())
        nearest_first = sorted(
            stops.tolist(), key=lambda plane: (abs(plane - last), -errors[plane], plane)
        )
        return nearest_first[:count]

    def errors(self) -> NDArray[np.int64]:
        """Return the number of wrong pixels of each picture."""
        counts: list[int] = []
        pairs = zip(self.prediction, self.target, strict=True)
        for picture, (prediction, target) in enumerate(pairs):
            is_wrong = prediction != target
            ignore = self.ignored(picture)
            if ignore is not None:
                is_wrong &= ~ignore
            counts.append(int(np.count_nonzero(is_wrong)))
        return np.array(counts, dtype=np.int64)

    def _selectable_frames(self) -> list[int]:
        if not self.requested_frames:
            return list(range(len(self.target)))
        frames = sorted(set(self.requested_frames))
        unknown = [frame for frame in frames if not 0 <= frame < len(self.target)]
        if unknown:
            raise InvalidInput(
                f"candidates: expected frames from 0 to {len(self.target) - 1}, got {unknown}"
            )
        return frames

    def _counted_labels(self, picture: int) -> Labels:
        """Return the labels of a picture with ignored pixels set to 0, so that no stroke aims at them."""
        ignore = self.ignored(picture)
        if ignore is None:
            return self.target[picture]
        return np.where(ignore, np.uint8(0), self.target[picture])


def _stack(labels: Labels | Mask) -> Labels:
    return labels.view(np.uint8).reshape(-1, *labels.shape[-2:])


def _drawn_pictures(turn: Turn) -> Sequence[int]:
    """Return the pictures drawn in so far, in order, once for every round."""
    has_planes = len(turn.sample.shape) == 3
    pictures: list[int] = []
    for prompts in turn.dialogue.rounds:
        in_round: dict[int, None] = {}
        for prompt in prompts:
            if isinstance(prompt, Scribble):
                in_round[int(prompt.points[0][0]) if has_planes else 0] = None
        pictures += in_round
    return pictures
