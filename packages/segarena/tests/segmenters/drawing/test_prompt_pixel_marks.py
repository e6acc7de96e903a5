from __future__ import annotations

import numpy as np
import pytest

from segarena.dialogue import Dialogue
from segarena.errors import InvalidImage, SegmenterError
from segarena.prompts import Box, Click, Scribble
from segarena.samples import ImageSample
from segarena.segmenters.drawing.prompt_pixel_marks import (
    INSIDE,
    OUTSIDE,
    UNKNOWN,
    apply_marks,
    draw_marks,
    require_image,
)


def marks_of(*prompts, shape=(20, 30), radius_px=0):
    return draw_marks(Dialogue((prompts,)), shape, radius_px=radius_px)


def test_without_radius_a_click_marks_its_own_pixel():
    marks = marks_of(Click((4, 7)), Click((9, 2), is_positive=False))
    assert np.argwhere(marks == INSIDE).tolist() == [[4, 7]]
    assert np.argwhere(marks == OUTSIDE).tolist() == [[9, 2]]


def test_a_disc_holds_its_cross_and_nothing_farther_than_its_radius_and_a_half():
    marks = marks_of(Click((10, 15)), radius_px=3)
    rows, columns = np.nonzero(marks == INSIDE)
    assert np.hypot(rows - 10, columns - 15).max() <= 3.5
    assert (marks[7:14, 15] == INSIDE).all()
    assert (marks[10, 12:19] == INSIDE).all()


def test_where_discs_overlap_the_nearer_click_wins():
    marks = marks_of(Click((10, 10)), Click((10, 13), is_positive=False), radius_px=4)
    assert marks[10, 9:12].tolist() == [INSIDE] * 3
    assert marks[10, 12:17].tolist() == [OUTSIDE] * 5


def test_a_scribble_marks_every_pixel_along_its_line():
    marks = marks_of(Scribble(((2.0, 3.0), (2.0, 9.0), (8.0, 9.0))))
    expected = np.zeros((20, 30), np.int8)
    expected[2, 3:10] = expected[2:9, 9] = INSIDE
    assert np.array_equal(marks, expected)


def test_a_scribble_of_one_point_marks_it():
    assert np.argwhere(marks_of(Scribble(((5.0, 6.0),)))).tolist() == [[5, 6]]


def test_outside_a_box_everything_is_outside_and_its_centre_stands_in_for_clicks():
    marks = marks_of(Box((4, 4), (12, 20)))
    assert (marks[4:12, 4:20] != OUTSIDE).all()
    assert np.count_nonzero(marks == OUTSIDE) == 20 * 30 - 8 * 16
    assert marks[8, 12] == INSIDE


def test_the_centre_of_a_box_is_not_marked_when_a_click_says_where():
    marks = marks_of(Box((4, 4), (12, 20)), Click((5, 5)))
    assert np.argwhere(marks == INSIDE).tolist() == [[5, 5]]
    assert marks[8, 12] == UNKNOWN


def test_obeying_marks_changes_only_marked_pixels():
    mask = np.array([True, True, False, False])
    marks = np.array([OUTSIDE, UNKNOWN, INSIDE, UNKNOWN], np.int8)
    assert apply_marks(marks, mask).tolist() == [False, True, True, False]


def test_an_image_of_another_dtype_is_refused():
    with pytest.raises(InvalidImage, match="8-bit"):
        require_image(ImageSample(id="f", image=np.zeros((4, 4, 3))), "graph")


def test_something_that_is_no_image_sample_is_refused_by_name():
    with pytest.raises(SegmenterError, match="graph accepts only images, got a ndarray"):
        require_image(np.zeros((4, 4, 3), np.uint8), "graph")
