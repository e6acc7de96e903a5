from __future__ import annotations

import numpy as np
import pytest

from segarena.users.stroke_model.drawing_surface import build_surface
from segarena.users.stroke_model.slice_distance import distances_to_strokes


def test_distances_are_over_the_goals_size():
    goal = np.zeros((60, 60), np.bool_)
    goal[20:40, 20:40] = True
    surface = build_surface(goal)
    former = np.arange(10) + 0j
    lines = [[former], [former + 5j], [former[:5], former[5:] + 10j]]
    # The third: half of it lies on the former line, half 10 px off; points of that line have it at 0 to 5 px.
    expected = [0, 5 / 20, (5 + 1.5) / 2 / 20]
    assert distances_to_strokes(lines, former, surface) == pytest.approx(expected, abs=1e-6)
