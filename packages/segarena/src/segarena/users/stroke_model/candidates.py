"""Drafts: what hands draw when networks lead them."""

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
"""A hand's turns are of so many classes; one more means that it is lifted."""
_SHARES = np.linspace(-1, 1, TURN_CLASSES + 1)
TURN_EDGES: FloatArray = (math.pi * np.sign(_SHARES) * np.abs(_SHARES) ** 1.4).astype(np.float32)
"""Where classes of turns begin and end, radians: narrow near straight on."""

_PLACES = 64
_OUTSIDE = 10
_MOST_POINTS = 320


def sample_start_points(
    surface: DrawingSurface, hands: int, places: int, rng: np.random.Generator
) -> ComplexPoints:
    """Return places at which a line may begin, (hands, places): mostly on the goal, some beside it."""
    found = _some(surface.pixels, (hands, places), rng)
    if len(surface.near):
        outside = places * _OUTSIDE // _PLACES
        found[:, :outside] = _some(surface.near, (hands, outside), rng)
    moved = rng.random((2, hands, places), dtype=np.float32) - np.float32(0.5)
    return surface.within(found + (moved[0] + 1j * moved[1]))


def _some(pixels: ComplexPoints, shape: tuple[int, int], rng: np.random.Generator) -> ComplexPoints:
    return pixels[rng.integers(len(pixels), size=shape)]


def draw_candidates(
    surface: DrawingSurface, habits: FloatArray, fitted: StrokeModel, rng: np.random.Generator
) -> list[list[ComplexPoints]]:
    """Return what hands with `habits` (n, people) draw: of each its lines (m,), in drawing order.

    All draw at the same time. A hand that has lifted waits until enough others have, so that they begin anew together.
    """
    hands = DrawingAgents(
        surface, habits, fitted.planning.draw(surface.shape, habits, rng), _MOST_POINTS
    )
    count = len(habits)
    waiting = np.arange(count)
    drawing = np.zeros(0, np.intp)
    while len(waiting) or len(drawing):
        if len(waiting) > count // 6 or not len(drawing):
            _begin(hands, waiting, fitted, rng)
            drawing = np.concatenate([drawing, waiting])
            waiting = waiting[:0]
        drawing = drawing[~hands.is_used_up(drawing)]
        if len(drawing):
            lifted = _step(hands, drawing, fitted.step, rng)
            waiting = np.concatenate([waiting, drawing[lifted]])
            drawing = drawing[~lifted]
    return [hands.drawn_by(hand) for hand in range(count)]


def _begin(
    hands: DrawingAgents, who: Indices, fitted: StrokeModel, rng: np.random.Generator
) -> None:
    places = sample_start_points(hands.surface, len(who), _PLACES, rng)
    inputs = hands.look_for_start(who, places)
    logits = fitted.start(inputs.reshape(-1, inputs.shape[-1])).reshape(len(who), _PLACES)
    hands.put(who, places[np.arange(len(who)), sample_categorical(logits, rng)])
    course = sample_categorical(fitted.course(hands.look_around(who)), rng) + rng.uniform(
        -0.5, 0.5, len(who)
    )
    hands.face(who, course * (2 * math.pi / START_DIRECTIONS))


def _step(
    hands: DrawingAgents, who: Indices, step: Network, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Let hands move or lift; tell which have lifted."""
    choice = sample_categorical(step(hands.look_ahead(who)), rng)
    lifted = choice == TURN_CLASSES
    moving = who
    chosen = choice
    if lifted.any():
        hands.lift(who[lifted])
        moving = who[~lifted]
        chosen = choice[~lifted]
    low = TURN_EDGES[chosen]
    high = TURN_EDGES[chosen + 1]
    hands.step(moving, low + rng.random(len(moving), dtype=np.float32) * (high - low))
    return lifted
