"""Sampling of strokes on a goal: draws several candidates and keeps one at random, weighted by its likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from segarena.arrays.polylines import Points
from segarena.samples import Mask
from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import draw_candidates
from segarena.users.stroke_model.drawing_surface import (
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    build_surface,
)
from segarena.users.stroke_model.model import StrokeModel
from segarena.users.stroke_model.network import sample_categorical
from segarena.users.stroke_model.slice_distance import distances_to_strokes

CANDIDATE_COUNT = 24
_CURVE_STEP_PX = 4


def sample_strokes(
    goal: Mask,
    habits: FloatArray,
    model: StrokeModel,
    rng: np.random.Generator,
    former: Sequence[Points] = (),
    slices_away: int = 1,
) -> list[Points]:
    """Sample the lines that a person draws on `goal`: (n, 2) each, (row, column), all within the frame.

    Args:
        goal: bool (H, W), with at least one pixel.
        habits: weights of `model.people` in the person, (people,).
        model: fitted stroke model.
        rng: random generator.
        former: lines that the person drew on another slice, as positions in the same form as the
            result.
        slices_away: distance to that slice; with a larger distance, the new lines follow it less.
    """
    surface = build_surface(goal)
    repeated_habits = np.repeat(habits[None], CANDIDATE_COUNT, axis=0)
    candidates = draw_candidates(surface, repeated_habits, model, rng)
    meter = CandidateMeter(surface)
    features = np.array([meter.features(lines) for lines in candidates], np.float32)
    context = context_features(surface, habits)
    context_rows = np.broadcast_to(context, (CANDIDATE_COUNT, len(context)))
    inputs = np.concatenate([features, context_rows], axis=1)
    logits = model.likeness(inputs).ravel()
    if former:
        former_points = surface.from_frame(np.concatenate(former))
        distances = distances_to_strokes(candidates, former_points, surface)
        cohesion = model.cohesion / max(1, slices_away)
        logits = logits - cohesion * distances
    chosen = int(sample_categorical(logits[None], rng)[0])
    strokes: list[Points] = []
    for line in candidates[chosen]:
        # A spline may leave the surface where its line touches the edge.
        curve = surface.clip(_catmull_rom(line, surface))
        strokes.append(surface.to_frame(curve))
    return strokes


def _catmull_rom(line: ComplexPoints, surface: DrawingSurface) -> ComplexPoints:
    """Return a Catmull-Rom spline through the points of a line, in steps of up to 4 pixels of the frame.

    A line of fewer than three points, or with shorter steps already, is returned unchanged.
    """
    count = math.ceil(surface.stride * surface.coarseness / _CURVE_STEP_PX)
    if len(line) < 3 or count < 2:
        return line
    # The tangents at the ends need a control point beyond each end: the mirror image of the
    # neighbour.
    before = 2 * line[:1] - line[1:2]
    after = 2 * line[-1:] - line[-2:-1]
    controls = np.concatenate([before, line, after]).astype(np.complex128)
    a = controls[:-3, None]
    b = controls[1:-2, None]
    c = controls[2:-1, None]
    d = controls[3:, None]
    share = np.arange(count) / count
    linear = (c - a) * share
    quadratic = (2 * a - 5 * b + 4 * c - d) * share**2
    cubic = (3 * b - a - 3 * c + d) * share**3
    bend = quadratic + cubic
    curve = b + linear / 2 + bend / 2
    # Each segment contributes its first point, so only the last point of the line is missing.
    return np.concatenate([curve.ravel(), controls[-2:-1]])
