from __future__ import annotations

import numpy as np
import pytest

from segarena.users.stroke_model.drawing_agents import DrawingAgents
from segarena.users.stroke_model.drawing_surface import build_surface

ME = np.zeros(1, np.intp)


@pytest.fixture
def hand():
    goal = np.zeros((80, 80), np.bool_)
    goal[20:60, 20:60] = True
    plans = np.log(np.array([[2.0, 1.0]], np.float32))
    return DrawingAgents(build_surface(goal), np.ones((1, 1), np.float32), plans, most=100)


def test_a_hand_goes_where_it_faces_and_turns_to_the_right_hand_side(hand):
    start = hand.surface.from_frame(np.array([[40.0, 40.0]]))
    hand.put_down(ME, start)
    hand.set_course(ME, np.array([0.0]))
    hand.step(ME, np.array([0.0]))
    hand.step(ME, np.array([np.pi / 2]))
    (line,) = (hand.surface.to_frame(line) for line in hand.lines_of(0))
    stride = hand.surface.stride
    assert np.allclose(line, [[40, 40], [40, 40 + stride], [40 + stride, 40 + stride]], atol=1e-3)


def test_a_hand_is_finished_when_it_has_drawn_its_plan(hand):
    hand.put_down(ME, hand.surface.from_frame(np.array([[40.0, 40.0]])))
    hand.set_course(ME, np.array([0.0]))
    steps = round(2 * hand.surface.size / hand.surface.stride)
    for _ in range(steps):
        assert not hand.is_finished(ME)[0]
        hand.step(ME, np.array([1.0]))
    assert hand.is_finished(ME)[0]


def test_what_was_drawn_is_seen_once_the_hand_is_lifted(hand):
    place = hand.surface.from_frame(np.array([[40.0, 40.0]]))
    before = hand.start_inputs(ME, place[None])
    hand.put_down(ME, place)
    hand.set_course(ME, np.array([0.0]))
    hand.lift(ME)
    assert not np.array_equal(hand.start_inputs(ME, place[None]), before)
    assert hand.start_inputs(ME, place[None]).max() >= 1


def test_what_is_seen_turns_with_the_hand():
    """A square gives the same inputs to agents from its four sides, except for those that contain the position."""
    goal = np.zeros((81, 81), np.bool_)
    goal[20:61, 20:61] = True
    surface = build_surface(goal)
    four = np.arange(4)
    hands = DrawingAgents(
        surface, np.ones((4, 1), np.float32), np.zeros((4, 2), np.float32), most=10
    )
    out = np.exp(1j * four * np.pi / 2)
    hands.put_down(four, (surface.centre + 12 * out).astype(np.complex64))
    hands.set_course(four, four * np.pi / 2)
    seen = hands.step_inputs(four)[:, :27]
    assert np.abs(seen - seen[0]).max() < 0.2
