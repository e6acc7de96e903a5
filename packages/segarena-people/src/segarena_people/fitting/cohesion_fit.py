"""Fit of the cohesion between strokes on adjacent slices: a conditional logit with one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import draw_candidates
from segarena.users.stroke_model.drawing_surface import ComplexPoints, DrawingSurface, FloatArray
from segarena.users.stroke_model.model import StrokeModel
from segarena.users.stroke_model.slice_distance import distances_to_strokes

_MOST_PAIRS = 300
_CANDIDATES = 24
_LARGEST_COHESION = 50.0
# Bisecting an interval of 50 forty times leaves an error far below the noise of the candidates.
_BISECTIONS = 40


@dataclass(frozen=True, slots=True, eq=False)
class SlicePair:
    """One person's lines on a slice, and the points drawn on the slice before it, mapped to `surface`."""

    surface: DrawingSurface
    habits: FloatArray
    lines: Sequence[ComplexPoints]
    before: ComplexPoints


def fit_cohesion(
    pairs: Sequence[SlicePair],
    model: StrokeModel,
    rng: np.random.Generator,
) -> float:
    """Return the cohesion between adjacent slices under which people's drawings are most likely; 0 without pairs.

    At this value, candidates sampled with the cohesion have on average the same distance to the
    drawing on the previous slice as people's drawings have; bisection finds the value.

    Args:
        pairs: pairs of slices, of which up to 300 are used.
        model: model that samples the candidates and rates their likeness.
        rng: source of all random numbers.
    """
    # Sampled at random but used in order, so that the result depends on the set of pairs and not on
    # its permutation.
    order = sorted(rng.permutation(len(pairs))[:_MOST_PAIRS].tolist())
    if not order:
        return 0.0
    person_distances: list[float] = []
    candidate_distances: list[FloatArray] = []
    likeness: list[FloatArray] = []
    for index in order:
        own, others, logits = _measure_pair(pairs[index], model, rng)
        person_distances.append(own)
        candidate_distances.append(others)
        likeness.append(logits)
    mean_person_distance = np.array(person_distances).mean()
    distances = np.array(candidate_distances)
    logits_of_pairs = np.array(likeness)

    def excess_distance(cohesion: float) -> float:
        # Candidates are sampled with these weights: a conditional logit with the distance as
        # penalty.
        weights = np.exp(logits_of_pairs - cohesion * distances)
        totals = weights.sum(axis=1)
        expected = (weights * distances).sum(axis=1) / totals
        return float(expected.mean() - mean_person_distance)

    low = 0.0
    high = _LARGEST_COHESION
    # Candidates are already closer without any cohesion: people stay no closer than chance.
    if excess_distance(low) <= 0:
        return 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if excess_distance(middle) > 0:
            low = middle
        else:
            high = middle
    return low


def _measure_pair(
    pair: SlicePair,
    model: StrokeModel,
    rng: np.random.Generator,
) -> tuple[float, FloatArray, FloatArray]:
    """Return the distances of the person's drawing and of candidates to the previous slice, and candidate logits."""
    repeated_habits = np.repeat(pair.habits[None], _CANDIDATES, axis=0)
    candidates = draw_candidates(pair.surface, repeated_habits, model, rng)
    meter = CandidateMeter(pair.surface)
    context = context_features(pair.surface, pair.habits)
    rows: list[list[float]] = []
    for lines in candidates:
        rows.append([*meter.features(lines), *context])
    inputs = np.array(rows, np.float32)
    logits = model.likeness(inputs).ravel()
    distances = distances_to_strokes([pair.lines, *candidates], pair.before, pair.surface)
    # Only differences between logits matter; subtract the maximum so that the exponentials stay in
    # range.
    return float(distances[0]), distances[1:], logits - logits.max()
