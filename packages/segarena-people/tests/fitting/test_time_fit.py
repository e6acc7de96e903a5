"""Fits to times that are sampled from known habits."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.users.habits.prompt_time import REST_DISTANCE, PromptTimeModel
from segarena.users.habits.time_habits import ActTime
from segarena_people.fitting.time_fit import fit_seconds, has_times
from segarena_people.measures.time_calibration import calibrate_times
from segarena_people.prompts import PersonPrompt, PointerSample

PUBLISHED = PromptTimeModel().habits
SLOW = msgspec.structs.replace(
    PUBLISHED,
    between_people=0.4,
    look={
        "first": ActTime(median_s=4.0, spread=0.6),
        "another": ActTime(median_s=1.2, spread=0.4),
        "correction": ActTime(median_s=2.5, spread=0.5),
    },
    adjust=ActTime(median_s=6.0, spread=0.5),
    draw_per_s=0.3,
    draw_spread=0.35,
)
DIAGONAL = 500.0


def drawn(rng, one):
    return one.median * math.exp(one.spread * rng.standard_normal())


def point(x, y, time_s, stroke=0):
    return PointerSample(stroke=stroke, x=x, y=y, time_ms=1000 * time_s)


def given(kind, number, person, points, round_=1):
    return PersonPrompt(
        id=str(number), study="made", dataset="made", sample=str(number), target="t", width=300, height=400,
        kind=kind, person=f"p{person}", pointer="mouse", round=round_, points=tuple(points),
    )  # fmt: skip


def clicks(habits, count=1500, people=30, seed=0):
    rng = np.random.default_rng(seed)
    mouse = habits.pointers["mouse"]
    factors = np.exp(habits.between_people * rng.standard_normal(people))
    for number in range(count):
        person = number % people
        round_ = 1 + number % 3 // 2
        acts = (
            habits.look["first" if round_ == 1 else "correction"].seconds,
            mouse.point(REST_DISTANCE, habits.aim),
        )
        took = sum(drawn(rng, act) for act in (*acts, habits.press.seconds)) * factors[person]
        yield given("click", number, person, [point(100, 100, took)], round_)


def lines(habits, count=300, seed=1):
    rng = np.random.default_rng(seed)
    for number in range(count):
        start = 1.0 + rng.random()
        end = start + (200 / DIAGONAL) / drawn(rng, habits_speed(habits))
        yield given("scribble", number, 0, [point(10, 10, start), point(10, 210, end)])


def habits_speed(habits):
    return ActTime(median_s=habits.draw_per_s, spread=habits.draw_spread).seconds


def boxes(habits, count=300, seed=2):
    rng = np.random.default_rng(seed)
    for number in range(count):
        drag = habits.pointers["mouse"].drag(
            math.dist((50, 60), (170, 220)) / DIAGONAL, habits.aim_edge
        )
        took = drawn(rng, drag) + drawn(rng, habits.adjust.seconds)
        yield given("box", number, 0, [point(50, 60, 2.0), point(170, 220, 2.0 + took)])


def test_looking_is_what_is_left_beside_moving_and_pressing():
    found = fit_seconds(clicks(SLOW, 3000, people=60), "made here")
    for why in ("first", "correction"):
        assert found.look[why].median_s == pytest.approx(SLOW.look[why].median_s, rel=0.12)
        assert found.look[why].spread == pytest.approx(SLOW.look[why].spread, rel=0.25)
    assert found.between_people == pytest.approx(0.4, rel=0.25)
    assert found.pointers == PUBLISHED.pointers


def test_seconds_that_are_predicted_after_a_fit_are_those_of_other_people():
    habits = fit_seconds(clicks(SLOW, 4000, people=500), "made here")
    others = calibrate_times(clicks(SLOW, 400, people=400, seed=7), habits)
    assert others.predicted_s == pytest.approx(others.median_s, rel=0.2)
    assert others.uniform()[1] > 0.05
    as_published = calibrate_times(clicks(SLOW, 400, people=400, seed=7), PUBLISHED)
    assert as_published.uniform()[1] < 1e-6


def test_the_speed_of_drawing_is_that_of_strokes():
    found = fit_seconds(lines(SLOW), "made here")
    assert found.draw_per_s == pytest.approx(0.3, rel=0.1)
    assert found.draw_spread == pytest.approx(0.35, rel=0.15)
    assert found.adjust == PUBLISHED.adjust


def test_correcting_a_box_is_what_is_left_beside_the_drag():
    assert fit_seconds(boxes(SLOW), "made here").adjust.median_s == pytest.approx(6.0, rel=0.12)


def test_gaps_between_strokes_are_looking_and_moving():
    rng = np.random.default_rng(3)
    move = SLOW.pointers["mouse"].point(100 / DIAGONAL, SLOW.aim)
    prompts = []
    for number in range(300):
        gap = sum(
            drawn(rng, act) for act in (SLOW.look["another"].seconds, move, SLOW.press.seconds)
        )
        points = [
            point(10, 10, 1.0),
            point(10, 110, 2.0),
            point(110, 110, 2 + gap, 1),
            point(110, 50, 4 + gap, 1),
        ]
        prompts.append(given("scribble", number, 0, points))
    assert fit_seconds(prompts, "made here").look["another"].median_s == pytest.approx(
        1.2, rel=0.12
    )


def test_what_nobody_gave_stays_as_published():
    found = fit_seconds(clicks(SLOW, 60), "made here")
    for name in ("adjust", "outline", "scroll", "press", "draw_per_s"):
        assert getattr(found, name) == getattr(PUBLISHED, name)
    assert found.source == "made here"


def test_times_that_are_not_there_or_run_backwards_are_passed_over():
    assert not has_times(given("click", 0, 0, []))
    assert not has_times(given("click", 0, 0, [point(1, 1, 0.0)]))
    assert not has_times(given("scribble", 0, 0, [point(1, 1, 2.0), point(1, 1, 1.0)]))
    with pytest.raises(InvalidInput, match="at least 10 prompts with times"):
        fit_seconds([given("click", 0, 0, [point(1, 1, 0.0)])] * 20, "made here")
