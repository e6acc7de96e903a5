"""How much strokes on neighbouring slices hang together, fitted: a conditional logit with one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import draw_candidates
from segarena.users.stroke_model.model import StrokeModel
from segarena.users.stroke_model.slice_distance import distances_to_strokes
from segarena.users.stroke_model.surface import ComplexPoints, DrawingSurface, FloatArray

_PAIRS = 300
_DRAFTS = 24
_MOST = 50.0


@dataclass(frozen=True, slots=True, eq=False)
class SlicePair:
    """What somebody drew on a slice, and the points of what they drew on the one before, on the same surface."""

    surface: DrawingSurface
    habits: FloatArray
    lines: Sequence[ComplexPoints]
    before: ComplexPoints


def fit_cohesion(pairs: Sequence[SlicePair], hand: StrokeModel, rng: np.random.Generator) -> float:
    """Return by how much a draft is likelier that is nearer to what was drawn on the slice before; 0 without pairs.

    What people drew is to be as near to it, on the average, as drafts are that are chosen with that number. That is
    where the likelihood of a choice among drafts is greatest.

    Args:
        pairs: of which some hundreds are looked at.
        hand: makes the drafts, whose likeness counts as well.
        rng: theirs.
    """
    chosen = [pairs[at] for at in sorted(rng.permutation(len(pairs))[:_PAIRS].tolist())]
    if not chosen:
        return 0.0
    seen = [_looked_at(each, hand, rng) for each in chosen]
    own = np.array([mine for mine, _, _ in seen])
    away = np.array([drafted for _, drafted, _ in seen])
    logits = np.array([weights for _, _, weights in seen])

    def excess(cohesion: float) -> float:
        weights = np.exp(logits - cohesion * away)
        return float(((weights * away).sum(axis=1) / weights.sum(axis=1)).mean() - own.mean())

    low = 0.0
    high = _MOST
    if excess(low) <= 0:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return low


def _looked_at(
    pair: SlicePair, hand: StrokeModel, rng: np.random.Generator
) -> tuple[float, FloatArray, FloatArray]:
    """Return how far a person's drawing and drafts are from the one before, and the logits of the drafts."""
    made = draw_candidates(pair.surface, np.repeat(pair.habits[None], _DRAFTS, axis=0), hand, rng)
    board = CandidateMeter(pair.surface)
    known = context_features(pair.surface, pair.habits)
    marks = np.array([[*board.features(lines), *known] for lines in made], np.float32)
    logits = hand.likeness(marks).ravel()
    away = distances_to_strokes([pair.lines, *made], pair.before, pair.surface)
    return float(away[0]), away[1:], logits - logits.max()
