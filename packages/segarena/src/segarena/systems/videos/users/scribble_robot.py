"""The robot of the DAVIS Interactive Challenge, which scribbles on the errors of the worst frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from segarena.errors import InvalidInput, InvalidPrompt
from segarena.multi_object import AnyComparison, ObjectsComparison
from segarena.prompts import Prompt, Scribble
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import Labels, Mask, Sample, Target
from segarena.systems.videos.measures.jaccard_contour import JaccardContourMetric, Void
from segarena.systems.videos.robot.frame_choice import (
    FrameCriterion,
    FrameReuse,
    first_frame,
    frame_quality,
    rank_frames,
    scribbled_frames,
)
from segarena.systems.videos.robot.scribble_lines import RobotLine, draw_lines
from segarena.systems.videos.robot.settings import (
    RobotMode,
    RobotPreset,
    RobotSettings,
    TieBreak,
    robot_preset,
)
from segarena.systems.videos.scribbles.files import Scribbles, check_scribbles, is_empty
from segarena.systems.videos.scribbles.prompt_conversion import line_prompt, prompts_from_scribbles


@user("scribble-robot")
class ScribbleRobot:
    """Draw on the errors of the worst frame of a video, with one line in each sufficiently large component.

    In the first round, people's scribbles are replayed if the sample has some, with one dialogue
    per person. Otherwise the robot draws on the objects in the frame that shows most of them, as if
    the prediction were empty.

    If the robot has nothing to draw, it warns, unless there is no error. In mode "checked", the
    dialogue then ends.

    Args:
        preset: published set of parameters: "default", "local-1.0.4" or "server-2020"; see
            `segarena.systems.videos.robot.settings`.
        mode: "checked": lines stay on the true label, thin errors also get lines, and if no error
            in the worst frame is large enough, the next worst frame is tried. "published": as in
            the published code, which then tries no other frame, draws nothing in this round, and
            continues.
        ties: rule for ties in the skeleton: "raster" or "permutation"; None means "permutation" in
            mode "published" and "raster" in mode "checked".
        judge: criterion for the worst frame: "j_and_f", "jaccard" or "contour".
        kernel_size: overrides the preset: diameter of the disk that opens an error, as a share of
            the square root of the error's area; at least 0, below 1.
        max_radius_px: overrides the preset: maximum radius of that disk, below 1000.
        min_nodes: overrides the preset: skeletons with fewer pixels yield no line.
        max_points: overrides the preset: maximum number of points in a line.

    Raises:
        InvalidInput: a number is out of its range.

    Attributes:
        settings: the effective parameters.
        may_be_silent: whether the dialogue continues after a round without lines.
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
        self.settings: RobotSettings = robot_preset(
            preset,
            mode=mode,
            ties=ties,
            kernel_size=kernel_size,
            max_radius_px=max_radius_px,
            min_nodes=min_nodes,
            max_points=max_points,
        )
        self._judge: FrameCriterion = judge
        is_published = mode == "published"
        void: Void = "background" if is_published else "ignore"
        self._metric = JaccardContourMetric(void=void)
        self._reuse: FrameReuse = "published" if is_published else "in-turn"
        self.may_be_silent = is_published

    def repeats(self, sample: Sample, target: Target) -> int:
        """Return the number of people whose first scribbles are available; 1 if there are none."""
        return max(1, len(_first_scribbles(sample)))

    def next(self, turn: Turn) -> Sequence[Scribble] | None:
        """Return the lines of this round. If there are none, return None, or () if `may_be_silent`.

        The robot's lines are all in one frame; people's lines may be in several. An image is
        treated as a video of one frame, whose lines have no frame coordinate.

        Raises:
            InvalidInput: the sample is not a video or image, people's scribbles do not fit it, or
                the last prediction requests a frame that does not exist.
        """
        if len(turn.sample.shape) not in (2, 3):
            raise InvalidInput(
                f"scribble-robot needs a video; sample {turn.sample.id} has shape {turn.sample.shape}"
            )
        lines = self._first_round(turn) if turn.round == 1 else self._correction(turn)
        return lines if lines or self.may_be_silent else None

    def _first_round(self, turn: Turn) -> Sequence[Scribble]:
        """Return the lines of the first round: a person's lines if there are any."""
        people = _first_scribbles(turn.sample)
        if not people:
            frames = [first_frame(_frames(turn.target.mask))]
            return self._draw(turn, frames, marks_all=True)
        frame_count = turn.sample.shape[0]
        data = check_scribbles(people[turn.repeat], frames=frame_count, objects=turn.target.objects)
        if is_empty(data) and not self.may_be_silent:
            raise InvalidPrompt(
                f"scribbles {turn.repeat + 1} of sample {turn.sample.id}: expected at least one line, got none; "
                "draw one, or remove the file"
            )
        return prompts_from_scribbles(data, turn.sample.shape)

    def _correction(self, turn: Turn) -> Sequence[Scribble]:
        """Return the lines of a later round, in a frame that the last prediction requests, by default in any frame."""
        quality = frame_quality(self._metric.of(turn.comparison), self._judge)
        previous = turn.dialogue.previous
        candidates = None if previous is None else previous.candidates
        # If the sample has scribbles, the first round is a person's, and frames with people's
        # scribbles do not count as used.
        first_own = 1 if _first_scribbles(turn.sample) else 0
        # An image has no frames to choose from.
        is_video = len(turn.sample.shape) == 3
        used = scribbled_frames(turn.dialogue.rounds[first_own:]) if is_video else ()
        frames = rank_frames(quality, used, candidates, reuse=self._reuse)
        if self.settings.mode == "published":
            # Frames of silent rounds count as used. As long as the prediction does not change, each
            # was the worst unused frame.
            silent = _trailing_empty(turn.dialogue.rounds[1:])
            frames = (frames[silent % len(frames)],)
        return self._draw(turn, frames)

    def _draw(
        self,
        turn: Turn,
        frames: Sequence[int],
        *,
        marks_all: bool = False,
    ) -> Sequence[Scribble]:
        """Return the lines in the first of `frames` that yields any; warn if none does although there are errors."""
        prediction = _frames(_predicted(turn))
        target = _frames(turn.target.mask)
        objects = turn.target.objects
        ignore = None
        if turn.target.ignore is not None:
            ignore = _frames(turn.target.ignore).view(np.bool_)
        for frame in frames:
            ignored_in_frame = None if ignore is None else ignore[frame]
            lines = draw_lines(
                prediction[frame],
                target[frame],
                self.settings,
                objects=objects,
                ignore=ignored_in_frame,
                marks_all=marks_all,
            )
            if lines:
                return _line_prompts(lines, frame, turn)
        wrong = prediction != target
        if ignore is not None:
            wrong &= ~ignore
        if wrong.any():
            where = f"{len(frames)} frames"
            if len(frames) == 1:
                where = f"frame {frames[0]}"
            warnings.warn(
                f"scribble-robot found nothing large enough to draw on in sample {turn.sample.id}, {where}, "
                f"round {turn.round}, although there are errors; nothing is drawn",
                stacklevel=3,
            )
        return ()


def _line_prompts(
    lines: Sequence[RobotLine],
    frame: int,
    turn: Turn,
) -> tuple[Scribble, ...]:
    """Return the robot's lines in a frame as prompts."""
    # Positions in a video start with the frame index.
    if len(turn.sample.shape) == 3:
        return tuple(line_prompt(frame, line.points, line.object_id) for line in lines)
    prompts: list[Scribble] = []
    for line in lines:
        prompt = line_prompt(None, line.points, line.object_id)
        # Image segmenters expect a negative stroke on their single object, and do not know object
        # 0.
        if turn.target.objects == 1:
            prompt = replace(prompt, object_id=1)
        prompts.append(prompt)
    return tuple(prompts)


def _trailing_empty(rounds: Sequence[Sequence[Prompt]]) -> int:
    """Return the number of rounds at the end of a dialogue that have no prompts."""
    count = 0
    for prompts in reversed(rounds):
        if prompts:
            break
        count += 1
    return count


def _first_scribbles(sample: Sample) -> Sequence[Scribbles]:
    return getattr(sample, "scribbles", ())


def _frames(labels: Labels | Mask) -> Labels:
    """Return labels as (T, H, W), those of an image as one frame."""
    return labels.view(np.uint8).reshape(-1, *labels.shape[-2:])


def _predicted(turn: Turn) -> Labels:
    """Return the last prediction as labels, for one or several objects."""
    comparison: AnyComparison = turn.comparison
    if isinstance(comparison, ObjectsComparison):
        return comparison.prediction
    return comparison.given.view(np.uint8)
