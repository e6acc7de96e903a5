"""Fits to clicks that are sampled from known habits."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from segarena.errors import InvalidInput
from segarena.users.habits.click_habits import ClickHabits, PointerSteadiness
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits
from segarena_people.fitting.click_fit import PersonClick, fit_clicks

HABITS = msgspec.structs.replace(
    read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits),
    anywhere=0.001,
    between_people=0.0,
    avoid=0.0,
)
SHAPE = (90, 120)
DIAGONAL = math.hypot(*SHAPE)


def goal_of(rng):
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]]
    half = rng.uniform(12, 34, 2)
    middle = rng.uniform(38, 52, 2)
    return ((rows - middle[0]) / half[0]) ** 2 + ((columns - middle[1]) / half[1]) ** 2 <= 1


def given(habits, count=240, *, people=1, pointer="mouse", earlier=False, seed=0):
    rng = np.random.default_rng(seed)
    for number in range(count):
        name = number % people
        somebody = habits.of(np.random.default_rng([seed, name]), pointer)
        goal = goal_of(rng)
        pixels = np.argwhere(goal)
        before = [tuple(pixels[len(pixels) // 2].tolist())] if earlier else []
        depths = distance_transform_edt(np.pad(goal, 1))[1:-1, 1:-1][goal]
        weights = somebody.weigh(depths, pixels, before, DIAGONAL)
        if rng.random() < habits.anywhere:
            weights = np.ones(len(pixels))
        place = pixels[rng.choice(len(pixels), p=weights / weights.sum())] + somebody.slip(
            rng, DIAGONAL
        )
        yield PersonClick(goal, tuple(place.tolist()), before, f"p{name}", pointer)


@pytest.mark.long
@pytest.mark.parametrize("power", [1.5, 4.0])
def test_the_power_of_depth_is_the_one_that_clicks_were_drawn_with(power):
    found = fit_clicks(given(msgspec.structs.replace(HABITS, centredness=power), 120), "made here")
    assert found.centredness == pytest.approx(power, rel=0.5)


def test_clicks_anywhere_are_told_from_those_in_the_middle():
    habits = msgspec.structs.replace(HABITS, centredness=6.0, anywhere=0.3)
    assert fit_clicks(given(habits, 120), "made here").anywhere == pytest.approx(0.3, abs=0.12)


def thin_clicks(unsteady, count=60):
    """Clicks on lines narrower than the motor error; for wider objects, the aim explains all of it."""
    rng = np.random.default_rng(0)
    somebody = msgspec.structs.replace(
        HABITS, hands={"touch": PointerSteadiness(unsteady=unsteady)}
    ).of(rng, "touch")
    for _ in range(count):
        goal = np.zeros(SHAPE, dtype=bool)
        row = int(rng.integers(20, 70))
        goal[row : row + 3, 20:100] = True
        place = np.array([row + 1.0, rng.uniform(20, 100)]) + somebody.slip(rng, DIAGONAL)
        yield PersonClick(goal, tuple(place.tolist()), (), "p", "touch")


def test_how_steady_the_hand_is_shows_on_thin_things():
    assert fit_clicks(thin_clicks(0.03), "made here").hands["touch"].unsteady == pytest.approx(
        0.03, rel=0.4
    )
    assert fit_clicks(thin_clicks(0.002), "made here").hands["touch"].unsteady <= 0.005


@pytest.mark.long
def test_what_lies_between_people_is_told_from_chance():
    alike = msgspec.structs.replace(HABITS, centredness=1.5)
    apart = msgspec.structs.replace(alike, between_people=0.8)
    assert fit_clicks(given(alike, 160, people=8, seed=3), "made here").between_people <= 0.2
    assert fit_clicks(given(apart, 160, people=8, seed=3), "made here").between_people >= 0.4


@pytest.mark.long
def test_whether_earlier_clicks_repel_or_draw_is_told():
    repelled, drawn = (msgspec.structs.replace(HABITS, avoid=avoid) for avoid in (3.0, -1.0))
    assert fit_clicks(given(repelled, 60, earlier=True), "made here").avoid >= 1.5
    assert fit_clicks(given(drawn, 60, earlier=True), "made here").avoid <= -0.5


def test_without_later_clicks_what_earlier_ones_do_stays_as_shipped():
    shipped = read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits)
    assert fit_clicks(given(HABITS, 30), "made here").avoid == shipped.avoid


def test_the_same_clicks_give_the_same_habits():
    assert fit_clicks(given(HABITS, 30), "x") == fit_clicks(given(HABITS, 30), "x")


@pytest.mark.long
def test_a_click_that_nothing_explains_does_not_decide():
    clicks = [*given(msgspec.structs.replace(HABITS, centredness=4.0), 100)]
    astray = PersonClick(clicks[0].goal, (0.0, 0.0), (), "p0", "mouse")
    assert fit_clicks([*clicks, astray], "x").centredness >= 2.0


def test_too_few_clicks_on_something_are_refused():
    nothing = [PersonClick(np.zeros(SHAPE, dtype=bool), (1.0, 1.0))] * 30
    with pytest.raises(InvalidInput, match="at least 20"):
        fit_clicks(nothing, "x")
