"""Prompts: their costs, valid positions, and form in records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena import Box, Click, ImageSample, Lasso, Limits, MaskPrompt, Scribble, Support
from segarena.errors import InvalidPrompt
from segarena.prompts import check_prompt

MASK = np.eye(4, dtype=bool)
SUPPORT = Support(ImageSample(id="example", image=np.zeros((4, 4, 3), dtype=np.uint8)), MASK)

coordinates = st.integers(0, 500)
clicks = st.builds(
    Click,
    st.lists(coordinates, min_size=2, max_size=3).map(tuple),
    st.booleans(),
    st.integers(1, 9),
)
boxes = st.builds(
    lambda start, size, object_id: Box(
        start, tuple(a + b for a, b in zip(start, size, strict=True)), object_id
    ),
    st.tuples(coordinates, coordinates),
    st.tuples(st.integers(1, 50), st.integers(1, 50)),
    st.integers(1, 9),
)
scribbles = st.builds(
    Scribble,
    st.lists(st.tuples(st.floats(0, 500), st.floats(0, 500)), min_size=1, max_size=5).map(tuple),
    st.booleans(),
    st.integers(1, 9),
)


@pytest.mark.parametrize(
    ("prompt", "effort"),
    [
        (Click((0, 0)), 1),
        (Box((0, 0), (2, 2)), 2),
        (Box((0, 0, 0), (2, 2, 2)), 3),
        (Box((4, 0, 0), (5, 2, 2)), 2),
        (Limits(3, 9), 2),
        (Lasso(((0.0, 0.0), (0.0, 2.0), (2.0, 2.0))), 3),
        (Scribble(((0.0, 0.0), (1.0, 1.0))), 3),
        (MaskPrompt(MASK), 1),
        (SUPPORT, 1),
    ],
)
def test_a_prompt_costs_what_the_field_says(prompt, effort):
    assert prompt.effort == effort


@given(clicks, st.tuples(st.integers(1, 500), st.integers(1, 500)))
def test_a_click_passes_exactly_when_its_pixel_is_in_the_sample(click, shape):
    is_inside = len(click.position) == len(shape) and all(
        i < n for i, n in zip(click.position, shape, strict=False)
    )
    if is_inside:
        check_prompt(click, shape)
    else:
        with pytest.raises(InvalidPrompt):
            check_prompt(click, shape)


@pytest.mark.parametrize(
    "prompt",
    [
        Click((3, 4)),
        Click((0, 0)),
        Box((0, 0), (4, 5)),
        Box((3, 4), (4, 5)),
        Scribble(((0.0, 0.0), (3.0, 4.0))),
        MaskPrompt(np.zeros((4, 5), dtype=bool)),
        SUPPORT,
    ],
)
def test_prompts_up_to_the_last_pixel_are_inside(prompt):
    check_prompt(prompt, (4, 5))


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (Click((4, 0)), r"click at \(\(4, 0\),\) lies outside a sample of shape \(4, 5\)"),
        (Click((-1, 0)), "lies outside"),
        (Click((1, 1, 1)), "expected positions with 2 coordinates"),
        (Box((0, 0), (5, 5)), "lies outside"),
        (Box((2, 2), (2, 4)), r"box from \(2, 2\) to \(2, 4\) is empty; stop is exclusive"),
        (Scribble(((0.0, 4.01),)), "lies outside"),
        (Scribble(((float("nan"), 0.0),)), "lies outside"),
        (Scribble(()), "expected positions with 2 coordinates"),
        (Click(2), r"expected positions with 2 coordinates, got \(2,\)"),
        (Click(("a", 1)), r"click: expected positions of numbers, got \(\('a', 1\),\)"),
        ((2, 3), "expected a prompt, such as Click or Box, got tuple"),
        (
            MaskPrompt(MASK),
            r"mask prompt: expected the shape of the sample, \(4, 5\), got \(4, 4\)",
        ),
        (
            Support(SUPPORT.sample, MASK[:3]),
            r"support mask: expected the shape of its image, \(4, 4\), got \(3, 4\)",
        ),
    ],
)
def test_a_prompt_outside_the_sample_is_refused(prompt, message):
    with pytest.raises(InvalidPrompt, match=message):
        check_prompt(prompt, (4, 5))


@pytest.mark.parametrize(
    "limits", [Limits(2, 1), Limits(-1, 2), Limits(0, 4), Limits(0, 1, axis=3)]
)
def test_limits_that_do_not_fit_are_refused(limits):
    with pytest.raises(InvalidPrompt, match="do not fit a sample of shape \\(4, 5, 6\\)"):
        check_prompt(limits, (4, 5, 6))


def test_limits_may_hold_one_slice_and_reach_the_last():
    check_prompt(Limits(3, 3), (4, 5, 6))
    check_prompt(Limits(0, 5, axis=2), (4, 5, 6))
