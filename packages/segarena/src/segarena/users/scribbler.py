"""Simulated user that draws strokes as people do: first on the object, then on errors."""

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
from segarena.users.stroke_model.drawing_surface import FloatArray
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

_DIRICHLET_ALPHA = 0.4
"""Concentration below 1, so that a person in a crowd mostly resembles one of the fitted people."""
# Label 0 is the background in all label maps and prompts of this project.
_BACKGROUND_LABEL = 0


@user("scribbler")
class Scribbler:
    """Draws strokes from a model fitted to people: curls, arcs and zigzags with the habits of one person.

    In the first round, strokes are on the object. In later rounds, they are on conspicuous missing
    parts (positive) and surplus parts (negative). Several objects are corrected together. In a
    video, the user draws in one frame per round: first in the frame with the most objects, then in
    the worst of those frames with errors in which it has drawn least often. In a volume, it draws in
    slices along the first axis: first in some slices spread over the object, then in slices with
    many errors near the last one, where a reader who continues scrolling finds them. It ends the
    dialogue if there is no error or the target is empty.

    Source: `segarena_people.fitting.stroke_fit` fits the model; `fitted.toml` next to it names the
    training strokes.

    Args:
        person: name of the fitted person who always draws; None draws as a mixture of people.
        people: number of simulated people, each with a dialogue about every target; 1 samples a new
            person for each dialogue.
        crowd: random seed of the simulated people.
        slices: number of slices of a volume to draw on in a round.
        background: in the first round, also draw negative strokes on the background near the
            object.
        fitted: a file written by `segarena people fit scribbler`; None uses the one shipped with
            segarena.
        fitted_background: a file written with `--background`, fitted to the same people; None uses the
            one shipped with segarena. No effect without `background`.

    Raises:
        InvalidInput: a number is out of range, no fitted person has the name `person`, `person` and
            `people` are both given, a file cannot be read, or the two files are of different people.
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
                f"expected either person or people, not both, got person={person!r} and people={people}"
            )
        self._model = read_stroke_model(fitted or SHIPPED_MODEL)
        self._background_model: StrokeModel | None = None
        if background:
            path = fitted_background or SHIPPED_BACKGROUND_MODEL
            self._background_model = read_stroke_model(path)
            self._check_same_people(self._background_model)
        self._crowd = Crowd(people=people, seed=crowd)
        self._person: FloatArray | None = None
        if person is not None:
            self._person = self._model.habits_of(person)
        self._slices = slices
        if people > 1:
            self.repeats = self._crowd.repeats

    def next(self, turn: Turn) -> Sequence[Scribble] | None:
        """Return the strokes of this round; None if there is nothing to draw on.

        Raises:
            InvalidInput: the last prediction requests a frame that the video does not have.
        """
        pictures = PictureStack(turn)
        habits = self._draw_habits(turn)
        strokes: list[Scribble] = []
        for picture in self._select_pictures(turn, pictures):
            for goal, model in self._select_goals(turn, pictures, picture):
                former, slices_away = _nearest_former_lines(turn, strokes, picture, goal)
                lines = sample_strokes(goal.mask, habits, model, turn.rng, former, slices_away)
                for line in lines:
                    strokes.append(_make_scribble(turn, picture, goal, line))
        return strokes or None

    def _check_same_people(self, background_model: StrokeModel) -> None:
        if background_model.people != self._model.people:
            raise InvalidInput(
                "fitted_background: expected a model of the same people as the stroke model "
                f"({', '.join(self._model.people)}), got {', '.join(background_model.people)}"
            )

    def _draw_habits(self, turn: Turn) -> FloatArray:
        if self._person is not None:
            return self._person
        alpha = np.full(len(self._model.people), _DIRICHLET_ALPHA)
        person = self._crowd.person(turn)
        return person.dirichlet(alpha).astype(np.float32)

    def _select_pictures(self, turn: Turn, pictures: PictureStack) -> Sequence[int]:
        is_first = turn.round == 1
        if len(turn.sample.shape) == 2:
            return [0]
        if isinstance(turn.sample, VolumeSample):
            if is_first:
                return pictures.slices_to_begin(self._slices)
            return pictures.slices_to_correct(self._slices)
        if is_first:
            return [pictures.fullest_frame()]
        return [pictures.worst_frame()]

    def _select_goals(
        self,
        turn: Turn,
        pictures: PictureStack,
        picture: int,
    ) -> list[tuple[StrokeGoal, StrokeModel]]:
        """Return the goals in a picture, each with the model that draws on it."""
        target = pictures.target[picture]
        ignore = pictures.ignored(picture)
        if turn.round > 1:
            goals = error_goals(pictures.prediction[picture], target, ignore, pictures.objects)
            return [(goal, self._model) for goal in goals]
        objects = [goal for goal in object_goals(target, ignore) if goal.label <= pictures.objects]
        pairs = [(goal, self._model) for goal in objects]
        if self._background_model is not None:
            for goal in background_goals(objects, ignore):
                pairs.append((goal, self._background_model))
        return pairs


def _nearest_former_lines(
    turn: Turn,
    strokes: Sequence[Scribble],
    picture: int,
    goal: StrokeGoal,
) -> tuple[list[Points], int]:
    """Return the lines of the goal's sign on the nearest other slice, and the distance to that slice.

    Of two slices at the same distance, the one drawn on last is used. Without such lines, the
    result is ([], 1).
    """
    if not isinstance(turn.sample, VolumeSample):
        return [], 1
    is_positive = goal.label != _BACKGROUND_LABEL
    lines_by_plane: dict[int, list[Points]] = {}
    for stroke in (*turn.dialogue.prompts, *strokes):
        if not isinstance(stroke, Scribble) or stroke.is_positive != is_positive:
            continue
        plane = int(stroke.points[0][0])
        if plane == picture:
            continue
        # Inserted again, so that the slice drawn on last is at the end of the dict.
        lines = lines_by_plane.pop(plane, [])
        lines.append(np.array(stroke.points)[:, 1:])
        lines_by_plane[plane] = lines
    if not lines_by_plane:
        return [], 1
    latest_first = reversed(lines_by_plane)
    nearest = min(latest_first, key=lambda plane: abs(plane - picture))
    return lines_by_plane[nearest], abs(nearest - picture)


def _make_scribble(
    turn: Turn,
    picture: int,
    goal: StrokeGoal,
    line: Points,
) -> Scribble:
    plane: tuple[float, ...] = ()
    if len(turn.sample.shape) > 2:
        plane = (float(picture),)
    points = tuple((*plane, row, column) for row, column in line.tolist())
    # Segmenters of images and volumes expect negative strokes under the id of their one object;
    # they do not have an object 0.
    has_one_object = turn.target.objects == 1 and not isinstance(turn.sample, VideoSample)
    object_id = 1 if has_one_object else goal.label
    is_positive = goal.label != _BACKGROUND_LABEL
    return Scribble(points, is_positive=is_positive, object_id=object_id)
