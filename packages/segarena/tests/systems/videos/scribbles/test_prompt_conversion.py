from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.errors import InvalidInput, InvalidPrompt
from segarena.prompts import Click, Scribble
from segarena.systems.videos.scribbles.files import check_scribbles
from segarena.systems.videos.scribbles.prompt_conversion import (
    prompts_from_scribbles,
    scribbles_from_prompts,
    to_pixels,
)

SHAPE = (3, 5, 9)  # T, H, W


def test_x_goes_with_the_width_and_y_with_the_height():
    assert to_pixels([[1, 0], [0, 1], [0.5, 0.25]], SHAPE[1:]).tolist() == [[0, 8], [4, 0], [1, 4]]
    assert to_pixels([[1, 0], [0, 1], [0.5, 0.2]], SHAPE[1:], "size").tolist() == [
        [0, 8],
        [4, 0],
        [1, 4.5],
    ]


def test_lines_become_prompts_by_frame_and_back():
    data = {
        "sequence": "dogs",
        "scribbles": [
            [],
            [{"path": [[1, 0], [0, 1]], "object_id": 2}, {"path": [[0.5, 0.25]], "object_id": 0}],
            [{"path": [[0, 0]], "object_id": 1}],
        ],
    }
    prompts = prompts_from_scribbles(data, SHAPE)
    assert prompts == (
        Scribble(((1.0, 0.0, 8.0), (1.0, 4.0, 0.0)), object_id=2),
        Scribble(((1.0, 1.0, 4.0),), is_positive=False, object_id=0),
        Scribble(((2.0, 0.0, 0.0),), object_id=1),
    )
    back = scribbles_from_prompts(prompts, SHAPE, "dogs", times=(5, 9))
    check_scribbles(back, frames=3, objects=2, sequence="dogs")
    assert back["scribbles"][1][0] == {
        "path": [[1, 0], [0, 1]],
        "object_id": 2,
        "start_time": 5,
        "end_time": 9,
    }
    assert prompts_from_scribbles(back, SHAPE) == prompts


sizes = st.integers(1, 900)


@given(sizes, sizes, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["last-pixel", "size"]))
def test_written_and_read_alike_a_point_stays_where_it_was(height, width, down, right, fractions):
    place = (0.0, down * (height - 1), right * (width - 1))
    data = scribbles_from_prompts(
        [Scribble((place,))], (1, height, width), "s", fractions=fractions
    )
    check_scribbles(data, frames=1)
    (prompt,) = prompts_from_scribbles(data, (1, height, width), fractions=fractions)
    assert np.allclose(prompt.points[0], place, rtol=1e-12, atol=1e-12)


@given(st.integers(2, 1200), st.floats(0, 1))
def test_a_point_of_a_file_is_read_back_to_the_last_bit_after_it_was_written(width, right):
    data = {"sequence": "s", "scribbles": [[{"path": [[right, 0]], "object_id": 1}]]}
    prompts = prompts_from_scribbles(data, (1, 1, width))
    back = scribbles_from_prompts(prompts, (1, 1, width), "s")
    assert prompts_from_scribbles(back, (1, 1, width)) == prompts
    assert abs(back["scribbles"][0][0]["path"][0][0] - right) <= np.spacing(right)


@given(st.integers(2, 900), st.floats(0, 1))
def test_written_as_published_and_read_as_published_a_point_moves_up_to_a_pixel_towards_the_first(
    width, right
):
    place = (0.0, 0.0, right * (width - 1))
    data = scribbles_from_prompts([Scribble((place,))], (1, 1, width), "s", fractions="size")
    (prompt,) = prompts_from_scribbles(data, (1, 1, width))
    assert -1e-9 <= place[2] - prompt.points[0][2] <= 1


def test_prompts_that_a_file_cannot_hold_are_refused():
    def write(*prompts):
        return scribbles_from_prompts(prompts, SHAPE, "s")

    with pytest.raises(InvalidPrompt, match="expected scribbles only, got a click"):
        write(Click((0, 0, 0)))
    with pytest.raises(InvalidPrompt, match="lines on object 1 cannot be negative"):
        write(Scribble(((0, 0, 0),), is_positive=False))
    with pytest.raises(InvalidPrompt, match=r"in one frame, got \[0.0, 1.0\]"):
        write(Scribble(((0, 0, 0), (1, 0, 0))))
    with pytest.raises(InvalidPrompt, match=r"in one frame, got \[0.5\]"):
        write(Scribble(((0.5, 0, 0),)))
    with pytest.raises(InvalidPrompt, match="outside a sample"):
        write(Scribble(((0, 0, 8.5),)))
    with pytest.raises(InvalidPrompt, match="expected positions"):
        write(Scribble(()))


def test_scribbles_of_another_number_of_frames_and_unknown_fractions_are_refused():
    with pytest.raises(InvalidPrompt, match="of 's': expected 3 frames, got 2"):
        prompts_from_scribbles({"sequence": "s", "scribbles": [[], []]}, SHAPE)
    with pytest.raises(
        InvalidInput, match="fractions: expected one of last-pixel, size, got 'width'"
    ):
        to_pixels([[0, 0]], (2, 2), "width")
