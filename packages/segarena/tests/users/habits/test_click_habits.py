from __future__ import annotations

import numpy as np
import pytest

from segarena.users.habits.click_habits import ClickHabits, PointerSteadiness
from segarena.users.habits.habit_files import SHIPPED_HABITS, read_habits

DEPTHS = np.array([1.0, 2.0, 4.0, 0.0])
PLACES = np.array([[0, 0], [0, 10], [0, 20], [0, 30]])


def habits_of(**told):
    hands = {
        "mouse": PointerSteadiness(unsteady=0.01),
        "touch": PointerSteadiness(unsteady=0.02, down=0.01, right=-0.005),
    }
    habits = {
        "source": "made here", "centredness": 2.0, "anywhere": 0.0, "avoid": 1.0, "reach": 0.05, "between_people": 0.0,
        "hands": hands,
    } | told  # fmt: skip
    return ClickHabits(**habits)


def somebody(**told):
    return habits_of(**told).of(np.random.default_rng(0), "mouse")


def test_places_are_taken_by_the_power_of_the_map():
    assert somebody().weigh(DEPTHS, PLACES, [], 100.0).tolist() == [1 / 16, 1 / 4, 1.0, 0.0]
    assert somebody(centredness=0.0).weigh(DEPTHS, PLACES, [], 100.0).tolist() == [
        1.0,
        1.0,
        1.0,
        0.0,
    ]


def test_places_beside_an_earlier_click_are_avoided_and_those_far_away_are_not():
    weights = somebody(centredness=0.0).weigh(DEPTHS, PLACES, [(0, 0)], 100.0)
    assert weights[0] == pytest.approx(np.exp(-1))
    assert weights[1] == pytest.approx(np.exp(-np.exp(-(10**2) / (2 * 5**2))))
    assert weights[2] == pytest.approx(1.0, abs=1e-3)


def test_a_negative_habit_draws_to_earlier_clicks():
    assert somebody(avoid=-1.0).weigh(DEPTHS, PLACES, [(0, 20)], 100.0)[2] == pytest.approx(np.e)


def test_nothing_to_click_has_no_weight():
    assert not somebody().weigh(np.zeros(4), PLACES, [(0, 0)], 100.0).any()


def test_hands_slip_by_their_spread_and_to_one_side():
    rng = np.random.default_rng(0)
    slips = np.array([habits_of().of(rng, "touch").slip(rng, 1000.0) for _ in range(3000)])
    assert slips.mean(axis=0) == pytest.approx([10.0, -5.0], abs=1.5)
    assert slips.std(axis=0) == pytest.approx([20.0, 20.0], rel=0.05)


def test_fingers_are_less_steady_than_a_mouse():
    hands = read_habits(SHIPPED_HABITS / "clicks.toml", ClickHabits).hands
    assert hands["touch"].unsteady > hands["mouse"].unsteady


def test_factors_of_people_have_the_spread_between_them():
    people = [
        habits_of(between_people=0.5).of(np.random.default_rng([0, k]), "mouse") for k in range(500)
    ]
    assert np.log([one.factor for one in people]).std() == pytest.approx(0.5, rel=0.1)
