"""Fit of the stroke model to people's drawings; see `segarena.users.stroke_model` for the model's parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import TURN_CLASSES, draw_candidates
from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS
from segarena.users.stroke_model.drawing_surface import (
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    build_surface,
)
from segarena.users.stroke_model.model import PlanModel, StrokeModel
from segarena.users.stroke_model.network import Network
from segarena_people.fitting.cohesion_fit import SlicePair, fit_cohesion
from segarena_people.fitting.network_training import TrainingConfig, train_network
from segarena_people.fitting.stroke_tracing import resample_line, trace_strokes
from segarena_people.fitting.training_rows import TrainingRows, infer_plan, record_drawing

# Number of times each drawing is replayed, with its lines in other orders and directions.
_REPLAYS = 2
_CANDIDATES = 24
_LEAST_GOAL_PX = 4
# Number of rotations and reflections of a picture.
_VARIANTS = 8
# Drawings are augmented for people with less than a quarter of the average number of drawings.
_FEW_DRAWINGS_SHARE = 4

_RIDGE = 3.0
# A weak ridge penalty, so that the mean of each person is hardly shrunk.
_PERSON_RIDGE = 3e-3
_LEAST_VARIANCE = 1e-4
_LEAST_DEVIATION = 1e-3

STEP_TRAINING = TrainingConfig(hidden=(80, 40), epochs=14)
START_TRAINING = TrainingConfig(hidden=(32,), epochs=10)
COURSE_TRAINING = TrainingConfig(hidden=(32,), epochs=30, decay=1e-2)
LIKENESS_TRAINING = TrainingConfig(hidden=(32, 16), epochs=8, decay=1e-1)


@dataclass(frozen=True, slots=True, eq=False)
class PersonDrawing:
    """All strokes of one sign that one person drew on one goal.

    Attributes:
        person: name of the person.
        goal: bool (H, W).
        ink: bool (H, W).
        series: key shared by one person's slices of the same target in a volume; "" for an image.
        plane: index of the slice in its series.
    """

    person: str
    goal: Mask
    ink: Mask
    series: str = ""
    plane: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _TracedDrawing:
    """A drawing, or one of its rotations and reflections, traced as lines on the goal's surface.

    Attributes:
        variants: number of rotations and reflections in which the drawing is used.
    """

    drawing: PersonDrawing
    surface: DrawingSurface
    habits: FloatArray
    lines: list[ComplexPoints]
    variants: int


def fit_scribbler(drawings: Iterable[PersonDrawing], *, seed: int = 0) -> StrokeModel:
    """Fit a stroke model to drawings; the same drawings, seed and machine give the same model.

    Drawings by people with few drawings are used in all rotations and reflections, to give these
    people more weight.

    Raises:
        InvalidInput: there are fewer than two drawings with ink on goals of at least four pixels,
            or all lines are dots.
        MissingExtra: scikit-learn is not installed.
    """
    rng = np.random.default_rng(seed)
    usable: list[PersonDrawing] = []
    for drawing in drawings:
        if np.count_nonzero(drawing.goal) >= _LEAST_GOAL_PX and drawing.ink.any():
            usable.append(drawing)
    if len(usable) < 2:
        raise InvalidInput(
            f"expected at least two strokes on goals of at least {_LEAST_GOAL_PX} px, got {len(usable)}"
        )
    # Sorted, so that the order of drawings does not change the model's person indices.
    people = tuple(sorted({drawing.person for drawing in usable}))
    traced: list[_TracedDrawing] = []
    for drawing in usable:
        traced += _trace_variants(drawing, people, usable)
    rows = _record_all(traced, rng)
    if not rows.courses:
        raise InvalidInput(
            "expected strokes with at least two points to learn from, got only dots; collect lines"
        )
    starts, is_start = _start_rows(rows.starts)
    course_rows = np.array(rows.courses)
    model = StrokeModel(
        people=people,
        planning=_fit_plans_of(traced),
        step=train_network(
            np.array(rows.steps),
            np.array(rows.turns),
            # One additional class, for the end of a line.
            TURN_CLASSES + 1,
            STEP_TRAINING,
            seed,
        ),
        start=train_network(starts, is_start, 2, START_TRAINING, seed),
        course=train_network(
            course_rows,
            np.array(rows.chosen),
            START_DIRECTIONS,
            COURSE_TRAINING,
            seed,
        ),
        likeness=_NO_LIKENESS,
    )
    # Each stage needs candidates from the model fitted so far: likeness first, cohesion last.
    model = replace(model, likeness=_train_likeness(traced, model, rng, seed))
    return replace(model, cohesion=fit_cohesion(_slice_pairs(traced), model, rng))


_NO_INPUT = np.zeros(1, np.float32)
# Placeholder until the likeness network is trained: candidates are sampled without it.
_NO_LIKENESS = Network(_NO_INPUT, _NO_INPUT + 1, [(_NO_INPUT[None], _NO_INPUT)])


def _trace_variants(
    drawing: PersonDrawing,
    people: Sequence[str],
    all_drawings: Sequence[PersonDrawing],
) -> list[_TracedDrawing]:
    """Trace a drawing, in all rotations and reflections if its person has few drawings."""
    habits = np.eye(len(people), dtype=np.float32)[people.index(drawing.person)]
    own_count = sum(other.person == drawing.person for other in all_drawings)
    average_count = len(all_drawings) / len(people)
    variants = _VARIANTS if own_count * _FEW_DRAWINGS_SHARE < average_count else 1
    traced: list[_TracedDrawing] = []
    for variant in range(variants):
        surface = build_surface(_transform(drawing.goal, variant))
        # The agent moves by one stride of the surface, so the lines need a point at every stride.
        step_px = surface.stride * surface.coarseness
        lines: list[ComplexPoints] = []
        for line in trace_strokes(_transform(drawing.ink, variant)):
            lines.append(surface.from_frame(resample_line(line, step_px)))
        traced.append(_TracedDrawing(drawing, surface, habits, lines, variants))
    return traced


def _transform(mask: Mask, variant: int) -> Mask:
    """Apply one of the eight rotations and reflections to a mask."""
    rotated = np.rot90(mask, variant % 4)
    is_reflected = variant >= 4
    return np.ascontiguousarray(rotated[:, ::-1] if is_reflected else rotated)


def _record_all(traced: Sequence[_TracedDrawing], rng: np.random.Generator) -> TrainingRows:
    rows = TrainingRows()
    for drawing in traced:
        # The rotations and reflections already serve as repetitions.
        replays = _REPLAYS if drawing.variants == 1 else 1
        for _ in range(replays):
            record_drawing(drawing.surface, drawing.lines, drawing.habits, rows, rng)
    return rows


def _start_rows(starts: Sequence[FloatArray]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return balanced network inputs with their classes: 0 where no line started, 1 where one did."""
    # `record_drawing` stores the true start of a line first, then the other points.
    stacked = np.array(starts)
    others = stacked[:, 1:].reshape(-1, stacked.shape[-1])
    others_per_start = stacked.shape[1] - 1
    real_starts = np.repeat(stacked[:, 0], others_per_start, axis=0)
    classes = np.repeat([0, 1], [len(others), len(real_starts)])
    return np.concatenate([others, real_starts]), classes


def _fit_plans_of(traced: Sequence[_TracedDrawing]) -> PlanModel:
    shapes = np.array([drawing.surface.shape for drawing in traced])
    habits = np.array([drawing.habits for drawing in traced])
    plans = np.array([infer_plan(drawing.lines, drawing.surface) for drawing in traced])
    return fit_plan_model(shapes, habits, plans)


def fit_plan_model(
    shapes: FloatArray,
    habits: FloatArray,
    plans: FloatArray,
) -> PlanModel:
    """Fit the distribution of drawing plans by ridge regression.

    Args:
        shapes: shape features of the goals, (n, shape).
        habits: one-hot encoding of the person of each drawing, (n, people).
        plans: plans of the drawings, (n, 2).
    """
    rows_of_person = [habits[:, person] > 0 for person in range(habits.shape[1])]
    low: list[FloatArray] = []
    high: list[FloatArray] = []
    for rows in rows_of_person:
        # Plans are later limited to the range of the person, because a linear model extrapolates.
        low.append(plans[rows].min(axis=0))
        high.append(plans[rows].max(axis=0))
    unfitted = PlanModel(
        mean=shapes.mean(axis=0).astype(np.float32),
        scale=(1 / (shapes.std(axis=0) + _LEAST_DEVIATION)).astype(np.float32),
        weights=np.zeros((0, 2), np.float32),
        spread=np.zeros((0, 2, 2), np.float32),
        low=np.array(low, np.float32),
        high=np.array(high, np.float32),
    )
    inputs = unfitted.regression_inputs(shapes, habits).astype(np.float64)
    ridge = np.full(inputs.shape[1], _RIDGE)
    # Columns: shape features, their squares, then person indicators.
    first_person_column = 2 * shapes.shape[1]
    ridge[first_person_column : first_person_column + habits.shape[1]] = _PERSON_RIDGE
    weights = np.linalg.solve(inputs.T @ inputs + np.diag(ridge), inputs.T @ plans)
    residuals = plans - inputs @ weights
    # One covariance per person, because people differ in how much their plans vary.
    covariances: list[FloatArray] = []
    for rows in rows_of_person:
        # A single drawing has no variance, but the Cholesky factorization needs a positive one.
        covariances.append(np.cov(residuals[rows].T, bias=True) + _LEAST_VARIANCE * np.eye(2))
    factors = np.linalg.cholesky(np.array(covariances))
    return replace(unfitted, weights=weights.astype(np.float32), spread=factors.astype(np.float32))


def _slice_pairs(traced: Sequence[_TracedDrawing]) -> list[SlicePair]:
    """Return all pairs of one person's drawings on two consecutive slices."""
    by_slice: dict[tuple[str, int], _TracedDrawing] = {}
    for drawing in traced:
        if drawing.drawing.series:
            by_slice[drawing.drawing.series, drawing.drawing.plane] = drawing
    pairs: list[SlicePair] = []
    for (series, plane), drawing in by_slice.items():
        before = by_slice.get((series, plane - 1))
        if before is not None:
            positions = before.surface.to_frame(np.concatenate(before.lines))
            # Each slice has its own surface; map points from one to the other via picture
            # coordinates.
            former = drawing.surface.from_frame(positions)
            pairs.append(SlicePair(drawing.surface, drawing.habits, drawing.lines, former))
    return pairs


def _train_likeness(
    traced: Sequence[_TracedDrawing],
    model: StrokeModel,
    rng: np.random.Generator,
    seed: int,
) -> Network:
    """Train the network that distinguishes people's drawings from candidates, given goal shape and person."""
    person_rows: list[FloatArray] = []
    candidate_rows: list[FloatArray] = []
    for drawing in traced:
        meter = CandidateMeter(drawing.surface)
        context = context_features(drawing.surface, drawing.habits)
        # Equally many rows of the person's drawing and of candidates, so that the classes are
        # balanced.
        count = max(1, _CANDIDATES // drawing.variants)
        features = meter.features(drawing.lines)
        person_rows += [np.concatenate([features, context], dtype=np.float32)] * count
        repeated_habits = np.repeat(drawing.habits[None], count, axis=0)
        for lines in draw_candidates(drawing.surface, repeated_habits, model, rng):
            row = np.concatenate([meter.features(lines), context], dtype=np.float32)
            candidate_rows.append(row)
    classes = np.repeat([0, 1], [len(candidate_rows), len(person_rows)])
    return train_network(
        np.array(candidate_rows + person_rows),
        classes,
        2,
        LIKENESS_TRAINING,
        seed,
    )
