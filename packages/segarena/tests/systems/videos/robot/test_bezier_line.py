from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segarena.arrays.polylines import rasterize_polyline
from segarena.systems.videos.robot.bezier_line import (
    guided_line,
    nearest_pixels,
    points_on_mask,
    smooth_line,
)
from segarena.systems.videos.robot.skeleton_paths import longest_paths


def bend(side=30):
    return np.array(
        [*((0, column) for column in range(side)), *((row, side - 1) for row in range(1, side))]
    )


def test_a_published_line_has_all_its_points_and_runs_from_the_end_of_the_path_to_its_beginning():
    line = smooth_line(bend(), 1000)
    assert line.shape == (1000, 2)
    assert line[0].tolist() == [29, 29]
    assert line[-1].tolist() == [0, 0]


def test_a_path_of_more_pixels_than_points_is_left_as_it_is():
    assert np.array_equal(smooth_line(bend(), 58), bend())
    assert smooth_line(bend(), 59)[[0, -1]].tolist() == [[29, 29], [0, 0]]  # as many: a curve
    assert len(smooth_line(bend(), 59)) == 59


def test_a_published_line_cuts_the_bend_and_a_guided_one_does_not():
    path = bend()
    on_path = np.zeros((30, 30), dtype=bool)
    on_path[tuple(path.T)] = True
    assert 0.85 < points_on_mask(smooth_line(path, 1000), on_path).mean() < 0.95
    line = guided_line(path, 1000, on_path)
    assert points_on_mask(line, on_path).all()
    assert line[0].tolist() == [29, 29]
    assert line[-1].tolist() == [0, 0]


def test_with_room_a_guided_line_is_as_smooth_as_a_published_one():
    path = bend()
    assert np.array_equal(
        guided_line(path, 1000, np.ones((30, 30), dtype=bool)), smooth_line(path, 2 * len(path))
    )


def test_a_guided_line_has_no_more_points_than_it_may():
    path = np.stack([np.zeros(900, dtype=int), np.arange(900)], axis=1)
    assert len(guided_line(path, 1000, np.ones((1, 900), dtype=bool))) == 1000


def test_a_path_of_one_pixel_is_a_point():
    assert guided_line(np.array([[2, 3]]), 1000, np.ones((4, 4), dtype=bool)).tolist() == [[2, 3]]
    assert smooth_line(np.array([[2, 3]]), 1000).tolist() == [[2, 3]]


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=16)), st.integers(2, 60)
)
def test_a_guided_line_stays_on_even_the_thinnest_mask_however_few_points_it_may_have(
    mask, max_points
):
    for path in longest_paths(mask, 1):
        line = guided_line(path, max_points, mask)
        assert points_on_mask(line, mask).all()
        assert mask[tuple(rasterize_polyline(np.stack(nearest_pixels(line), axis=1)).T)].all()
        assert np.array_equal(line[[0, -1]], path[[-1, 0]])


@pytest.mark.parametrize(("place", "pixel"), [(0.0, 0), (0.49, 0), (0.5, 1), (1.5, 2)])
def test_halfway_between_pixels_a_point_is_on_the_later_one(place, pixel):
    rows, columns = nearest_pixels(np.array([[place, 0.0]]))
    assert (rows.tolist(), columns.tolist()) == ([pixel], [0])
