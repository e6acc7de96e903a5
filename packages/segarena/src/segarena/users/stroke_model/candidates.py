"""Candidate drawings: strokes that the networks of a stroke model draw on a surface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS, DrawingAgents, Indices
from segarena.users.stroke_model.drawing_surface import ComplexPoints, DrawingSurface, FloatArray
from segarena.users.stroke_model.network import Network, sample_categorical

if TYPE_CHECKING:
    from segarena.users.stroke_model.model import StrokeModel

TURN_CLASSES = 25
"""Number of turn classes of a step; one more class lifts the pen."""
_TURN_SHARES = np.linspace(-1, 1, TURN_CLASSES + 1)
_TURN_EXPONENT = 1.4
"""Exponent above 1, which makes classes narrow near straight ahead, where most turns are."""
TURN_EDGES: FloatArray = (
    math.pi * np.sign(_TURN_SHARES) * np.abs(_TURN_SHARES) ** _TURN_EXPONENT
).astype(np.float32)
"""Boundaries of the turn classes, radians."""

_DIRECTION_ANGLE = 2 * math.pi / START_DIRECTIONS
_START_POINTS = 64
_START_POINTS_OUTSIDE = 10
"""Number of start points, of 64, next to the goal, where people sometimes start."""
# Bounds the arrays of all agents; an agent whose trail is full counts as finished.
_TRAIL_CAPACITY = 320
_WAITING_SHARE = 6
"""Lifted agents start again when more than one in six of all agents is waiting."""


def sample_start_points(
    surface: DrawingSurface,
    agents: int,
    points: int,
    rng: np.random.Generator,
) -> ComplexPoints:
    """Sample points at which a line may start, (agents, points): most on the goal, some next to it."""
    sampled = _sample_pixels(surface.pixels, (agents, points), rng)
    if len(surface.near):
        outside = points * _START_POINTS_OUTSIDE // _START_POINTS
        sampled[:, :outside] = _sample_pixels(surface.near, (agents, outside), rng)
    # A pixel is a square of side 1 around its position.
    jitter = rng.random((2, agents, points), dtype=np.float32) - np.float32(0.5)
    right, down = jitter
    return surface.clip(sampled + (right + 1j * down))


def _sample_pixels(
    pixels: ComplexPoints,
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> ComplexPoints:
    return pixels[rng.integers(len(pixels), size=shape)]


def draw_candidates(
    surface: DrawingSurface,
    habits: FloatArray,
    model: StrokeModel,
    rng: np.random.Generator,
) -> list[list[ComplexPoints]]:
    """Draw one candidate for each row of `habits` (n, people): its lines, (m,) points each, in drawing order.

    All agents draw at the same time. A lifted agent waits until enough others have been lifted, so
    that they start together and the networks run on larger batches.
    """
    plans = model.planning.sample(surface.shape, habits, rng)
    agents = DrawingAgents(surface, habits, plans, _TRAIL_CAPACITY)
    count = len(habits)
    waiting = np.arange(count)
    drawing = np.zeros(0, np.intp)
    while len(waiting) or len(drawing):
        if len(waiting) > count // _WAITING_SHARE or not len(drawing):
            _begin_lines(agents, waiting, model, rng)
            drawing = np.concatenate([drawing, waiting])
            waiting = waiting[:0]
        drawing = drawing[~agents.is_finished(drawing)]
        if len(drawing):
            is_lifted = _step_or_lift(agents, drawing, model.step, rng)
            waiting = np.concatenate([waiting, drawing[is_lifted]])
            drawing = drawing[~is_lifted]
    return [agents.lines_of(agent) for agent in range(count)]


def _begin_lines(
    agents: DrawingAgents,
    chosen: Indices,
    model: StrokeModel,
    rng: np.random.Generator,
) -> None:
    count = len(chosen)
    points = sample_start_points(agents.surface, count, _START_POINTS, rng)
    inputs = agents.start_inputs(chosen, points)
    flat_inputs = inputs.reshape(-1, inputs.shape[-1])
    logits = model.start(flat_inputs).reshape(count, _START_POINTS)
    start = sample_categorical(logits, rng)
    agents.put_down(chosen, points[np.arange(count), start])
    course_logits = model.course(agents.course_inputs(chosen))
    direction = sample_categorical(course_logits, rng)
    within_class = rng.uniform(-0.5, 0.5, count)
    angles = (direction + within_class) * _DIRECTION_ANGLE
    agents.set_course(chosen, angles)


def _step_or_lift(
    agents: DrawingAgents,
    drawing: Indices,
    step: Network,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Move or lift each agent according to a sampled turn class; return which agents were lifted."""
    logits = step(agents.step_inputs(drawing))
    turn_class = sample_categorical(logits, rng)
    is_lifted = turn_class == TURN_CLASSES
    moving = drawing
    if is_lifted.any():
        agents.lift(drawing[is_lifted])
        moving = drawing[~is_lifted]
        turn_class = turn_class[~is_lifted]
    low = TURN_EDGES[turn_class]
    high = TURN_EDGES[turn_class + 1]
    within_class = rng.random(len(moving), dtype=np.float32)
    agents.step(moving, low + within_class * (high - low))
    return is_lifted
