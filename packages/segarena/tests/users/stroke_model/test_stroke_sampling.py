from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from segarena.errors import InvalidMask
from segarena.users.stroke_model.model import read_stroke_model
from segarena.users.stroke_model.stroke_sampling import sample_strokes


def disc(shape, row, column, radius):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def apart(lines, others):
    one = np.concatenate(lines)
    other = np.concatenate(others)
    return np.hypot(*(one[:, None] - other).T).min(axis=0).mean()


@pytest.mark.long
def test_what_was_drawn_on_the_next_slice_draws_the_hand_there():
    goal = disc((80, 80), 40, 40, 25)
    hand = read_stroke_model()
    person = hand.habits_of("acdc-expert")
    former = [np.stack([np.linspace(22, 58, 30), np.full(30, 24.0)], axis=1)]

    def mean_distance(cohesion):
        drawn = replace(hand, cohesion=cohesion)
        seeds = range(12)
        return np.mean(
            [
                apart(
                    sample_strokes(goal, person, drawn, np.random.default_rng(seed), former), former
                )
                for seed in seeds
            ]
        )

    assert mean_distance(60.0) < mean_distance(0.0) - 1


def test_large_lines_are_smooth():
    goal = disc((480, 640), 240, 320, 180)
    hand = read_stroke_model()
    lines = sample_strokes(goal, hand.habits_of("acdc-expert"), hand, np.random.default_rng(1))
    steps = np.concatenate([np.hypot(*np.diff(line, axis=0).T) for line in lines if len(line) > 1])
    assert np.median(steps) < 8


def test_a_disc_gets_lines_on_it_of_any_size():
    hand = read_stroke_model()
    for radius in (1, 3, 10, 40, 150):
        goal = disc((400, 400), 200, 200, radius)
        lines = sample_strokes(
            goal, hand.habits_of("acdc-expert"), hand, np.random.default_rng(radius)
        )
        points = np.concatenate(lines)
        assert np.abs(points - 200).max() < 1.5 * radius + 3


def sparse(shape, rng):
    """Yield goals that a coarser grid or a smaller picture could miss: dots, combs, noise, a line, hairs."""
    height, width = shape
    rows, columns = np.indices(shape)
    yield (rows == height - 1) & (columns == width - 1)
    yield (rows % 7 == 1) & (columns % 7 == 1)
    yield rows % 2 == 1
    yield (rng.random(shape) < 0.01) | (rows + columns == 0)
    yield columns == width // 2
    yield disc(shape, height / 2, width / 2, min(shape) / 3) | (
        (rows % 9 == 4) & (columns % 2 == 1)
    )


@pytest.mark.parametrize("shape", [(2, 2), (40, 60), (430, 500)])
def test_goals_of_whatever_shape_get_lines_within_the_frame(shape):
    hand = read_stroke_model()
    rng = np.random.default_rng(0)
    for number, goal in enumerate(each for each in sparse(shape, rng) if each.any()):
        former = [np.zeros((1, 2))] if number % 2 else []
        lines = sample_strokes(goal, hand.habits_of("medscribble-3"), hand, rng, former)
        points = np.concatenate(lines)
        assert np.isfinite(points).all()
        assert (points >= 0).all()
        assert (points <= np.array(shape) - 1).all()


def test_there_must_be_something_to_draw_on():
    hand = read_stroke_model()
    with pytest.raises(InvalidMask, match="at least one pixel"):
        sample_strokes(
            np.zeros((9, 9), np.bool_),
            hand.habits_of("acdc-expert"),
            hand,
            np.random.default_rng(0),
        )
