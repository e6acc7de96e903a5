"""Windows, compared with the coordinates of the pixels in them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from segarena.arrays.boxes import (
    bounding_window,
    grow_window,
    intersect_windows,
    is_empty,
    join_windows,
    within_window,
)

masks = npst.arrays(
    np.bool_, npst.array_shapes(min_dims=1, max_dims=4, max_side=7), elements=st.booleans()
)
FRAME = (9, 11)


@st.composite
def windows(draw):
    starts = [draw(st.integers(0, n)) for n in FRAME]
    return tuple(slice(a, draw(st.integers(a, n))) for a, n in zip(starts, FRAME, strict=True))


def pixels(window):
    return {
        (row, column)
        for row in range(*window[0].indices(99))
        for column in range(*window[1].indices(99))
    }


def smallest(where):
    rows, columns = zip(*where, strict=True)
    return (slice(min(rows), max(rows) + 1), slice(min(columns), max(columns) + 1))


@given(masks)
def test_the_bounding_window_is_the_smallest_that_holds_every_pixel(mask):
    window = bounding_window(mask)
    where = np.argwhere(mask)
    if len(where):
        lowest, highest = where.min(axis=0), where.max(axis=0)
        assert window == tuple(
            slice(a, b + 1) for a, b in zip(lowest.tolist(), highest.tolist(), strict=True)
        )
    else:
        assert window == (slice(0, 0),) * mask.ndim
        assert is_empty(window)


@pytest.mark.parametrize(
    "view", [lambda m: m.T, lambda m: m[::-1, ::2], np.asfortranarray, lambda m: m[3:]]
)
def test_the_bounding_window_of_a_view_is_that_of_its_copy(view):
    mask = np.zeros((12, 17), dtype=np.bool_)
    mask[4:6, 8:13] = True
    rows, columns = np.nonzero(view(mask))
    assert bounding_window(view(mask)) == smallest(
        zip(rows.tolist(), columns.tolist(), strict=True)
    )


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,), (2, 0, 3)])
def test_the_bounding_window_of_a_frame_without_pixels_is_empty(shape):
    assert bounding_window(np.zeros(shape, dtype=np.bool_)) == (slice(0, 0),) * len(shape)


@given(windows(), windows())
def test_joined_windows_are_the_smallest_window_around_both(first, second):
    both = pixels(first) | pixels(second)
    joined = join_windows(first, second)
    assert is_empty(joined) if not both else joined == smallest(both)


@given(windows(), windows())
def test_the_intersection_holds_the_pixels_in_both(first, second):
    both = pixels(first) & pixels(second)
    window = intersect_windows(first, second)
    assert is_empty(window) == (not both)
    assert not both or pixels(window) == both


@given(windows(), windows())
def test_a_window_within_another_names_the_same_pixels_of_the_crop(first, second):
    frame = np.arange(np.prod(FRAME)).reshape(FRAME)
    outer = join_windows(first, second)
    if not is_empty(first):
        assert (frame[outer][within_window(first, outer)] == frame[first]).all()


@given(windows(), st.integers(0, 5))
def test_a_grown_window_holds_what_lies_within_the_margin_and_in_the_frame(window, margin):
    if is_empty(window):
        return
    near = {
        (row, column)
        for row in range(FRAME[0])
        for column in range(FRAME[1])
        if any(max(abs(row - r), abs(column - c)) <= margin for r, c in pixels(window))
    }
    assert pixels(grow_window(window, margin, FRAME)) == near


@given(windows())
def test_a_window_is_empty_exactly_when_it_holds_no_pixel(window):
    assert is_empty(window) == (not pixels(window))
