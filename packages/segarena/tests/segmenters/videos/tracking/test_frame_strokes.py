"""Marks of strokes in a frame, and the pixels that they leave unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from segarena.prompts import Click, Scribble
from segarena.segmenters.videos.tracking.frame_strokes import (
    UNMARKED,
    apply_marks_to_labels,
    draw_strokes,
    group_by_frame,
    read_strokes,
    stroke_object_ids,
)
from segarena.segmenters.videos.tracking.stroke_seeds import mark_border, seed_labels

SHAPE = (3, 40, 60)


def test_a_negative_stroke_says_background_whatever_it_is_about():
    prompts = (
        Click((1, 2, 3), object_id=4),
        Click((0, 2, 3), is_positive=False, object_id=2),
        Click((0, 9, 9)),
    )
    strokes = read_strokes(prompts, SHAPE)
    assert [stroke.label for stroke in strokes] == [4, 0, 1]
    assert stroke_object_ids(strokes) == (1, 2, 4)
    assert {
        frame: [stroke.label for stroke in said] for frame, said in group_by_frame(strokes).items()
    } == {
        0: [0, 1],
        1: [4],
    }


def test_lines_are_drawn_in_order_and_a_click_is_a_pixel():
    strokes = read_strokes(
        (
            Scribble(((0, 5, 2), (0, 5, 8))),
            Scribble(((0, 3, 4), (0, 7, 4)), object_id=2),
            Click((0, 39, 59)),
        ),
        SHAPE,
    )
    expected = np.full(SHAPE[1:], UNMARKED)
    expected[5, 2:9] = 1
    expected[3:8, 4] = 2
    expected[39, 59] = 1
    assert np.array_equal(draw_strokes(strokes, SHAPE[1:]), expected)


def test_strokes_keep_their_place_in_smaller_frames():
    (stroke,) = read_strokes((Scribble(((0, 20, 0), (0, 20, 59))),), SHAPE)
    small = draw_strokes([stroke], (20, 30), scale=(0.5, 0.5))
    assert (small[10] == 1).all()
    assert (small[[9, 11]] == UNMARKED).all()


def test_marks_overrule_labels():
    labels = np.ones((4, 4), np.uint8)
    marks = np.full((4, 4), UNMARKED, np.int16)
    marks[0], marks[1] = 0, 3
    assert np.array_equal(
        apply_marks_to_labels(labels, marks), np.repeat([[0], [3], [1], [1]], 4, axis=1)
    )


def blank():
    return np.full(SHAPE[1:], UNMARKED, np.int16)


def test_a_stroke_leaves_in_doubt_as_much_as_it_lies_deep():
    previous = np.zeros(SHAPE[1:], np.uint8)
    previous[10:31, 10:31] = 1
    marks = blank()
    marks[13, 20] = 0
    sure = seed_labels(marks, marks, previous, reach=0.5)
    assert sure[13, 20] == 0
    assert sure[14, 20] == UNMARKED  # 4 deep: in doubt
    assert sure[25, 20] == 1  # far from it: as before
    assert sure[10, 30] == UNMARKED  # at the border of the region
    assert sure[35, 50] == 0
    deep = blank()
    deep[20, 20] = 0
    assert (seed_labels(deep, deep, previous, reach=0.5)[12:29, 20] != 1).all()
    assert (seed_labels(deep, deep, previous, reach=0.05)[12:14, 20] == 1).all()


def test_strokes_that_agree_leave_nothing_in_doubt_and_old_ones_stay():
    previous = np.zeros(SHAPE[1:], np.uint8)
    previous[10:31, 10:31] = 1
    fresh = blank()
    fresh[20, 20] = 1
    marks = fresh.copy()
    marks[25, 25] = 0  # said in an earlier round
    sure = seed_labels(marks, fresh, previous, reach=0.5)
    assert sure[25, 25] == 0
    assert (sure[12:29, 12:25] == 1).all()


def test_in_the_first_round_the_border_far_from_objects_is_background():
    marks = blank()
    assert np.array_equal(mark_border(marks, reach=0.2), marks)
    marks[5, 5] = 1
    marked = mark_border(marks, reach=0.2)
    assert marked[0, 5] == UNMARKED
    assert (marked[-1] == 0).all()
    assert marked[20, 30] == UNMARKED
    assert marked[5, 5] == 1


@pytest.mark.parametrize("position", [(0, 0, 0), (0, 39, 59)])
def test_corners_are_inside_at_any_size(position):
    strokes = read_strokes((Click(position),), SHAPE)
    for shape in ((1, 1), (7, 5), (40, 60)):
        scale = (shape[0] / 40, shape[1] / 60)
        assert (draw_strokes(strokes, shape, scale=scale) == 1).sum() == 1
