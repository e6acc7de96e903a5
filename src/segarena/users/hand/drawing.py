"""Drawing on a goal: several drafts, of which the one is kept that people might have drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import window_start
from segarena.samples import Mask
from segarena.users.hand.drafts import drafts
from segarena.users.hand.fitted import Fitted
from segarena.users.hand.likeness import Board, context
from segarena.users.hand.networks import drawn_by_weight
from segarena.users.hand.surface import Floats, surface_of

DRAFTS = 28


def draw(goal: Mask, habits: Floats, fitted: Fitted, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Return the lines that somebody draws on `goal`: (n, 2) each, (row, column), all within the frame.

    Args:
        goal: bool (H, W), with at least one pixel.
        habits: theirs, (people,): how much they are like each of `fitted.people`.
        fitted: how people draw.
        rng: all that is random comes from it.
    """
    surface = surface_of(goal)
    made = drafts(surface, np.repeat(habits[None], DRAFTS, axis=0), fitted, rng)
    board = Board(surface)
    marks = np.array([board.marks(lines) for lines in made], np.float32)
    known = np.broadcast_to(context(surface, habits), (DRAFTS, len(surface.shape) + len(habits)))
    logits = fitted.likeness(np.concatenate([marks, known], axis=1))
    kept = int(drawn_by_weight(logits.reshape(1, -1), rng)[0])
    start = window_start(surface.window)
    return [line.astype(np.float64) + start for line in made[kept]]
