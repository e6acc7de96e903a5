"""The robot of the DAVIS Interactive Challenge: scribbles on the errors of the worst frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from segarena.errors import InvalidInput, InvalidPrompt
from segarena.objects import Judged, ObjectsComparison
from segarena.prompts import Scribble
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Labels, Mask, Sample, Target
from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric
from segarena.systems.videos.robot.frame_choice import (
    FrameCriterion,
    FrameReuse,
    first_frame,
    frame_quality,
    rank_frames,
    scribbled_frames,
)
from segarena.systems.videos.robot.scribble_lines import draw_lines
from segarena.systems.videos.robot.settings import RobotMode, RobotPreset, RobotSettings, TieBreak
from segarena.systems.videos.robot.settings import robot_preset as find_preset
from segarena.systems.videos.scribbles.files import Scribbles, check_scribbles, is_empty
from segarena.systems.videos.scribbles.prompt_conversion import line_prompt, prompts_from_scribbles


@user("scribble-robot")
class ScribbleRobot:
    """Draws on what is wrong in the worst frame of a video, a line for each large enough part.

    The first round gives the scribbles that people drew, where the sample has some: one dialogue for each person. Where
    it has none, the robot draws on the objects in the frame that shows the most of them, as if nothing were predicted.

    Ends the dialogue when it has nothing to draw: silently when nothing is wrong, with a warning otherwise.

    Args:
        preset: which published parameters: "default", "local-1.0.4" or "server-2020"; see
            `segarena.systems.videos.robot.settings`.
        mode: "checked": lines stay on the true label, thin errors are drawn on, and if nothing in the worst frame is
            large enough the next one is tried. "published": as the published code does; it tries no other frame, gives
            nothing in this round, and goes on.
        ties: of the skeleton: "raster" or "permutation"; None takes "permutation" as published, "raster" otherwise.
        judge: what makes a frame bad: "j_and_f", "jaccard" or "contour".
        kernel_size: instead of the preset's: diameter of the disk that opens an error, as a share of the square root of
            the error's pixels; at least 0, below 1.
        max_radius_px: instead of the preset's: the largest radius of that disk, below 1000.
        min_nodes: instead of the preset's: skeletons of fewer pixels give no line.
        max_points: instead of the preset's: how many points a line has at most.

    Raises:
        InvalidInput: a number is out of its range.

    Attributes:
        settings: the parameters in force.
        may_be_silent: whether a round without lines goes on instead of ending the dialogue.
    """

    prompt_kinds = frozenset({"scribble"})
    corrects_objects = True

    def __init__(
        self,
        *,
        preset: RobotPreset = "default",
        mode: RobotMode = "checked",
        ties: TieBreak | None = None,
        judge: FrameCriterion = "j_and_f",
        kernel_size: float | None = None,
        max_radius_px: float | None = None,
        min_nodes: int | None = None,
        max_points: int | None = None,
    ) -> None:
        numbers = {"kernel_size": kernel_size, "max_radius_px": max_radius_px}
        counts = {"min_nodes": min_nodes, "max_points": max_points}
        self.settings: RobotSettings = find_preset(
            preset, mode=mode, ties=ties, **numbers, **counts
        )
        self._judge: FrameCriterion = judge
        is_published = mode == "published"
        self._metric = JaccardContourMetric(void="background" if is_published else "ignore")
        self._reuse: FrameReuse = "published" if is_published else "in-turn"
        self.may_be_silent = is_published

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return how many people drew first scribbles; 1 where nobody did."""
        return max(1, len(_first_scribbles(sample)))

    def next(self, turn: Turn) -> Sequence[Scribble] | None:
        """Return the lines of this round, all in one frame (people's may be in several); None when there are none.

        An image is a video of one frame, whose lines have no frame.

        Raises:
            InvalidInput: the sample is no video or image, people's scribbles do not fit it, or the last answer asks for
                what is no frame of it.
        """
        if len(turn.sample.shape) not in (2, 3):
            raise InvalidInput(
                f"scribble-robot draws in videos; sample {turn.sample.id} has shape {turn.sample.shape}"
            )
        lines = self._begin(turn) if turn.round == 1 else self._correct(turn)
        return lines if lines or self.may_be_silent else None

    def _begin(self, turn: Turn) -> Sequence[Scribble]:
        """Return the lines of the first round: those of a person where there are any."""
        people = _first_scribbles(turn.sample)
        if people:
            data = check_scribbles(
                people[turn.repeat], frames=turn.sample.shape[0], objects=turn.target.objects
            )
            if is_empty(data) and not self.may_be_silent:
                raise InvalidPrompt(
                    f"scribbles {turn.repeat + 1} of sample {turn.sample.id}: expected a line to begin with, got none; "
                    "draw one, or take the file away"
                )
            return prompts_from_scribbles(data, turn.sample.shape)
        return self._draw(turn, [first_frame(_frames(turn.target.mask))], marks_all=True)

    def _correct(self, turn: Turn) -> Sequence[Scribble]:
        """Return the lines of a later round, in a frame of those that the last answer asks for."""
        quality = frame_quality(self._metric.of(turn.comparison), self._judge)
        own = turn.dialogue.rounds[bool(_first_scribbles(turn.sample)) :]
        previous = turn.dialogue.previous
        candidates = None if previous is None else previous.candidates
        used = scribbled_frames(own) if len(turn.sample.shape) == 3 else ()
        frames = rank_frames(quality, used, candidates, reuse=self._reuse)
        if self.settings.mode == "published":
            # The frames of silent rounds count as used; as long as nothing changes they are the worst of the others.
            corrections = turn.dialogue.rounds[1:]
            silent = next(
                (count for count, lines in enumerate(reversed(corrections)) if lines),
                len(corrections),
            )
            frames = (frames[silent % len(frames)],)
        return self._draw(turn, frames)

    def _draw(
        self, turn: Turn, frames: Sequence[int], *, marks_all: bool = False
    ) -> Sequence[Scribble]:
        """Return the lines in the first of `frames` that gets any; warn when none does, though something is wrong."""
        prediction = _frames(_predicted(turn))
        target = _frames(turn.target.mask)
        objects = turn.target.objects
        if turn.target.ignore is None:
            ignore = None
        else:
            ignore = _frames(turn.target.ignore).view(np.bool_)
        for frame in frames:
            void = None if ignore is None else ignore[frame]
            lines = draw_lines(
                prediction[frame],
                target[frame],
                self.settings,
                objects=objects,
                ignore=void,
                marks_all=marks_all,
            )
            if lines:
                if len(turn.sample.shape) == 3:
                    return tuple(line_prompt(frame, line.points, line.object_id) for line in lines)
                # Segmenters of images know a stroke off their one object, and no object 0.
                drawn = (line_prompt(None, line.points, line.object_id) for line in lines)
                return tuple(replace(line, object_id=1) if objects == 1 else line for line in drawn)
        wrong = prediction != target
        if (wrong if ignore is None else wrong & ~ignore).any():
            shown = f"frame {frames[0]}" if len(frames) == 1 else f"{len(frames)} frames"
            warnings.warn(
                f"scribble-robot found nothing large enough to draw on in sample {turn.sample.id}, {shown}, "
                f"round {turn.round}, though not all is right; nothing is drawn",
                stacklevel=3,
            )
        return ()


def _first_scribbles(sample: Sample) -> Sequence[Scribbles]:
    return getattr(sample, "scribbles", ())


def _frames(labels: Labels | Mask) -> Labels:
    """Return labels as (T, H, W), those of an image as one frame."""
    return labels.view(np.uint8).reshape(-1, *labels.shape[-2:])


def _predicted(turn: Turn) -> Labels:
    """Return the last prediction as labels, whether several objects are judged or one."""
    comparison: Judged = turn.comparison
    if isinstance(comparison, ObjectsComparison):
        return comparison.prediction
    return comparison.given.view(np.uint8)
