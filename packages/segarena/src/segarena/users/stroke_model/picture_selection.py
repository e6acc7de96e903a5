"""In which pictures somebody draws: the one image, a frame of a video, some slices of a volume."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.objects import Judged, ObjectsComparison
from segarena.prompts import Scribble
from segarena.roles import Turn
from segarena.samples import Labels, Mask

_NEAR_WORST = 0.5
"""A reader stops at a slice with at least this share of the errors of the worst one."""


class PictureStack:
    """Prediction and target of a turn, picture by picture; an image is one picture.

    Args:
        turn: of whom it is to draw.
    """

    def __init__(self, turn: Turn) -> None:
        judged: Judged = turn.comparison
        self.objects = turn.target.objects
        several = isinstance(judged, ObjectsComparison)
        ignore = judged.reference.ignore if several else judged.ignore
        self.prediction = _stacked(judged.prediction)
        self.target = _stacked(judged.target)
        self.ignore: Mask | None = None if ignore is None else _stacked(ignore).view(np.bool_)
        self.drawn_in = _drawn_in(turn)
        if turn.dialogue.previous is None:
            self.asked_for = None
        else:
            self.asked_for = turn.dialogue.previous.candidates

    def ignored(self, picture: int) -> Mask | None:
        """Return the pixels of a picture that do not count; None where all do."""
        return None if self.ignore is None else self.ignore[picture]

    def fullest_frame(self) -> int:
        """Return the frame with the most objects, of those with the most object pixels, of those the first."""
        counts = [
            np.bincount(self._there(at).reshape(-1), minlength=2)[1:]
            for at in range(len(self.target))
        ]
        return max(
            range(len(counts)), key=lambda at: (np.count_nonzero(counts[at]), counts[at].sum(), -at)
        )

    def worst_frame(self) -> int:
        """Return the frame to correct: of those drawn in least often, the one with most errors for what is there.

        Raises:
            InvalidInput: the last answer asks for what is no frame.
        """
        frames = range(len(self.target)) if not self.asked_for else sorted(set(self.asked_for))
        wrong_frames = [frame for frame in frames if not 0 <= frame < len(self.target)]
        if wrong_frames:
            raise InvalidInput(
                f"candidates: expected frames from 0 to {len(self.target) - 1}, got {wrong_frames}"
            )
        errors = self.errors()
        there = np.array(
            [
                np.count_nonzero(one | other)
                for one, other in zip(self.prediction, self.target, strict=True)
            ]
        )
        badness = errors / np.maximum(there, 1)
        times = Counter(self.drawn_in)
        wrong = [frame for frame in frames if errors[frame]] or list(frames)
        return min(wrong, key=lambda frame: (times[frame], -badness[frame], frame))

    def slices_to_begin(self, count: int) -> list[int]:
        """Return up to `count` slices spread evenly over those of the target, never its tips."""
        there = [plane for plane in range(len(self.target)) if self._there(plane).any()]
        count = min(count, len(there))
        return [there[(2 * number + 1) * len(there) // (2 * count)] for number in range(count)]

    def slices_to_correct(self, count: int) -> list[int]:
        """Return up to `count` slices that a reader stops at who scrolls on from where they drew last.

        They stop where there are at least half as many errors as in the worst slice, nearest first.
        """
        errors = self.errors()
        bad = np.flatnonzero(errors >= max(1.0, _NEAR_WORST * errors.max(initial=0)))
        last = self.drawn_in[-1] if self.drawn_in else int(errors.argmax())
        return sorted(bad.tolist(), key=lambda plane: (abs(plane - last), -errors[plane], plane))[
            :count
        ]

    def _there(self, picture: int) -> Labels:
        """Return the labels of a picture as far as they count: nothing is to be drawn on what is ignored."""
        ignore = self.ignored(picture)
        if ignore is None:
            return self.target[picture]
        return np.where(ignore, np.uint8(0), self.target[picture])

    def errors(self) -> NDArray[np.int64]:
        """Return how many pixels of each picture are wrong."""
        counts: list[int] = []
        for picture, (prediction, target) in enumerate(
            zip(self.prediction, self.target, strict=True)
        ):
            wrong = prediction != target
            ignore = self.ignored(picture)
            counts.append(int(np.count_nonzero(wrong if ignore is None else wrong & ~ignore)))
        return np.array(counts, dtype=np.int64)


def _stacked(labels: Labels | Mask) -> Labels:
    return labels.view(np.uint8).reshape(-1, *labels.shape[-2:])


def _drawn_in(turn: Turn) -> Sequence[int]:
    """Return the pictures drawn in so far, in order, once for every round."""
    found: list[int] = []
    for prompts in turn.dialogue.rounds:
        lines = [prompt for prompt in prompts if isinstance(prompt, Scribble)]
        found += dict.fromkeys(
            int(line.points[0][0]) if len(turn.sample.shape) == 3 else 0 for line in lines
        )
    return found
