"""A user who draws strokes as people do: on the object first, then on what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.arrays.lines import Points
from segarena.dialogue import Lift
from segarena.errors import InvalidInput
from segarena.prompts import Scribble
from segarena.registry import user
from segarena.roles import Turn
from segarena.samples import VideoSample, VolumeSample
from segarena.users.habits.crowd import Crowd
from segarena.users.stroke_model.model import (
    SHIPPED_BACKGROUND_MODEL,
    SHIPPED_MODEL,
    StrokeModel,
    read_stroke_model,
)
from segarena.users.stroke_model.picture_selection import PictureStack
from segarena.users.stroke_model.stroke_goals import (
    StrokeGoal,
    background_goals,
    error_goals,
    object_goals,
)
from segarena.users.stroke_model.stroke_sampling import sample_strokes
from segarena.users.stroke_model.surface import FloatArray

_UNLIKE = 0.4
"""Of the Dirichlet distribution by which people of a crowd resemble the fitted ones: mostly one of them."""


@user("scribbler")
class Scribbler:
    """Draws strokes that were fitted to those of people: curls, arcs and zigzags with the habits of a person.

    In the first round strokes go on the object; later on the parts that stand out of what is missing (positive) and of
    what is surplus (negative). Several objects are corrected together. A video is drawn on in one frame: first in the
    one that shows most objects, then in the worst one that was drawn in least often. A volume is drawn on in slices
    along its first axis: first in some spread over the object, then where a reader who scrolls on from the last one
    finds much wrong. Ends the dialogue when nothing is wrong or the target is empty.

    Source: see `segarena_people.fitting.stroke_fit` for how it is fitted, `fitted.toml` beside the file for to what.

    Args:
        person: draws always as this one of the people it was fitted to; None draws as somebody of a crowd.
        people: how many people there are, each with a dialogue about every target; 1 is somebody else each time.
        crowd: the seed of the crowd.
        slices: of a volume, how many are drawn on in a round.
        background: in the first round they draw on the background near the object too, to say what it is not.
        fitted: a file that `segarena people fit scribbler` wrote; None takes what comes with segarena.
        fitted_background: the same with `--background`, of the same people.

    Raises:
        InvalidInput: a number out of range, nobody of that name, or `fitted` cannot be read.
    """

    prompt_kinds = frozenset({"scribble"})
    corrects_objects = True
    lift = Lift(spread="stay")

    def __init__(
        self,
        *,
        person: str | None = None,
        people: int = 1,
        crowd: int = 0,
        slices: int = 3,
        background: bool = False,
        fitted: str | None = None,
        fitted_background: str | None = None,
    ) -> None:
        if slices < 1:
            raise InvalidInput(f"slices: expected 1 or more, got {slices}")
        if person is not None and people != 1:
            raise InvalidInput(
                f"expected person or people, got person={person!r} and people={people}"
            )
        self._fitted = read_stroke_model(fitted or SHIPPED_MODEL)
        if background:
            self._beside = read_stroke_model(fitted_background or SHIPPED_BACKGROUND_MODEL)
        else:
            self._beside = None
        if self._beside is not None and self._beside.people != self._fitted.people:
            raise InvalidInput(
                f"fitted_background: expected a file of {', '.join(self._fitted.people)}, got one of "
                f"{', '.join(self._beside.people)}"
            )
        self._crowd = Crowd(people=people, seed=crowd)
        self._person = None if person is None else self._fitted.habits_of(person)
        self._slices = slices
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Scribble] | None:
        """Return the strokes of this round; None when there is nothing to draw on.

        Raises:
            InvalidInput: the last answer asks for what is no frame of a video.
        """
        pictures = PictureStack(turn)
        habits = self._habits(turn)
        strokes: list[Scribble] = []
        for picture in self._chosen(turn, pictures):
            for goal, hand in self._goals(turn, pictures, picture):
                former, away = _former(turn, strokes, picture, goal)
                lines = sample_strokes(goal.mask, habits, hand, turn.rng, former, away)
                strokes += [_stroke(turn, picture, goal, line) for line in lines]
        return strokes or None

    def _habits(self, turn: Turn) -> FloatArray:
        if self._person is not None:
            return self._person
        alike = np.full(len(self._fitted.people), _UNLIKE)
        return self._crowd.person(turn).dirichlet(alike).astype(np.float32)

    def _chosen(self, turn: Turn, pictures: PictureStack) -> Sequence[int]:
        if len(turn.sample.shape) == 2:
            return [0]
        if not isinstance(turn.sample, VolumeSample):
            return [pictures.fullest_frame() if turn.round == 1 else pictures.worst_frame()]
        if turn.round == 1:
            return pictures.slices_to_begin(self._slices)
        return pictures.slices_to_correct(self._slices)

    def _goals(
        self, turn: Turn, pictures: PictureStack, picture: int
    ) -> list[tuple[StrokeGoal, StrokeModel]]:
        """Return what is drawn on in a picture, and with which hand."""
        target = pictures.target[picture]
        ignore = pictures.ignored(picture)
        if turn.round > 1:
            goals = error_goals(pictures.prediction[picture], target, ignore, pictures.objects)
            return [(goal, self._fitted) for goal in goals]
        objects = [goal for goal in object_goals(target, ignore) if goal.label <= pictures.objects]
        if self._beside is None:
            beside = []
        else:
            beside = [(goal, self._beside) for goal in background_goals(objects, ignore)]
        return [*((goal, self._fitted) for goal in objects), *beside]


def _former(
    turn: Turn, strokes: Sequence[Scribble], picture: int, goal: StrokeGoal
) -> tuple[list[Points], int]:
    """Return the lines of the same sign on the nearest other slice of a volume, the latest of two, and how far off."""
    if not isinstance(turn.sample, VolumeSample):
        return [], 1
    drawn = [each for each in (*turn.dialogue.prompts, *strokes) if isinstance(each, Scribble)]
    planes = [int(each.points[0][0]) for each in drawn]
    signed = [
        at
        for at, each in enumerate(drawn)
        if each.is_positive == (goal.label != 0) and planes[at] != picture
    ]
    if not signed:
        return [], 1
    nearest = planes[min(signed, key=lambda at: (abs(planes[at] - picture), -at))]
    lines = [np.array(drawn[at].points)[:, 1:] for at in signed if planes[at] == nearest]
    return lines, abs(nearest - picture)


def _stroke(turn: Turn, picture: int, goal: StrokeGoal, line: Points) -> Scribble:
    place = () if len(turn.sample.shape) == 2 else (float(picture),)
    points = tuple((*place, row, column) for row, column in line.tolist())
    # Segmenters of images and volumes know a stroke off their one object, and no object 0.
    is_of_one = turn.target.objects == 1 and not isinstance(turn.sample, VideoSample)
    return Scribble(points, is_positive=goal.label != 0, object_id=1 if is_of_one else goal.label)
