from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.prompts import Box, Click, Lasso, Limits, MaskPrompt, Scribble
from segarena.users.habits.habit_files import format_habits
from segarena.users.habits.prompt_time import PromptTimeModel
from segarena.users.habits.time_habits import ActTime, PointerSpeed, TimeHabits

DIAGONAL_PX = math.hypot(375, 500)
"""Of a photograph of PASCAL VOC."""

OBJECT = Box((100, 120), (240, 300))


def seconds(*rounds, pace=None, diagonal=DIAGONAL_PX):
    return [one.median for one in (pace or PromptTimeModel()).of_rounds(rounds, diagonal)]


def ticking():
    """Habits in which each act takes a different whole number of seconds, without spread."""

    def act(median_s):
        return ActTime(median_s=median_s, spread=0.0)

    hand = PointerSpeed(
        point_a_s=1000.0, point_b_s=0.0, drag_a_s=5000.0, drag_b_s=0.0, least_s=0.0, spread=0.0
    )
    return TimeHabits(
        source="made here",
        between_people=0.0,
        look={"first": act(1.0), "another": act(2.0), "correction": act(4.0)},
        press=act(10.0),
        adjust=act(100.0),
        outline=act(7.0),
        scroll=act(10_000.0),
        draw_per_s=0.5,
        draw_spread=0.0,
        aim=0.1,
        aim_edge=0.01,
        pointers={"mouse": hand},
    )


@pytest.mark.parametrize(
    ("published", "rounds", "boxes"),
    [
        (2.4, [Click((120, 300))], "extreme"),  # the first point on an object, Bearman 2016
        (7.0, [OBJECT], "extreme"),  # four extreme clicks, Papadopoulos 2017
        (7.4, [OBJECT], "drag"),  # a box, Gygli and Ferrari 2019
        (
            79.0,
            [MaskPrompt(np.zeros((2, 2), dtype=bool))],
            "extreme",
        ),  # a polygon of COCO, Lin 2014
    ],
)
def test_prompts_take_what_is_published(published, rounds, boxes):
    assert seconds(rounds, pace=PromptTimeModel.read(boxes=boxes))[0] == pytest.approx(
        published, rel=0.2
    )


def test_a_further_point_takes_what_is_published():
    """0.9 s (Bearman 2016): points on the same picture, objects being some hundred px apart."""
    one, two = (
        PromptTimeModel().of_rounds([points], DIAGONAL_PX)[0]
        for points in ([Click((120, 300))], [Click((120, 300))] * 2)
    )
    further = PromptTimeModel().of_rounds([[Click((120, 300)), Click((240, 180))]], DIAGONAL_PX)[0]
    assert further.mean - one.mean == pytest.approx(0.9, rel=0.2)
    assert two.mean < further.mean


def test_acts_are_those_of_each_prompt():
    told = PromptTimeModel(habits=ticking())
    assert seconds([Click((0, 0))], [Click((5, 5)), Click((9, 9))], pace=told) == pytest.approx(
        [1011.0, 2026.0]
    )
    assert seconds([Box((0, 0), (9, 9))], pace=told) == pytest.approx([1 + 4 * 1010 + 3 * 2])
    dragged = PromptTimeModel(habits=ticking(), boxes="drag")
    assert seconds([Box((0, 0), (9, 9))], pace=dragged) == pytest.approx([1 + 1010 + 5000 + 100])
    assert seconds([Limits(2, 8)], pace=told) == pytest.approx([1 + 2 * 10_010])
    assert seconds([MaskPrompt(np.ones((2, 2), dtype=bool))], pace=told) == pytest.approx([8.0])


def test_strokes_take_their_length():
    told = PromptTimeModel(habits=ticking())
    points = ((0.0, 0.0), (30.0, 40.0), (30.0, 90.0))
    assert seconds([Scribble(points)], pace=told, diagonal=100.0) == pytest.approx(
        [1011 + 1.0 / 0.5]
    )
    assert seconds([Lasso(points)], pace=told, diagonal=100.0) == pytest.approx([1011 + 1.0 / 0.5])


def test_another_slice_has_to_be_scrolled_to():
    told = PromptTimeModel(habits=ticking())
    clicks = [Click((3, 0, 0)), Click((3, 5, 5)), Click((8, 5, 5))]
    assert seconds(clicks, pace=told) == pytest.approx([1 + 1010 + 2 * (2 + 1010) + 10_000])
    flat = Box((3, 0, 0), (4, 9, 9))
    deep = Box((3, 0, 0), (8, 9, 9))
    assert seconds([deep], pace=told)[0] - seconds([flat], pace=told)[0] == pytest.approx(
        2 * 10_010
    )


def test_a_round_without_prompts_takes_nothing():
    assert seconds([Click((1, 1))], [], pace=PromptTimeModel(habits=ticking()))[1] == 0.0


def test_the_time_until_a_round_adds_up_and_people_differ():
    pace = PromptTimeModel()
    rounds = [[Click((10, 10))], [Click((200, 300))], [Click((50, 60))]]
    each = pace.of_rounds(rounds, 500.0)
    until = pace.until(rounds, 500.0)
    assert [one.median for one in until] == sorted(one.median for one in until)
    alone = msgspec.structs.replace(pace.habits, between_people=0.0)
    summed = PromptTimeModel(habits=alone).until(rounds, 500.0)
    assert summed[-1].mean == pytest.approx(sum(one.mean for one in each))
    assert until[-1].spread == pytest.approx(
        math.hypot(summed[-1].spread, pace.habits.between_people)
    )


def test_difficult_places_take_longer_with_every_pointer():
    for pointer in ("mouse", "pen", "touch"):
        device = PromptTimeModel.read(pointer=pointer).habits.pointers[pointer]
        assert device.point(300, 5).median > device.point(300, 100).median > 0


def test_own_habits_are_read_from_a_file(tmp_path):
    path = tmp_path / "seconds.toml"
    path.write_text(format_habits(ticking()), encoding="utf-8")
    assert PromptTimeModel.read(path).habits == ticking()


def test_a_pointer_that_nothing_is_known_of_is_refused():
    with pytest.raises(InvalidInput, match="mouse, pen, touch"):
        PromptTimeModel.read(pointer="nose")
