"""Selection of the pictures to draw on: an image itself, a frame of a video, or some slices of a volume."""

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
"""A reader stops at a slice with at least this share of the worst slice's errors."""


class PictureStack:
    """Prediction and target of a turn as a stack of pictures; an image is a stack with one picture.

    Args:
        turn: turn in which strokes are drawn.
    """

    def __init__(self, turn: Turn) -> None:
        comparison: AnyComparison = turn.comparison
        self.objects = turn.target.objects
        if isinstance(comparison, ObjectsComparison):
            ignore = comparison.reference.ignore
        else:
            ignore = comparison.ignore
        self.prediction = _stack(comparison.prediction)
        self.target = _stack(comparison.target)
        self.ignore: Mask | None = None
        if ignore is not None:
            self.ignore = _stack(ignore).view(np.bool_)
        self.drawn_in = _drawn_pictures(turn)
        previous = turn.dialogue.previous
        self.requested_frames = None if previous is None else previous.candidates

    def ignored(self, picture: int) -> Mask | None:
        """Return the ignored pixels of a picture; None if all pixels count."""
        if self.ignore is None:
            return None
        return self.ignore[picture]

    def fullest_frame(self) -> int:
        """Return the frame with the most objects; break ties by object area, then by index."""
        fullest = 0
        most = (-1, -1)
        for frame in range(len(self.target)):
            labels = self._counted_labels(frame).reshape(-1)
            object_areas = np.bincount(labels, minlength=2)[1:]
            objects = int(np.count_nonzero(object_areas))
            fullness = (objects, int(object_areas.sum()))
            if fullness > most:
                fullest = frame
                most = fullness
        return fullest

    def worst_frame(self) -> int:
        """Return the frame to correct: of the frames with errors, one of those drawn in least often.

        Of these, it is the frame with the most errors per pixel of predicted or true objects, or the
        first such frame. If no frame has errors, the choice is among all frames. In both cases, the
        last prediction may limit the choice to the frames that it requests.

        Raises:
            InvalidInput: the last prediction requests a frame that does not exist.
        """
        frames = self._selectable_frames()
        errors = self.errors()
        areas: list[int] = []
        for prediction, target in zip(self.prediction, self.target, strict=True):
            shown = prediction | target
            areas.append(int(np.count_nonzero(shown)))
        error_rates = errors / np.maximum(np.array(areas), 1)
        times_drawn = Counter(self.drawn_in)
        with_errors = [frame for frame in frames if errors[frame]]

        def order(frame: int) -> tuple[int, float, int]:
            return times_drawn[frame], -error_rates[frame], frame

        return min(with_errors or frames, key=order)

    def slices_to_begin(self, count: int) -> list[int]:
        """Return up to `count` slices spread evenly over the target, each in the middle of an equal part of it."""
        planes = range(len(self.target))
        with_target = [plane for plane in planes if self._counted_labels(plane).any()]
        total = len(with_target)
        count = min(count, total)
        slices: list[int] = []
        for number in range(count):
            # The slice in the middle of each of `count` equal parts.
            middle = (2 * number + 1) * total // (2 * count)
            slices.append(with_target[middle])
        return slices

    def slices_to_correct(self, count: int) -> list[int]:
        """Return up to `count` slices at which a reader stops when scrolling on from the last slice drawn on.

        A reader stops at slices with at least half as many errors as the worst slice, nearest
        first.
        """
        errors = self.errors()
        least_errors = max(1.0, _STOP_SHARE * errors.max(initial=0))
        stops = np.flatnonzero(errors >= least_errors)
        last = self.drawn_in[-1] if self.drawn_in else int(errors.argmax())

        def order(plane: int) -> tuple[int, int, int]:
            return abs(plane - last), -int(errors[plane]), plane

        nearest_first = sorted(stops.tolist(), key=order)
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
    """Return the pictures drawn in so far, in order, once per round."""
    has_planes = len(turn.sample.shape) == 3
    pictures: list[int] = []
    for prompts in turn.dialogue.rounds:
        in_round: list[int] = []
        for prompt in prompts:
            if not isinstance(prompt, Scribble):
                continue
            picture = int(prompt.points[0][0]) if has_planes else 0
            if picture not in in_round:
                in_round.append(picture)
        pictures += in_round
    return pictures
