"""Candidate drawings: strokes that the networks of a stroke model draw on a surface."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS, DrawingAgents, Indices
from segarena.users.stroke_model.network import Network, sample_categorical
from segarena.users.stroke_model.surface import ComplexPoints, DrawingSurface, FloatArray

if TYPE_CHECKING:
    from segarena.users.stroke_model.model import StrokeModel

TURN_CLASSES = 25
"""Number of turn classes of a step; the class after the last one lifts the pen."""
_TURN_SHARES = np.linspace(-1, 1, TURN_CLASSES + 1)
_TURN_EXPONENT = 1.4
"""Above 1: classes are narrow near straight on, where most turns are."""
TURN_EDGES: FloatArray = (
    math.pi * np.sign(_TURN_SHARES) * np.abs(_TURN_SHARES) ** _TURN_EXPONENT
).astype(np.float32)
"""Boundaries of the turn classes, radians."""

_START_POINTS = 64
_START_POINTS_OUTSIDE = 10
"""Of 64 start points, how many lie beside the goal, where people sometimes begin."""
_TRAIL_CAPACITY = 320
_WAITING_SHARE = 6
"""Lifted agents begin again once more than one in six of all agents wait."""


def sample_start_points(
    surface: DrawingSurface, agents: int, points: int, rng: np.random.Generator
) -> ComplexPoints:
    """Sample points at which a line may begin, (agents, points): most on the goal, some beside it."""
    sampled = _sample_pixels(surface.pixels, (agents, points), rng)
    if len(surface.near):
        outside = points * _START_POINTS_OUTSIDE // _START_POINTS
        sampled[:, :outside] = _sample_pixels(surface.near, (agents, outside), rng)
    jitter = rng.random((2, agents, points), dtype=np.float32) - np.float32(0.5)
    return surface.clip(sampled + (jitter[0] + 1j * jitter[1]))


def _sample_pixels(
    pixels: ComplexPoints, shape: tuple[int, int], rng: np.random.Generator
) -> ComplexPoints:
    return pixels[rng.integers(len(pixels), size=shape)]


def draw_candidates(
    surface: DrawingSurface, habits: FloatArray, model: StrokeModel, rng: np.random.Generator
) -> list[list[ComplexPoints]]:
    """Draw one candidate for each row of `habits` (n, people): its lines (m,) in drawing order.

    All agents draw at the same time. A lifted agent waits until enough others have lifted too, so
    that they begin together and the networks run on larger batches.
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
    agents: DrawingAgents, chosen: Indices, model: StrokeModel, rng: np.random.Generator
) -> None:
    points = sample_start_points(agents.surface, len(chosen), _START_POINTS, rng)
    inputs = agents.start_inputs(chosen, points)
    flat_logits = model.start(inputs.reshape(-1, inputs.shape[-1]))
    start = sample_categorical(flat_logits.reshape(len(chosen), _START_POINTS), rng)
    agents.put_down(chosen, points[np.arange(len(chosen)), start])
    direction = sample_categorical(model.course(agents.course_inputs(chosen)), rng)
    within_class = rng.uniform(-0.5, 0.5, len(chosen))
    agents.set_course(chosen, (direction + within_class) * (2 * math.pi / START_DIRECTIONS))


def _step_or_lift(
    agents: DrawingAgents, drawing: Indices, step: Network, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Move or lift each agent by a sampled turn class; tell which were lifted."""
    turn_class = sample_categorical(step(agents.step_inputs(drawing)), rng)
    is_lifted = turn_class == TURN_CLASSES
    moving = drawing
    if is_lifted.any():
        agents.lift(drawing[is_lifted])
        moving = drawing[~is_lifted]
        turn_class = turn_class[~is_lifted]
    low = TURN_EDGES[turn_class]
    high = TURN_EDGES[turn_class + 1]
    agents.step(moving, low + rng.random(len(moving), dtype=np.float32) * (high - low))
    return is_lifted
