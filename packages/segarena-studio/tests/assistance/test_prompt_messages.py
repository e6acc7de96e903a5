"""Conversion of a page's prompts for segmenters, and rejection of invalid ones."""

import msgspec
import pytest

from segarena.errors import InvalidPrompt
from segarena.prompts import Box, Click, Scribble
from segarena_studio.assistance.prompt_messages import (
    MOST_POINTS,
    MOST_PROMPTS,
    PromptMessages,
    to_prompt,
)

SHAPE = (40, 60)


def read(*told):
    return msgspec.json.decode(msgspec.json.encode(told), type=PromptMessages)


def test_a_click_is_the_pixel_it_is_in():
    (told,) = read({"kind": "click", "at": [12.9, 3.0], "is_positive": False})
    assert to_prompt(told, SHAPE) == Click((3, 12), is_positive=False)


def test_a_box_is_drawn_from_any_corner_and_cut_at_the_frame():
    (told,) = read({"kind": "box", "from": [70.2, 9.5], "to": [10.5, -4]})
    assert to_prompt(told, SHAPE) == Box((0, 10), (10, 60))


def test_a_scribble_goes_through_the_middles_of_pixels_and_stays_inside():
    (told,) = read({"kind": "scribble", "points": [[0.5, 0.5], [2.0, 1.5], [99, 99]]})
    assert to_prompt(told, SHAPE) == Scribble(((0.0, 0.0), (1.0, 1.5), (39.0, 59.0)))


@pytest.mark.parametrize(
    "told",
    [
        {"kind": "click", "at": [60, 3]},
        {"kind": "click", "at": [-0.1, 3]},
        {"kind": "click", "at": [1e300, 3]},
        {"kind": "box", "from": [10, 10], "to": [10, 20]},
        {"kind": "box", "from": [70, 0], "to": [80, 20]},
        {"kind": "scribble", "points": [[-5, -5], [-9, 3]]},
    ],
)
def test_what_has_nothing_in_the_picture_is_refused(told):
    with pytest.raises(InvalidPrompt):
        to_prompt(*read(told), SHAPE)


@pytest.mark.parametrize(
    "told",
    [
        [],
        [{"kind": "click", "at": [1, 2]}] * (MOST_PROMPTS + 1),
        [{"kind": "scribble", "points": [[1, 2]] * (MOST_POINTS + 1)}],
        [{"kind": "scribble", "points": []}],
        [{"kind": "lasso", "points": [[1, 2]]}],
        [{"kind": "click", "at": [1, 2, 3]}],
        [{"kind": "click", "at": ["1", 2]}],
        [{"kind": "click", "at": [1, 2], "more": 1}],
    ],
)
def test_what_is_of_another_form_or_too_much_is_refused_before_anything_is_done(told):
    with pytest.raises(msgspec.ValidationError):
        read(*told)


def test_infinity_is_no_place():
    with pytest.raises((msgspec.MsgspecError, InvalidPrompt)):
        to_prompt(
            *msgspec.json.decode(b'[{"kind": "click", "at": [1e999, 1]}]', type=PromptMessages),
            SHAPE,
        )
