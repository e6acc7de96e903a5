"""What a hand would have known at every step of what a person drew: the rows that networks learn from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from segarena.users.stroke_model.candidates import TURN_CLASSES, TURN_EDGES, sample_start_points
from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS, DrawingAgents
from segarena.users.stroke_model.surface import ComplexPoints, DrawingSurface, FloatArray

_OTHERS = 24
"""Places at which a line might have begun but did not, for each that did."""
_CLOSED = 8
_ME = np.zeros(1, np.intp)


@dataclass(slots=True)
class TrainingRows:
    """What networks learn from; see `segarena.users.stroke_model.model.StrokeModel` for what each learns.

    Attributes:
        steps, turns: what was known before each step, and which class of turn followed.
        starts: what speaks for where each line began, and then for other places, (1 + others, inputs) each.
        courses, chosen: what was known where a line began, and in which direction it set out.
    """

    steps: list[FloatArray] = field(default_factory=list[FloatArray])
    turns: list[int] = field(default_factory=list[int])
    starts: list[FloatArray] = field(default_factory=list[FloatArray])
    courses: list[FloatArray] = field(default_factory=list[FloatArray])
    chosen: list[int] = field(default_factory=list[int])


def infer_plan(lines: Sequence[ComplexPoints], surface: DrawingSurface) -> FloatArray:
    """Return what somebody must have planned who drew `lines`, steps apart; see `segarena.users.stroke_model.drawing_agents.PLAN_FIELDS`."""
    steps = sum(len(line) - 1 for line in lines)
    ink = max(steps, 0.5) * surface.stride / surface.size
    return np.array([math.log(ink), math.log(len(lines))], np.float32)


def record_drawing(
    surface: DrawingSurface,
    lines: Sequence[ComplexPoints],
    habits: FloatArray,
    rows: TrainingRows,
    rng: np.random.Generator,
) -> None:
    """Draw what a person drew once more and note in `rows` what was known on the way.

    Neither the order of the lines nor their directions are known: they are drawn at random, as is where a closed line
    begins.

    Args:
        surface: of the goal.
        lines: places on the surface, a stride apart.
        habits: of the person, (people,).
        rows: are added to.
        rng: draws order, directions, and the places where lines did not begin.
    """
    ordered = [_as_drawn(lines[at], surface, rng) for at in rng.permutation(len(lines))]
    plan = infer_plan(lines, surface)
    hands = DrawingAgents(surface, habits[None], plan[None], sum(map(len, ordered)) + 1)
    for number, line in enumerate(ordered):
        places = sample_start_points(surface, 1, 1 + _OTHERS, rng)
        places[0, 0] = line[0]
        rows.starts.append(hands.start_inputs(_ME, places)[0])
        hands.put_down(_ME, line[:1])
        _follow(hands, line, rows, rng)
        if number + 1 < len(ordered):
            rows.steps.append(hands.step_inputs(_ME)[0])
            rows.turns.append(TURN_CLASSES)
        hands.lift(_ME)


def _as_drawn(
    line: ComplexPoints, surface: DrawingSurface, rng: np.random.Generator
) -> ComplexPoints:
    if len(line) > _CLOSED and abs(line[0] - line[-1]) < 1.5 * surface.stride:
        start = int(rng.integers(len(line) - 1))
        line = np.concatenate([line[start:-1], line[: start + 1]])
    return line[::-1] if rng.random() < 0.5 else line


def _follow(
    hands: DrawingAgents, line: ComplexPoints, rows: TrainingRows, rng: np.random.Generator
) -> None:
    """Move the hand along a line."""
    angles = np.angle(np.diff(line))
    part = 2 * math.pi / START_DIRECTIONS
    # A hand that was put down faces any direction of the class, as it does when it draws by itself.
    facing = float(rng.uniform(-0.5, 0.5)) * part
    if len(angles):
        rows.courses.append(hands.course_inputs(_ME)[0])
        rows.chosen.append(round(float(angles[0]) / part) % START_DIRECTIONS)
        facing += rows.chosen[-1] * part
    hands.set_course(_ME, np.array([facing]))
    for place, angle in zip(line[1:], angles.tolist(), strict=True):
        rows.steps.append(hands.step_inputs(_ME)[0])
        turn = math.remainder(angle - facing, 2 * math.pi)
        rows.turns.append(int(np.clip(np.searchsorted(TURN_EDGES, turn) - 1, 0, TURN_CLASSES - 1)))
        hands.move(_ME, place[None], np.exp([1j * angle]), np.array([turn]))
        facing = angle
