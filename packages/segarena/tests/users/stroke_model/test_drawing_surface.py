from __future__ import annotations

import numpy as np
import pytest

from segarena.users.stroke_model.drawing_surface import SHAPE_FEATURES, build_surface


def disc(shape, row, column, radius):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return (rows - row) ** 2 + (columns - column) ** 2 <= radius**2


def told(goal):
    return dict(zip(SHAPE_FEATURES, build_surface(goal).shape.tolist(), strict=True))


def test_size_depth_and_middle_of_a_disc():
    surface = build_surface(disc((80, 100), 40, 60, 20))
    assert surface.size == pytest.approx(np.sqrt(np.pi) * 20, rel=0.01)
    assert surface.depth == pytest.approx(20.5, abs=1)
    assert surface.to_frame(np.array([surface.centre])).tolist() == [
        [pytest.approx(40), pytest.approx(60)]
    ]


def test_shapes_are_told_apart():
    round_ = disc((120, 120), 60, 60, 40)
    ring = disc((120, 120), 60, 60, 40) & ~disc((120, 120), 60, 60, 30)
    bar, two = np.zeros((2, 120, 120), np.bool_)
    bar[55:65, 10:110] = True
    two[:, :] = disc((120, 120), 30, 30, 15) | disc((120, 120), 90, 90, 15)
    assert told(round_)["solidity"] > 0.95
    assert told(round_)["parts"] == pytest.approx(0)
    assert told(ring)["holes"] == pytest.approx(9 / 16, abs=0.02)
    assert told(ring)["thinness"] > told(round_)["thinness"]
    assert told(bar)["elongation"] == pytest.approx(np.log(10), abs=0.01)
    assert told(two)["parts"] == pytest.approx(np.log(2), abs=0.01)


def test_shape_does_not_depend_on_scale():
    small = told(disc((60, 60), 30, 30, 15))
    large = told(disc((900, 900), 450, 450, 225))
    assert large == {name: pytest.approx(value, abs=0.06) for name, value in small.items()}


def test_large_goals_are_looked_at_in_coarser_pixels_and_positions_come_back():
    goal = disc((480, 854), 240, 400, 200)
    surface = build_surface(goal)
    assert surface.coarseness > 1
    positions = np.array([[240.0, 400.0], [100.0, 300.0]])
    assert np.allclose(surface.to_frame(surface.from_frame(positions)), positions, atol=1e-3)
    thin = np.zeros((480, 854), np.bool_)
    thin[240, 10:800] = True
    assert build_surface(thin).coarseness == 1


def test_positions_never_leave_the_frame():
    goal = np.ones((37, 53), np.bool_)
    surface = build_surface(goal)
    far = surface.to_frame(surface.clip(np.array([-9 - 9j, 999 + 999j])))
    assert far.min() >= 0
    assert (far <= [36, 52]).all()
