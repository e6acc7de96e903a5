from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.videos.scribbles.masks import scribbles_to_masks, scribbles_to_points

SHAPE = (3, 5)


def drawn(*lines, frames=2):
    data = {"sequence": "s", "scribbles": [[] for _ in range(frames)]}
    data["scribbles"][1] = [{"path": path, "object_id": object_id} for object_id, path in lines]
    return data


def test_later_lines_are_drawn_over_earlier_ones_a_pixel_wide():
    masks = scribbles_to_masks(drawn((2, [[0, 0], [1, 0]]), (0, [[0.5, 0], [0.5, 1]])), SHAPE)
    assert masks.dtype == np.int16
    assert masks.tolist() == [
        [[-1] * 5] * 3,
        [[2, 2, 0, 2, 2], [-1, -1, 0, -1, -1], [-1, -1, 0, -1, -1]],
    ]


def test_points_alone_and_another_default():
    masks = scribbles_to_masks(drawn((1, [[0, 0], [1, 1]])), SHAPE, is_joined=False, default=255)
    assert masks[1].tolist() == [[1, 255, 255, 255, 255], [255] * 5, [255, 255, 255, 255, 1]]


def test_a_single_point_is_a_pixel():
    assert np.argwhere(scribbles_to_masks(drawn((1, [[1, 0.5]])), SHAPE) == 1).tolist() == [
        [1, 1, 4]
    ]


def test_pixels_are_the_nearest_or_as_published_cut_off():
    data = drawn((1, [[0.2, 0]]))  # 0.8 of a pixel
    assert np.argwhere(scribbles_to_masks(data, SHAPE) == 1).tolist() == [[1, 0, 1]]
    assert np.argwhere(scribbles_to_masks(data, SHAPE, rounding="down") == 1).tolist() == [
        [1, 0, 0]
    ]
    robot = drawn((1, [[3 / 5, 1 / 3]]))
    assert np.argwhere(scribbles_to_masks(robot, SHAPE, fractions="size") == 1).tolist() == [
        [1, 1, 3]
    ]
    assert np.argwhere(scribbles_to_masks(robot, SHAPE, rounding="down") == 1).tolist() == [
        [1, 0, 2]
    ]


def test_a_bezier_curve_cuts_the_bend():
    bend = drawn((1, [[0, 0], [1, 0], [1, 1]]))
    joined = scribbles_to_masks(bend, SHAPE)[1] == 1
    curve = scribbles_to_masks(bend, SHAPE, bezier_points=50)[1] == 1
    assert joined[0].all()
    assert curve[0, 0]
    assert curve[2, 4]
    assert not curve[0, 4]


def test_nothing_drawn_is_the_default_everywhere():
    assert (scribbles_to_masks(drawn(frames=3), SHAPE) == -1).all()
    points = scribbles_to_points(drawn(frames=3), SHAPE)
    assert points.positions.shape == (0, 3)
    assert points.object_ids.shape == (0,)


def test_points_are_frame_row_column_each_scaled_by_its_own_side():
    data = drawn((2, [[1, 0], [0.5, 1]]), (0, [[0, 0.5]]))
    points = scribbles_to_points(data, SHAPE)
    assert points.positions.tolist() == [[1, 0, 4], [1, 2, 2], [1, 1, 0]]
    assert points.object_ids.tolist() == [2, 2, 0]
    assert scribbles_to_points(data).positions.tolist() == [[1, 0, 1], [1, 1, 0.5], [1, 0.5, 0]]
    assert scribbles_to_points(data, SHAPE, fractions="size").positions.tolist() == [
        [1, 0, 4],
        [1, 2, 2.5],
        [1, 1.5, 0],
    ]


def test_unknown_options_are_refused():
    with pytest.raises(InvalidInput, match="rounding: expected one of nearest, down, got 'up'"):
        scribbles_to_masks(drawn(), SHAPE, rounding="up")
    with pytest.raises(InvalidInput, match="bezier_points: expected 2 or more, got 1"):
        scribbles_to_masks(drawn(), SHAPE, bezier_points=1)
