"""Drafts: what hands draw when networks lead them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segarena.users.stroke_model.drawing_agents import COURSES, Hands, Indices
from segarena.users.stroke_model.network import Network, drawn_by_weight
from segarena.users.stroke_model.surface import Floats, Places, Surface

if TYPE_CHECKING:
    from segarena.users.stroke_model.model import Fitted

TURNS = 25
"""A hand's turns are of so many classes; one more means that it is lifted."""
_SHARES = np.linspace(-1, 1, TURNS + 1)
TURN_EDGES: Floats = (math.pi * np.sign(_SHARES) * np.abs(_SHARES) ** 1.4).astype(np.float32)
"""Where classes of turns begin and end, radians: narrow near straight on."""

_PLACES = 64
_OUTSIDE = 10
_MOST_POINTS = 320


def places_to_begin(surface: Surface, hands: int, places: int, rng: np.random.Generator) -> Places:
    """Return places at which a line may begin, (hands, places): mostly on the goal, some beside it."""
    found = _some(surface.pixels, (hands, places), rng)
    if len(surface.near):
        outside = places * _OUTSIDE // _PLACES
        found[:, :outside] = _some(surface.near, (hands, outside), rng)
    moved = rng.random((2, hands, places), dtype=np.float32) - np.float32(0.5)
    return surface.within(found + (moved[0] + 1j * moved[1]))


def _some(pixels: Places, shape: tuple[int, int], rng: np.random.Generator) -> Places:
    return pixels[rng.integers(len(pixels), size=shape)]


def drafts(
    surface: Surface, habits: Floats, fitted: Fitted, rng: np.random.Generator
) -> list[list[Places]]:
    """Return what hands with `habits` (n, people) draw: of each its lines (m,), in drawing order.

    All draw at the same time. A hand that has lifted waits until enough others have, so that they begin anew together.
    """
    hands = Hands(surface, habits, fitted.planning.draw(surface.shape, habits, rng), _MOST_POINTS)
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


def _begin(hands: Hands, who: Indices, fitted: Fitted, rng: np.random.Generator) -> None:
    places = places_to_begin(hands.surface, len(who), _PLACES, rng)
    inputs = hands.look_for_start(who, places)
    logits = fitted.start(inputs.reshape(-1, inputs.shape[-1])).reshape(len(who), _PLACES)
    hands.put(who, places[np.arange(len(who)), drawn_by_weight(logits, rng)])
    course = drawn_by_weight(fitted.course(hands.look_around(who)), rng) + rng.uniform(
        -0.5, 0.5, len(who)
    )
    hands.face(who, course * (2 * math.pi / COURSES))


def _step(hands: Hands, who: Indices, step: Network, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Let hands move or lift; tell which have lifted."""
    choice = drawn_by_weight(step(hands.look_ahead(who)), rng)
    lifted = choice == TURNS
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
