import math

import pytest

from segarena.errors import InvalidPrompt
from segarena.prompts import Box, Click, Lasso, Scribble, check_prompt
from segarena_people.prompts import PersonPrompt, PointerSample, convert_prompt, convert_prompts


def points(*places, stroke=0):
    return tuple(
        PointerSample(
            stroke=stroke,
            x=x,
            y=y,
            screen_x=2 * x,
            screen_y=2 * y,
            time_ms=10.0 * number,
            pressure=0.5,
        )
        for number, (x, y) in enumerate(places)
    )


def given(kind="click", drawn=None, **changes):
    about = {
        "id": "one", "study": "s", "dataset": "d", "sample": "a", "target": "t", "width": 20, "height": 10,
        "person": "p1", "batch": 1, "place": 1, "display_mode": "cut-out",
        "device": "pc", "declared_device": "pc", "pointer": "mouse",
    }  # fmt: skip
    return PersonPrompt(
        **{
            **about,
            "kind": kind,
            "points": points((3.7, 1.2)) if drawn is None else drawn,
            **changes,
        }
    )


def test_a_click_is_the_pixel_that_was_pressed_whatever_followed():
    drawn = (*points((3.7, 1.2), (9.0, 9.0)), *points((15.0, 5.0), stroke=1))
    assert convert_prompt(given(drawn=drawn, is_positive=False)) == Click((1, 3), False)
    assert convert_prompt(given(drawn=drawn, plane=7, object_id=2)) == Click((7, 1, 3), True, 2)


@pytest.mark.parametrize(
    "corners", [((2.5, 8.9), (6.1, 3.0)), ((6.1, 3.0), (2.5, 8.9)), ((6.1, 8.9), (2.5, 3.0))]
)
def test_a_box_is_the_same_from_whichever_corner_it_is_drawn(corners):
    drawn = points(corners[0], (0.0, 0.0), corners[1])
    assert convert_prompt(given("box", drawn)) == Box((3, 2), (9, 7))
    assert convert_prompt(given("box", drawn, plane=4)) == Box((4, 3, 2), (5, 9, 7))


def test_scribbles_and_lassos_are_in_the_middle_of_pixels_and_stay_in_the_picture():
    drawn = (*points((1.0, 1.0)), *points((0.5, 0.5), (3.5, 2.5), (25.0, -4.0), stroke=1))
    expected = ((0.0, 0.0), (2.0, 3.0), (0.0, 19.0))
    assert convert_prompt(given("scribble", drawn)) == Scribble(expected)
    assert convert_prompt(given("lasso", drawn, plane=2)).points == tuple(
        (2.0, *point) for point in expected
    )
    assert isinstance(convert_prompt(given("lasso", drawn)), Lasso)


@pytest.mark.parametrize("kind", ["click", "box", "scribble", "lasso"])
def test_what_people_give_fits_the_sample_wherever_they_draw(kind, rng):
    for _ in range(50):
        drawn = points(*(rng.uniform(-30, 50, (4, 2)).tolist()))
        check_prompt(convert_prompt(given(kind, drawn)), (10, 20))
        check_prompt(convert_prompt(given(kind, drawn, plane=1)), (2, 10, 20))


def test_strokes_are_what_was_drawn_without_lifting():
    drawn = (*points((0, 0), (1, 1)), *points((2, 2), stroke=1))
    assert [len(stroke) for stroke in given(drawn=drawn).strokes] == [2, 1]
    with pytest.raises(InvalidPrompt, match="at least one point"):
        convert_prompt(given(drawn=()))


@pytest.mark.parametrize("kind", ["click", "box", "scribble", "lasso"])
@pytest.mark.parametrize("place", [(math.nan, 1.0), (1.0, math.inf)])
def test_what_is_nowhere_is_no_prompt(kind, place):
    with pytest.raises(InvalidPrompt, match="expected points with finite coordinates"):
        convert_prompt(given(kind, points((1.0, 1.0), place)))


def test_of_several_lines_those_count_that_were_not_pressed_in_vain():
    drawn = (*points((0, 0), (1, 1)), *points((2, 2), stroke=1), *points((3, 3), stroke=2))
    assert [
        len(convert_prompts(given("scribble", drawn, extra_presses=extra)))
        for extra in (0, 1, 2, 9)
    ] == [3, 2, 1, 1]
    assert convert_prompts(given("lasso", drawn))[-1] == convert_prompt(given("lasso", drawn))
    assert (
        len(convert_prompts(given(drawn=drawn))) == len(convert_prompts(given("box", drawn))) == 1
    )


def test_the_far_corner_is_the_last_pixel():
    assert convert_prompt(given(drawn=points((20.0, 10.0)))) == Click((9, 19))
    assert convert_prompt(given(drawn=points((math.nextafter(20.0, 0), 0.0)))) == Click((0, 19))
