"""Drawing on a goal: several drafts, of which the one is kept that people might have drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from segarena.arrays.lines import Points
from segarena.samples import Mask
from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import draw_candidates
from segarena.users.stroke_model.model import StrokeModel
from segarena.users.stroke_model.network import sample_categorical
from segarena.users.stroke_model.slice_distance import distances_to_strokes
from segarena.users.stroke_model.surface import (
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    build_surface,
)

CANDIDATE_COUNT = 24
_STEP_PX = 4


def sample_strokes(
    goal: Mask,
    habits: FloatArray,
    fitted: StrokeModel,
    rng: np.random.Generator,
    former: Sequence[Points] = (),
    slices_away: int = 1,
) -> list[Points]:
    """Return the lines that somebody draws on `goal`: (n, 2) each, (row, column), all within the frame.

    Args:
        goal: bool (H, W), with at least one pixel.
        habits: theirs, (people,): how much they are like each of `fitted.people`.
        fitted: how people draw.
        rng: all that is random comes from it.
        former: what they drew before on another slice, lines of positions as above.
        slices_away: how many slices off that is; what is farther off is less of a model.
    """
    surface = build_surface(goal)
    made = draw_candidates(surface, np.repeat(habits[None], CANDIDATE_COUNT, axis=0), fitted, rng)
    board = CandidateMeter(surface)
    marks = np.array([board.marks(lines) for lines in made], np.float32)
    known = np.broadcast_to(
        context_features(surface, habits), (CANDIDATE_COUNT, len(surface.shape) + len(habits))
    )
    logits = fitted.likeness(np.concatenate([marks, known], axis=1)).ravel()
    if former:
        before = surface.from_frame(np.concatenate(former))
        logits = logits - fitted.cohesion / max(1, slices_away) * distances_to_strokes(
            made, before, surface
        )
    kept = int(sample_categorical(logits[None], rng)[0])
    return [surface.to_frame(surface.within(_rounded(line, surface))) for line in made[kept]]


def _rounded(line: ComplexPoints, surface: DrawingSurface) -> ComplexPoints:
    """Return a smooth curve through the points of a line (Catmull and Rom), in steps of some px of the frame."""
    count = math.ceil(surface.stride * surface.coarseness / _STEP_PX)
    if len(line) < 3 or count < 2:
        return line
    before = 2 * line[:1] - line[1:2]
    after = 2 * line[-1:] - line[-2:-1]
    around = np.concatenate([before, line, after]).astype(np.complex128)
    a = around[:-3, None]
    b = around[1:-2, None]
    c = around[2:-1, None]
    d = around[3:, None]
    share = np.arange(count) / count
    bend = (2 * a - 5 * b + 4 * c - d) * share**2 + (3 * b - a - 3 * c + d) * share**3
    curve = b + (c - a) * share / 2 + bend / 2
    return np.concatenate([curve.ravel(), around[-2:-1]])
