"""A hand fitted to what people drew; see `segarena.users.stroke_model` for what it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.samples import Mask
from segarena.users.stroke_model.candidate_features import CandidateMeter, context_features
from segarena.users.stroke_model.candidates import TURN_CLASSES, draw_candidates
from segarena.users.stroke_model.drawing_agents import START_DIRECTIONS
from segarena.users.stroke_model.model import StrokeModel
from segarena.users.stroke_model.network import Network
from segarena.users.stroke_model.surface import (
    ComplexPoints,
    DrawingSurface,
    FloatArray,
    build_surface,
)
from segarena_people.fitting.cohesion_fit import SlicePair, fit_cohesion
from segarena_people.fitting.network_training import TrainingConfig, train_network
from segarena_people.fitting.plan_fit import fit_plan_model
from segarena_people.fitting.stroke_tracing import resample_line, trace_strokes
from segarena_people.fitting.training_rows import TrainingRows, infer_plan, record_drawing

_REPLAYS = 2
_DRAFTS = 24
_LEAST_GOAL_PX = 4

STEP_TRAINING = TrainingConfig(hidden=(80, 40), epochs=14)
START_TRAINING = TrainingConfig(hidden=(32,), epochs=10)
COURSE_TRAINING = TrainingConfig(hidden=(32,), epochs=30, decay=1e-2)
LIKENESS_TRAINING = TrainingConfig(hidden=(32, 16), epochs=8, decay=1e-1)


@dataclass(frozen=True, slots=True, eq=False)
class PersonDrawing:
    """All that one person drew on one goal, on one side.

    Attributes:
        person: who.
        goal: bool (H, W).
        ink: the same.
        series: what the slices of one volume have in common that one person drew on for one target; "" of an image.
        plane: which of these slices it is.
    """

    person: str
    goal: Mask
    ink: Mask
    series: str = ""
    plane: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    drawing: PersonDrawing
    surface: DrawingSurface
    habits: FloatArray
    lines: list[ComplexPoints]
    weight: int


def fit_scribbler(drawings: Iterable[PersonDrawing], *, seed: int = 0) -> StrokeModel:
    """Return a hand that draws as people drew; the same drawings, seed and machine give the same one.

    People of whom there are few drawings count as much as others: theirs are taken several times, turned and mirrored.

    Raises:
        InvalidInput: there is nothing to learn from.
        MissingExtra: scikit-learn is not installed.
    """
    rng = np.random.default_rng(seed)
    kept = [
        each
        for each in drawings
        if np.count_nonzero(each.goal) >= _LEAST_GOAL_PX and each.ink.any()
    ]
    if len(kept) < 2:
        raise InvalidInput(
            f"expected two or more strokes on goals of {_LEAST_GOAL_PX} px or more, got {len(kept)}"
        )
    people = tuple(sorted({each.person for each in kept}))
    seen = list(chain.from_iterable(_seen(each, people, kept) for each in kept))
    rows = TrainingRows()
    for each in seen:
        for _ in range(_REPLAYS if each.weight == 1 else 1):
            record_drawing(each.surface, each.lines, each.habits, rows, rng)
    if not rows.courses:
        raise InvalidInput(
            "expected strokes with a course to learn from, got only dots; collect lines"
        )
    start, begun = _start_rows(rows.starts)
    hand = StrokeModel(
        people=people,
        planning=fit_plan_model(
            np.array([each.surface.shape for each in seen]),
            np.array([each.habits for each in seen]),
            np.array([infer_plan(each.lines, each.surface) for each in seen]),
        ),
        step=train_network(
            np.array(rows.steps), np.array(rows.turns), TURN_CLASSES + 1, STEP_TRAINING, seed
        ),
        start=train_network(start, begun, 2, START_TRAINING, seed),
        course=train_network(
            np.array(rows.courses), np.array(rows.chosen), START_DIRECTIONS, COURSE_TRAINING, seed
        ),
        likeness=_NOTHING,
    )
    hand = replace(hand, likeness=_likeness(seen, hand, rng, seed))
    return replace(hand, cohesion=fit_cohesion(_neighbours(seen), hand, rng))


_NO_INPUT = np.zeros(1, np.float32)
_NOTHING = Network(_NO_INPUT, _NO_INPUT + 1, [(_NO_INPUT[None], _NO_INPUT)])
"""In place of what is learnt last: drafts are made without it."""


def _seen(
    drawing: PersonDrawing, people: Sequence[str], everything: Sequence[PersonDrawing]
) -> list[_Seen]:
    """Return a drawing as hands see it; of people with few drawings turned and mirrored as well."""
    habits = np.eye(len(people), dtype=np.float32)[people.index(drawing.person)]
    own = sum(each.person == drawing.person for each in everything)
    variants = 8 if own * 4 < len(everything) / len(people) else 1
    found: list[_Seen] = []
    for variant in range(variants):
        surface = build_surface(_turned(drawing.goal, variant))
        traced = trace_strokes(_turned(drawing.ink, variant))
        step_px = surface.stride * surface.coarseness
        lines = [surface.from_frame(resample_line(line, step_px)) for line in traced]
        found.append(_Seen(drawing, surface, habits, lines, variants))
    return found


def _turned(mask: Mask, variant: int) -> Mask:
    """Return one of the eight ways in which a picture can lie."""
    turned = np.rot90(mask, variant % 4)
    return np.ascontiguousarray(turned[:, ::-1] if variant >= 4 else turned)


def _start_rows(starts: Sequence[FloatArray]) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return places where lines began and where they did not, and which is which; as many of either."""
    stacked = np.array(starts)
    others = stacked[:, 1:].reshape(-1, stacked.shape[-1])
    begun = np.repeat(stacked[:, 0], stacked.shape[1] - 1, axis=0)
    return np.concatenate([others, begun]), np.repeat([0, 1], [len(others), len(begun)])


def _neighbours(seen: Sequence[_Seen]) -> list[SlicePair]:
    """Return what somebody drew on two slices that follow each other, of each such pair."""
    by_place = {
        (each.drawing.series, each.drawing.plane): each for each in seen if each.drawing.series
    }
    found: list[SlicePair] = []
    for (series, plane), each in by_place.items():
        before = by_place.get((series, plane - 1))
        if before is not None:
            points = before.surface.to_frame(np.concatenate(before.lines))
            found.append(
                SlicePair(each.surface, each.habits, each.lines, each.surface.from_frame(points))
            )
    return found


def _likeness(
    seen: Sequence[_Seen], hand: StrokeModel, rng: np.random.Generator, seed: int
) -> Network:
    """Return what tells people's drawings from drafts, given shape and person."""
    people: list[FloatArray] = []
    made: list[FloatArray] = []
    for each in seen:
        board = CandidateMeter(each.surface)
        known = context_features(each.surface, each.habits)
        count = max(1, _DRAFTS // each.weight)
        people += [np.concatenate([board.features(each.lines), known], dtype=np.float32)] * count
        habits = np.repeat(each.habits[None], count, axis=0)
        made += [
            np.concatenate([board.features(lines), known], dtype=np.float32)
            for lines in draw_candidates(each.surface, habits, hand, rng)
        ]
    return train_network(
        np.array(made + people),
        np.repeat([0, 1], [len(made), len(people)]),
        2,
        LIKENESS_TRAINING,
        seed,
    )
