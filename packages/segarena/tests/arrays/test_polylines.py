from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.arrays.polylines import bezier_curve, rasterize_polyline

places = st.tuples(st.integers(0, 60), st.integers(0, 60))


def stepped_line(start, stop):
    """The rule step by step, in x and y."""
    (y, x), (y1, x1) = start, stop
    dx, dy = abs(x1 - x), abs(y1 - y)
    sx, sy = np.sign(x1 - x), np.sign(y1 - y)
    along_x = dx > dy
    major, minor = (dx, dy) if along_x else (dy, dx)
    d = 2 * minor - major
    found = []
    for _ in range(major + 1):
        found.append((y, x))
        if d >= 0:
            y, x = (y + sy, x) if along_x else (y, x + sx)
            d -= 2 * major
        y, x = (y, x + sx) if along_x else (y + sy, x)
        d += 2 * minor
    return found


def de_casteljau(points, share):
    while len(points) > 1:
        points = (1 - share) * points[:-1] + share * points[1:]
    return points[0]


@given(st.lists(places, min_size=2, max_size=6))
def test_pixels_between_corners_are_those_of_the_stepped_rule(corners):
    expected = [pixel for pair in pairwise(corners) for pixel in stepped_line(*pair)]
    assert rasterize_polyline(np.array(corners)).tolist() == [list(pixel) for pixel in expected]


def test_a_single_corner_is_one_pixel_and_inner_corners_come_twice():
    assert rasterize_polyline(np.array([[3, 4]])).tolist() == [[3, 4]]
    assert rasterize_polyline(np.array([[3, 4], [3, 4]])).tolist() == [[3, 4]]
    assert rasterize_polyline(np.array([[0, 0], [0, 1], [1, 1]])).tolist() == [
        [0, 0],
        [0, 1],
        [0, 1],
        [1, 1],
    ]


def test_half_a_pixel_goes_to_the_far_side():
    assert rasterize_polyline(np.array([[0, 0], [1, 2]])).tolist() == [[0, 0], [1, 1], [1, 2]]
    assert rasterize_polyline(np.array([[1, 2], [0, 0]])).tolist() == [[1, 2], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("count", "samples"), [(2, 2), (2, 7), (3, 4), (20, 101), (300, 50), (1000, 41), (1400, 30)]
)
def test_a_curve_is_that_of_repeated_halfway_points(count, samples):
    points = np.random.default_rng(count).uniform(0, 500, (count, 2))
    expected = np.array([de_casteljau(points, share) for share in np.linspace(0, 1, samples)])
    assert np.abs(bezier_curve(points, samples) - expected).max() < 1e-6


def test_a_curve_through_points_on_a_straight_line_at_equal_steps_is_that_line():
    points = np.stack([np.arange(50), 2 * np.arange(50)], axis=1).astype(float)
    assert np.allclose(bezier_curve(points, 99)[:, 0], np.linspace(0, 49, 99), atol=1e-6)


@given(st.lists(places, min_size=2, max_size=40), st.integers(2, 60))
def test_a_curve_begins_and_ends_exactly_stays_between_its_points_and_runs_the_same_backwards(
    points, samples
):
    points = np.array(points, dtype=float)
    curve = bezier_curve(points, samples)
    assert curve.shape == (samples, 2)
    assert np.array_equal(curve[[0, -1]], points[[0, -1]])
    assert (curve >= points.min(axis=0)).all()
    assert (curve <= points.max(axis=0)).all()
    assert np.allclose(curve[::-1], bezier_curve(points[::-1], samples), atol=2e-6)


def test_the_curve_of_one_point_is_that_point():
    assert bezier_curve(np.array([[2.0, 3.0]]), 1000).tolist() == [[2.0, 3.0]]
