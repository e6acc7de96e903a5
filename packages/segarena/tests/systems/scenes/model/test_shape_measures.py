import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from segarena.systems.scenes.model.shape_measures import mask_shape, polygon_shape

SQUARE = np.array([[0, 0], [0, 4], [4, 4], [4, 0]], float)


def test_a_square_of_pixels_by_each_estimator():
    mask = np.ones((11, 11), bool)
    centres, cracks = (mask_shape(mask, estimator=estimator) for estimator in ("centres", "cracks"))
    assert centres.convexity == cracks.convexity == 1.0
    assert centres.simplicity == pytest.approx(math.sqrt(4 * math.pi * 121) / 40)
    assert cracks.simplicity == pytest.approx(math.sqrt(4 * math.pi * 121) / 44)


def test_diagonal_steps_count_the_root_of_two():
    # A diamond of radius 1: four diagonal steps around its centre.
    mask = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
    assert mask_shape(mask).simplicity == pytest.approx(
        min(1.0, math.sqrt(4 * math.pi * 5) / (4 * math.sqrt(2)))
    )


def test_simplicity_is_cut_at_one_and_not_defined_without_an_outline():
    assert mask_shape(np.ones((2, 2), bool)).simplicity == 1.0
    one = mask_shape(np.ones((1, 1), bool))
    assert one.convexity == 1.0
    assert math.isnan(one.simplicity)
    assert all(map(math.isnan, mask_shape(np.zeros((3, 3), bool))))


def test_convexity_is_that_of_the_corners_of_all_pixels():
    mask = np.random.default_rng(0).random((9, 13)) < 0.2
    corners = np.concatenate(
        [np.argwhere(mask) + step for step in ((0, 0), (0, 1), (1, 0), (1, 1))]
    )
    assert mask_shape(mask).convexity == pytest.approx(mask.sum() / ConvexHull(corners).volume)


def test_a_hole_lengthens_cracks_only():
    ring = np.ones((9, 9), bool)
    ring[4, 4] = False
    assert mask_shape(ring).simplicity == pytest.approx(math.sqrt(4 * math.pi * 80) / 32)
    assert mask_shape(ring, estimator="cracks").simplicity == pytest.approx(
        math.sqrt(4 * math.pi * 80) / 40
    )


def test_polygons_are_measured_exactly():
    assert polygon_shape([SQUARE]).convexity == 1.0
    assert polygon_shape([SQUARE]).simplicity == pytest.approx(math.sqrt(4 * math.pi * 16) / 16)
    bent = np.array([[0, 0], [0, 4], [1, 4], [1, 1], [4, 1], [4, 0]], float)
    assert polygon_shape([bent]).convexity == pytest.approx(7 / 11.5)
    assert all(map(math.isnan, polygon_shape([])))


@given(st.integers(3, 40), st.floats(0.5, 50))
def test_regular_polygons_approach_the_disk(sides, radius):
    angles = 2 * np.pi * np.arange(sides) / sides
    shape = polygon_shape([radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)])
    assert shape.convexity == pytest.approx(1.0)
    assert shape.simplicity == pytest.approx(math.sqrt(math.pi / sides / math.tan(math.pi / sides)))


@given(st.integers(0, 2**32 - 1))
def test_simplicity_squared_is_at_most_convexity_for_polygons(seed):
    # The reason why the columns of the paper's table must be swapped.
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.random(7)) * 2 * np.pi
    points = rng.uniform(1, 9, 7)[:, None] * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    shape = polygon_shape([points])
    if math.isfinite(shape.convexity):
        assert shape.simplicity**2 <= shape.convexity + 1e-9
