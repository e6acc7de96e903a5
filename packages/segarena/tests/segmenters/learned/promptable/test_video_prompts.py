from __future__ import annotations

import math

import numpy as np
import pytest

from segarena.dialogue import Dialogue
from segarena.errors import InvalidPrompt, PluginInvalid, SegmenterError
from segarena.prompts import Box, Click, MaskPrompt, Scribble
from segarena.segmenters.learned.promptable.inference_options import VideoOptions
from segarena.segmenters.learned.promptable.video_prompts import (
    corrected_frames,
    points_along,
    read_marks,
)

SHAPE = (6, 40, 50)
HABITS = VideoOptions()


def said(*rounds, habits=HABITS):
    return read_marks(Dialogue(tuple(rounds)), SHAPE, habits)


def drawn(frame, rows, columns):
    mask = np.zeros(SHAPE, bool)
    mask[frame, rows, columns] = True
    return mask


def test_points_lie_in_the_middles_of_equal_pieces_of_a_bent_line():
    line = (
        (0.0, 0.0),
        (0.0, 6.0),
        (12.0, 6.0),
    )  # 18 pixels: pieces of 6 have their middles at 3, 9 and 15
    assert points_along(line, 3) == [(0.0, 3.0), (3.0, 6.0), (9.0, 6.0)]
    assert points_along(line, 1) == [(3.0, 6.0)]


def test_points_do_not_depend_on_how_many_corners_a_line_is_written_with():
    coarse = ((2.0, 1.0), (32.0, 41.0))
    fine = tuple((2.0 + 30.0 * at, 1.0 + 40.0 * at) for at in np.linspace(0, 1, 77))
    np.testing.assert_allclose(points_along(fine, 5), points_along(coarse, 5), atol=1e-9)
    np.testing.assert_allclose(points_along(coarse, 5)[0], (5.0, 5.0), atol=1e-9)


@pytest.mark.parametrize(
    ("length_px", "count"), [(0.0, 1), (0.9, 1), (1.0, 2), (3.5, 4), (40.0, 8)]
)
def test_short_lines_give_fewer_points(length_px, count):
    assert len(points_along(((5.0, 2.0), (5.0, 2.0 + length_px)), 8)) == count


@pytest.mark.parametrize("line", [((7.5, 3.0),), ((7.5, 3.0), (7.5, 3.0), (7.5, 3.0))])
def test_a_dot_gives_itself(line):
    assert points_along(line, 4) == [(7.5, 3.0)]


def test_marks_are_gathered_by_object_and_frame_over_all_rounds():
    marks = said(
        (Click((3, 1, 2), object_id=2), Click((0, 5, 6))),
        (Click((0, 7, 8), False), Click((1, 9, 9)), Box((3, 4, 5), (4, 10, 20), object_id=2)),
    )
    assert {object_id: list(frames) for object_id, frames in marks.items()} == {1: [0, 1], 2: [3]}
    assert marks[1][0].points == [(5, 6), (7, 8)]
    assert marks[1][0].is_positive == [True, False]
    assert marks[2][3].points == [(1, 2)]
    assert marks[2][3].box == ((4, 5), (9, 19))


def test_the_newest_box_of_a_frame_counts():
    marks = said((Box((0, 0, 0), (1, 5, 5)),), (Box((0, 2, 3), (1, 9, 8)),))
    assert marks[1][0].box == ((2, 3), (8, 7))


@pytest.mark.parametrize("is_positive", [True, False])
def test_the_background_is_negative_for_every_object_and_none_itself(is_positive):
    line = Scribble(((2.0, 10.0, 10.0), (2.0, 10.0, 40.0)), is_positive, object_id=0)
    marks = said((Click((0, 5, 6), object_id=3), line, Click((2, 8, 8), object_id=1)))
    assert list(marks) == [1, 3]
    for object_id, own in ((1, [(8, 8)]), (3, [])):
        assert marks[object_id][2].points == [(10.0, 15.0), (10.0, 25.0), (10.0, 35.0), *own]
        assert marks[object_id][2].is_positive == [False] * 3 + [True] * len(own)


@pytest.mark.parametrize("scribbles", ["points", "mask"])
def test_negative_scribbles_stay_points_and_positive_ones_are_drawn_on_demand(scribbles):
    habits = VideoOptions(scribbles=scribbles, scribble_points=2)
    first = Scribble(((1.0, 3.0, 4.0), (1.0, 3.0, 12.0)))
    second = Scribble(((1.0, 5.0, 20.0), (1.0, 9.0, 20.0)))
    not_it = Scribble(((1.0, 20.0, 0.0), (1.0, 20.0, 8.0)), is_positive=False)
    marks = said((first, not_it), (second,), habits=habits)[1][1]
    away = [(20.0, 2.0), (20.0, 6.0)]
    if scribbles == "points":
        assert marks.points == [(3.0, 6.0), (3.0, 10.0), *away, (6.0, 20.0), (8.0, 20.0)]
        assert marks.drawn is None
    else:
        expected = np.zeros(SHAPE[1:], bool)
        expected[3, 4:13] = expected[5:10, 20] = True
        assert marks.points == away
        assert np.array_equal(marks.drawn, expected)
        assert marks.drawn_in == 1


def test_a_mask_marks_the_frames_in_which_it_has_pixels_and_replaces_what_was_said_there():
    mask = drawn(1, slice(2, 9), slice(3, 8)) | drawn(4, slice(0, 2), slice(0, 2))
    marks = said((Click((1, 5, 6)), Click((2, 5, 6))), (MaskPrompt(mask),))[1]
    assert list(marks) == [1, 2, 4]
    assert np.array_equal(marks[1].mask, mask[1])
    assert marks[1].points == []
    assert marks[2].mask is None


@pytest.mark.parametrize(
    "later", [Click((1, 20, 20)), Click((1, 4, 4), object_id=0), Box((1, 0, 0), (2, 9, 9))]
)
def test_a_mask_that_is_corrected_becomes_a_hint(later):
    mask = drawn(1, slice(2, 9), slice(3, 8))
    marks = said((MaskPrompt(mask),), (later,))[1][1]
    assert marks.mask is None
    assert np.array_equal(marks.drawn, mask[1])


@pytest.mark.parametrize(
    "later", [Click((1, 4, 4)), Click((1, 20, 20), False), Click((1, 20, 20), object_id=0)]
)
def test_a_mask_stands_when_points_say_the_same(later):
    mask = drawn(1, slice(2, 9), slice(3, 8))
    marks = said((MaskPrompt(mask), later), (later,))[1][1]
    assert np.array_equal(marks.mask, mask[1])
    assert marks.points == []


def test_what_the_first_round_about_an_object_says_is_given_and_the_rest_corrects():
    rounds = (
        (Click((0, 5, 6)), Click((3, 5, 6))),
        (
            Click((0, 9, 9), False),
            Click((2, 9, 9), False),
            Click((4, 1, 1), object_id=2),
            Click((5, 7, 7)),
        ),
        (
            Click((1, 9, 9), object_id=2),
            Click((3, 8, 8)),
            MaskPrompt(drawn(1, slice(0, 5), slice(0, 5))),
        ),
    )
    marks = said(*rounds)
    assert corrected_frames(marks[1], HABITS) == {2, 5}
    assert corrected_frames(marks[2], HABITS) == {1}
    assert corrected_frames(marks[1], VideoOptions(corrections="alone")) == frozenset()


def test_a_frame_with_negative_marks_alone_corrects_unless_nothing_else_is_said():
    background = Click((2, 9, 9), object_id=0)
    marks = said((Click((0, 5, 6)), background, Click((4, 3, 3), False, object_id=2)))
    assert corrected_frames(marks[1], HABITS) == {2}
    assert corrected_frames(marks[2], HABITS) == frozenset()


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Click((6, 0, 0)), "outside"),
        (Click((0, 0)), "3 coordinates"),
        (Box((0, 0, 0), (1, 41, 3)), "outside"),
        (Scribble(((0.0, 0.0, 49.5),)), "outside"),
        (MaskPrompt(np.zeros((6, 40, 51), bool)), "mask prompt: expected the shape"),
        (Click((0, 0, 0), object_id=256), "object_id of 1 to 255"),
        (Click((0, 0, 0), object_id=-1), "object_id of 1 to 255"),
        (Click((math.nan, 0, 0)), "outside"),
    ],
)
def test_prompts_outside_of_the_video_are_refused(prompt, message):
    with pytest.raises(InvalidPrompt, match=message):
        said((prompt,))


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        ((), "round 0 has no prompts"),
        (((Click((0, 0, 0)),), ()), "round 2 has no prompts"),
        (((Click((0, 0, 0), object_id=0),),), "no prompt marks object 1"),
        (
            ((MaskPrompt(np.zeros(SHAPE, bool), object_id=4), Click((0, 0, 0))),),
            "no prompt marks object 4",
        ),
        (((Box((0, 0, 0), (3, 5, 5)),),), "expected all of it in one frame, got frames 0 to 2"),
        (
            ((Box((0, 0, 0), (1, 5, 5), object_id=0),),),
            "background is marked by clicks and scribbles",
        ),
        (((Scribble(((0.0, 1.0, 1.0), (1.0, 1.0, 1.0))),),), "all its points in one frame"),
        (((Scribble(((0.5, 1.0, 1.0),)),),), "all its points in one frame"),
    ],
)
def test_what_cannot_be_tracked_is_refused(rounds, message):
    with pytest.raises(SegmenterError, match=message):
        said(*rounds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scribble_points": 0}, "at least 1"),
        ({"scribble_points": 2.5}, "at least 1"),
        ({"threshold": math.inf}, "finite"),
    ],
)
def test_numbers_out_of_range_are_refused(options, message):
    with pytest.raises(PluginInvalid, match=message):
        VideoOptions(**options)
