"""Which frame the robot draws in."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.prompts import Prompt, Scribble
from segarena.samples import Labels
from segarena.systems.videos.measures.jaccard_contour import JaccardContour

FrameCriterion: TypeAlias = Literal["j_and_f", "jaccard", "contour"]
FrameReuse: TypeAlias = Literal["in-turn", "published"]


def frame_quality(values: JaccardContour, judge: FrameCriterion = "j_and_f") -> NDArray[np.float64]:
    """Return how good each frame is: the mean over objects of J, of F, or of their mean.

    Raises:
        InvalidInput: there are no objects.
    """
    if not len(values.jaccard):
        raise InvalidInput("expected at least one object to judge frames by, got none")
    quality = {
        "jaccard": values.jaccard,
        "contour": values.contour,
        "j_and_f": 0.5 * values.jaccard + 0.5 * values.contour,
    }
    return quality[judge].mean(axis=0)


def rank_frames(
    quality: NDArray[np.float64],
    used: Iterable[int] = (),
    candidates: Sequence[int] | None = None,
    *,
    reuse: FrameReuse = "in-turn",
) -> tuple[int, ...]:
    """Return the frames that may be drawn in, the one to draw in first; of equally bad ones the earlier first.

    Args:
        quality: of each frame, as `frame_quality` gives it.
        used: the frames the robot has drawn in, one for each time; frames that people drew in are not among them.
        candidates: the frames that were asked for; None or none means all.
        reuse: "in-turn": all candidates, those used least often first and of these the worst one, so that all have
            their turn again when all were used. "published": the candidates not used, the worst one first; when all
            were, all of them, so that an unchanged prediction gets the same frame again and again.

    Returns:
        At least one frame.

    Raises:
        InvalidInput: a candidate is no frame of the video, or there are no frames.

    Source: the published session, which sorts equals in no stable order and, of candidates that are no frames, says so
    too late.
    """
    frames = len(quality)
    allowed = check_candidates(candidates, frames)
    times = Counter(used)
    if reuse == "in-turn":
        return tuple(sorted(allowed, key=lambda frame: (times[frame], quality[frame], frame)))
    pool = [frame for frame in allowed if not times[frame]] or allowed
    return tuple(sorted(pool, key=lambda frame: (quality[frame], frame)))


def check_candidates(candidates: Sequence[int] | None, frames: int) -> tuple[int, ...]:
    """Return the distinct candidates in order, all frames when there are none.

    Raises:
        InvalidInput: one of them is no frame of the video, or there are no frames.
    """
    if not frames:
        raise InvalidInput("expected a video with at least one frame, got none")
    if candidates is None or not len(candidates):
        return tuple(range(frames))
    try:
        found = sorted({operator.index(frame) for frame in candidates})
    except TypeError as error:
        raise InvalidInput(
            f"candidates: expected numbers of frames, got {list(candidates)}"
        ) from error
    wrong = [frame for frame in found if not 0 <= frame < frames]
    if wrong:
        raise InvalidInput(
            f"candidates: frames go from 0 to {frames - 1}, got {', '.join(map(str, wrong))}"
        )
    return tuple(found)


def scribbled_frames(rounds: Iterable[Sequence[Prompt]]) -> tuple[int, ...]:
    """Return the frames of the scribbles in each round, in order, a frame once for every round."""
    found: list[int] = []
    for prompts in rounds:
        found.extend(
            sorted({int(prompt.points[0][0]) for prompt in prompts if isinstance(prompt, Scribble)})
        )
    return tuple(found)


def first_frame(target: Labels) -> int:
    """Return the frame to begin with: the one with the most objects, then with the most object pixels, then the first.

    So that as many objects as possible are drawn on at least once.

    Args:
        target: uint8 (T, H, W), T at least 1.
    """
    counts = [np.bincount(frame.ravel(), minlength=256)[1:] for frame in target]
    return max(
        range(len(counts)),
        key=lambda frame: (np.count_nonzero(counts[frame]), counts[frame].sum(), -frame),
    )
