"""Simulated user that draws strokes as people do: on the object first, then on errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segarena.arrays.polylines import Points
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

_DIRICHLET_ALPHA = 0.4
"""Below 1: a person of a crowd mostly resembles one of the fitted people."""


@user("scribbler")
class Scribbler:
    """Draws strokes from a model fitted to people: curls, arcs and zigzags with the habits of a person.

    In the first round strokes go on the object; in later rounds on the conspicuous parts of what is
    missing (positive) and of what is surplus (negative). Several objects are corrected together. In
    a video it draws in one frame: first in the one that shows the most objects, then in the worst
    of those drawn in least often. In a volume it draws in slices along the first axis: first in
    some spread over the object, then in slices with many errors near the last one, as a reader who
    scrolls on finds them. It ends the dialogue when nothing is wrong or the target is empty.

    Source: `segarena_people.fitting.stroke_fit` fits the model; `fitted.toml` beside it names the
    training strokes.

    Args:
        person: draw always as this one of the fitted people; None draws as a mixture of them.
        people: number of simulated people, each with a dialogue about every target; 1 is a new
            person each time.
        crowd: seed of the simulated people.
        slices: number of slices of a volume to draw on in a round.
        background: in the first round also draw on the background near the object, as negative
            strokes.
        fitted: a file that `segarena people fit scribbler` wrote; None takes the one shipped with
            segarena.
        fitted_background: the same with `--background`, fitted to the same people.

    Raises:
        InvalidInput: a number is out of range, no person has that name, or `fitted` cannot be read.
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
        self._model = read_stroke_model(fitted or SHIPPED_MODEL)
        self._background_model: StrokeModel | None = None
        if background:
            path = fitted_background or SHIPPED_BACKGROUND_MODEL
            self._background_model = read_stroke_model(path)
            self._check_same_people(self._background_model)
        self._crowd = Crowd(people=people, seed=crowd)
        self._person = None if person is None else self._model.habits_of(person)
        self._slices = slices
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Scribble] | None:
        """Return the strokes of this round; None when there is nothing to draw on.

        Raises:
            InvalidInput: the last answer asks for a frame that the video does not have.
        """
        pictures = PictureStack(turn)
        habits = self._draw_habits(turn)
        strokes: list[Scribble] = []
        for picture in self._select_pictures(turn, pictures):
            for goal, model in self._select_goals(turn, pictures, picture):
                former, slices_away = _nearest_former_lines(turn, strokes, picture, goal)
                lines = sample_strokes(goal.mask, habits, model, turn.rng, former, slices_away)
                strokes += [_make_scribble(turn, picture, goal, line) for line in lines]
        return strokes or None

    def _check_same_people(self, background_model: StrokeModel) -> None:
        if background_model.people != self._model.people:
            raise InvalidInput(
                f"fitted_background: expected a file of {', '.join(self._model.people)}, got one of "
                f"{', '.join(background_model.people)}"
            )

    def _draw_habits(self, turn: Turn) -> FloatArray:
        if self._person is not None:
            return self._person
        alpha = np.full(len(self._model.people), _DIRICHLET_ALPHA)
        return self._crowd.person(turn).dirichlet(alpha).astype(np.float32)

    def _select_pictures(self, turn: Turn, pictures: PictureStack) -> Sequence[int]:
        is_first = turn.round == 1
        if len(turn.sample.shape) == 2:
            return [0]
        if not isinstance(turn.sample, VolumeSample):
            return [pictures.fullest_frame() if is_first else pictures.worst_frame()]
        if is_first:
            return pictures.slices_to_begin(self._slices)
        return pictures.slices_to_correct(self._slices)

    def _select_goals(
        self, turn: Turn, pictures: PictureStack, picture: int
    ) -> list[tuple[StrokeGoal, StrokeModel]]:
        """Return the goals in a picture, each with the model that draws on it."""
        target = pictures.target[picture]
        ignore = pictures.ignored(picture)
        if turn.round > 1:
            goals = error_goals(pictures.prediction[picture], target, ignore, pictures.objects)
            return [(goal, self._model) for goal in goals]
        objects = [goal for goal in object_goals(target, ignore) if goal.label <= pictures.objects]
        object_pairs = [(goal, self._model) for goal in objects]
        if self._background_model is None:
            return object_pairs
        background = background_goals(objects, ignore)
        return object_pairs + [(goal, self._background_model) for goal in background]


def _nearest_former_lines(
    turn: Turn, strokes: Sequence[Scribble], picture: int, goal: StrokeGoal
) -> tuple[list[Points], int]:
    """Return the lines of the goal's sign on the nearest other slice of a volume, and its distance.

    Of two slices at the same distance, take the one drawn on last. Without such lines, return ([],
    1).
    """
    if not isinstance(turn.sample, VolumeSample):
        return [], 1
    is_positive = goal.label != 0
    candidates: list[tuple[int, Scribble]] = []
    for stroke in (*turn.dialogue.prompts, *strokes):
        if isinstance(stroke, Scribble) and stroke.is_positive == is_positive:
            plane = int(stroke.points[0][0])
            if plane != picture:
                candidates.append((plane, stroke))
    if not candidates:
        return [], 1
    latest_first = [plane for plane, _ in reversed(candidates)]
    nearest = min(latest_first, key=lambda plane: abs(plane - picture))
    lines = [np.array(stroke.points)[:, 1:] for plane, stroke in candidates if plane == nearest]
    return lines, abs(nearest - picture)


def _make_scribble(turn: Turn, picture: int, goal: StrokeGoal, line: Points) -> Scribble:
    plane = () if len(turn.sample.shape) == 2 else (float(picture),)
    points = tuple((*plane, row, column) for row, column in line.tolist())
    # Segmenters of images and volumes expect negative strokes under their one object, and know no object 0.
    has_one_object = turn.target.objects == 1 and not isinstance(turn.sample, VideoSample)
    object_id = 1 if has_one_object else goal.label
    return Scribble(points, is_positive=goal.label != 0, object_id=object_id)
