"""Training rows for the stroke networks: an agent's inputs at every step of a person's drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from segarena.users.stroke_model.candidates import TURN_CLASSES, TURN_EDGES, sample_start_points
from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS, DrawingAgents
from segarena.users.stroke_model.drawing_surface import ComplexPoints, DrawingSurface, FloatArray

# Number of points sampled as non-starts for each true line start.
_OTHER_STARTS = 24
_FEWEST_POINTS_OF_LOOP = 8
_LOOP_GAP_STRIDES = 1.5
# Index of the only agent, which replays the lines.
_AGENT = np.zeros(1, np.intp)


@dataclass(slots=True)
class TrainingRows:
    """Training rows for the networks of `segarena.users.stroke_model.model.StrokeModel`.

    Attributes:
        steps, turns: inputs before each step, and the turn class that followed.
        starts: inputs at the start of each line, followed by those at other points, (1 + others,
            inputs) each.
        courses, chosen: inputs at the start of each line, and the class of its initial direction.
    """

    steps: list[FloatArray] = field(default_factory=list[FloatArray])
    turns: list[int] = field(default_factory=list[int])
    starts: list[FloatArray] = field(default_factory=list[FloatArray])
    courses: list[FloatArray] = field(default_factory=list[FloatArray])
    chosen: list[int] = field(default_factory=list[int])


def infer_plan(lines: Sequence[ComplexPoints], surface: DrawingSurface) -> FloatArray:
    """Infer the plan that `lines`, which have one point per stride, carry out.

    The fields are those of `segarena.users.stroke_model.drawing_agents.PLAN_FIELDS`.
    """
    steps = sum(len(line) - 1 for line in lines)
    # A dot counts as half a step, so that the logarithm stays finite.
    ink = max(steps, 0.5) * surface.stride / surface.size
    log_ink = math.log(ink)
    log_lines = math.log(len(lines))
    return np.array([log_ink, log_lines], np.float32)


def record_drawing(
    surface: DrawingSurface,
    lines: Sequence[ComplexPoints],
    habits: FloatArray,
    rows: TrainingRows,
    rng: np.random.Generator,
) -> None:
    """Replay a person's lines and append the inputs and outputs of every step to `rows`.

    The order of the lines, their directions and the start of closed lines are unknown, so they are
    sampled.

    Args:
        surface: surface of the goal.
        lines: points on the surface, one stride apart.
        habits: one-hot encoding of the person, (people,).
        rows: rows to append to.
        rng: samples the order, the directions, and the points where no line started.
    """
    order = rng.permutation(len(lines))
    ordered = [_randomize_direction(lines[index], surface, rng) for index in order]
    plan = infer_plan(lines, surface)
    capacity = sum(map(len, ordered)) + 1
    agent = DrawingAgents(surface, habits[None], plan[None], capacity)
    for number, line in enumerate(ordered):
        points = sample_start_points(surface, 1, 1 + _OTHER_STARTS, rng)
        points[0, 0] = line[0]
        rows.starts.append(agent.start_inputs(_AGENT, points)[0])
        agent.put_down(_AGENT, line[:1])
        _record_line(agent, line, rows, rng)
        # The end of the last line is no example of lifting the pen: by then the plan is complete.
        if number + 1 < len(ordered):
            rows.steps.append(agent.step_inputs(_AGENT)[0])
            rows.turns.append(TURN_CLASSES)
        agent.lift(_AGENT)


def _randomize_direction(
    line: ComplexPoints,
    surface: DrawingSurface,
    rng: np.random.Generator,
) -> ComplexPoints:
    """Return a line in a random direction; a closed line also starts at a random point."""
    gap = abs(line[0] - line[-1])
    if len(line) > _FEWEST_POINTS_OF_LOOP and gap < _LOOP_GAP_STRIDES * surface.stride:
        start = int(rng.integers(len(line) - 1))
        line = np.concatenate([line[start:-1], line[: start + 1]])
    if rng.random() < 0.5:
        return line[::-1]
    return line


def _record_line(
    agent: DrawingAgents,
    line: ComplexPoints,
    rows: TrainingRows,
    rng: np.random.Generator,
) -> None:
    """Move the agent along a line and record every step."""
    angles = np.angle(np.diff(line))
    class_width = 2 * math.pi / START_DIRECTIONS
    # A sampled course may lie anywhere within its direction class, so randomize the recorded one in
    # the same way.
    facing = float(rng.uniform(-0.5, 0.5)) * class_width
    if len(angles):
        direction = round(float(angles[0]) / class_width) % START_DIRECTIONS
        rows.courses.append(agent.course_inputs(_AGENT)[0])
        rows.chosen.append(direction)
        facing += direction * class_width
    agent.set_course(_AGENT, np.array([facing]))
    for point, angle in zip(line[1:], angles.tolist(), strict=True):
        rows.steps.append(agent.step_inputs(_AGENT)[0])
        turn = math.remainder(angle - facing, 2 * math.pi)
        turn_class = np.searchsorted(TURN_EDGES, turn) - 1
        rows.turns.append(int(np.clip(turn_class, 0, TURN_CLASSES - 1)))
        agent.move(_AGENT, point[None], np.exp([1j * angle]), np.array([turn]))
        facing = angle
