"""Choice of the frame in which the robot draws."""

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
    """Return the quality of each frame: the mean over objects of J, of F, or of their mean.

    Raises:
        InvalidInput: there are no objects.
    """
    if not len(values.jaccard):
        raise InvalidInput("frame quality: expected at least one object, got none")
    if judge == "jaccard":
        quality = values.jaccard
    elif judge == "contour":
        quality = values.contour
    else:
        quality = 0.5 * values.jaccard + 0.5 * values.contour
    return quality.mean(axis=0)


def rank_frames(
    quality: NDArray[np.float64],
    used: Iterable[int] = (),
    candidates: Sequence[int] | None = None,
    *,
    reuse: FrameReuse = "in-turn",
) -> tuple[int, ...]:
    """Return the candidate frames in the order in which the robot should draw; ties go to the earlier frame.

    Args:
        quality: quality of each frame, see `frame_quality`.
        used: the frames in which the robot drew before, one entry per round; frames with human
            lines are not included.
        candidates: the requested frames; None or an empty list means all.
        reuse: "in-turn" orders all candidates by how often they were used, and equally often used
            ones by quality, so that no candidate is repeated before all were used. "published"
            orders the unused candidates by quality; once all were used it orders all of them, so an
            unchanged prediction gets the same frame again and again.

    Returns:
        At least one frame.

    Raises:
        InvalidInput: a candidate is not a frame of the video, or there are no frames.

    Source: the published session, whose sort is unstable for ties and which reports invalid
    candidates only later.
    """
    frames = len(quality)
    allowed = check_candidates(candidates, frames)
    times_used = Counter(used)
    if reuse == "in-turn":
        return tuple(sorted(allowed, key=lambda frame: (times_used[frame], quality[frame], frame)))
    # The published session returns to the overall worst frame once every frame was used.
    unused = [frame for frame in allowed if not times_used[frame]]
    return tuple(sorted(unused or allowed, key=lambda frame: (quality[frame], frame)))


def check_candidates(candidates: Sequence[int] | None, frames: int) -> tuple[int, ...]:
    """Return the distinct candidates in order, or all frames if there are no candidates.

    Raises:
        InvalidInput: a candidate is not a frame of the video, or there are no frames.
    """
    if not frames:
        raise InvalidInput("expected a video with at least one frame, got none")
    # An empty list also means all frames, as in the published session.
    if candidates is None or not len(candidates):
        return tuple(range(frames))
    try:
        found = sorted({operator.index(frame) for frame in candidates})
    except TypeError as error:
        raise InvalidInput(f"candidates: expected frame indices, got {list(candidates)}") from error
    outside = [frame for frame in found if not 0 <= frame < frames]
    if outside:
        names = ", ".join(map(str, outside))
        raise InvalidInput(f"candidates: expected frame indices 0 to {frames - 1}, got {names}")
    return tuple(found)


def scribbled_frames(rounds: Iterable[Sequence[Prompt]]) -> tuple[int, ...]:
    """Return the frames with scribbles, round by round; each frame occurs once per round."""
    scribbled: list[int] = []
    for prompts in rounds:
        frames: set[int] = set()
        for prompt in prompts:
            if isinstance(prompt, Scribble):
                # A scribble lies in one frame, the first coordinate of all its points.
                frame = prompt.points[0][0]
                frames.add(int(frame))
        scribbled += sorted(frames)
    return tuple(scribbled)


def first_frame(target: Labels) -> int:
    """Return the first frame to draw in: the one with the most objects.

    Ties go to the frame with the most object pixels, then to the earliest frame. This way the robot
    draws on as many objects as possible at least once.

    Args:
        target: uint8 (T, H, W), T at least 1.
    """
    best = 0
    best_score = (-1, -1)
    for frame, labels in enumerate(target):
        # Label 0 is the background, which is not an object.
        object_px = np.bincount(labels.ravel(), minlength=256)[1:]
        score = (int(np.count_nonzero(object_px)), int(object_px.sum()))
        if score > best_score:
            best = frame
            best_score = score
    return best
