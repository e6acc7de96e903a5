from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.users.stroke_model.candidate_features import CandidateMeter
from segarena.users.stroke_model.drawing_surface import build_surface


@pytest.fixture
def square():
    goal = np.zeros((60, 60), np.bool_)
    goal[20:40, 20:40] = True
    surface = build_surface(goal)
    return surface, CandidateMeter(surface)


def line(surface, *positions):
    return surface.from_frame(np.array(positions, dtype=np.float64))


def test_marks_of_a_straight_line_by_hand(square):
    surface, board = square
    marks = board.features([line(surface, (30, 22), (30, 37))])
    assert marks[:3] == pytest.approx([math.log(16 / 20), 1, 0])  # 16 pixels, one piece
    assert marks[5] == 0  # nowhere outside
    assert marks[8:10] == pytest.approx([1 / 20, 16 / 20])
    assert marks[11:13] == [2, 0]  # two ends, as many as a line has
    assert marks[-2:] == [0, 0]  # no bends


def test_lines_outside_and_bends_are_seen(square):
    surface, board = square
    marks = board.features([line(surface, (30, 10), (30, 30), (10, 30))])
    assert marks[5] == 1
    assert marks[16] == pytest.approx(20 / 41, abs=0.03)  # half of each leg
    assert marks[-2:] == pytest.approx([math.pi / 2, 1])


def test_a_dot_has_marks(square):
    surface, board = square
    assert np.isfinite(board.features([line(surface, (30, 30))])).all()
