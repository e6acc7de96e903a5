from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.segmenters.drawing.marker_watershed import marker_watershed, snap_border
from segarena.segmenters.drawing.prompt_pixel_marks import INSIDE, OUTSIDE


def two_colours(at, shape=(24, 30)):
    image = np.full((*shape, 3), 50, np.uint8)
    image[:, at:] = (90, 140, 60)
    return image


def no_marks(shape=(24, 30)):
    return np.zeros(shape, np.int8)


@pytest.mark.parametrize("at", [2, 13, 28])
@pytest.mark.parametrize("frame_step", [None, 3])
def test_flat_colours_are_flooded_to_their_border(at, frame_step):
    marks = no_marks()
    marks[3, 0], marks[20, 29] = INSIDE, OUTSIDE
    assert np.array_equal(
        marker_watershed(two_colours(at), marks, frame_step=frame_step), np.mgrid[:24, :30][1] < at
    )


def test_the_frame_stops_one_click_at_the_first_strong_border():
    marks = no_marks()
    marks[3, 3] = INSIDE
    assert np.array_equal(
        marker_watershed(two_colours(13), marks, frame_step=3), np.mgrid[:24, :30][1] < 13
    )


def test_without_the_other_side_everything_is_flooded():
    marks = no_marks()
    marks[3, 3] = INSIDE
    assert marker_watershed(two_colours(13), marks).all()
    assert not marker_watershed(two_colours(13), -marks).any()
    assert not marker_watershed(two_colours(13), no_marks()).any()


@given(
    st.integers(0, 2**31),
    st.integers(1, 12),
    st.integers(1, 12),
    st.sampled_from([None, 0, 5, 127]),
)
def test_marked_pixels_stay_as_marked(seed, height, width, frame_step):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (height, width, 3)).astype(np.uint8)
    marks = rng.choice([-1, 0, 0, 0, 1], (height, width)).astype(np.int8)
    mask = marker_watershed(image, marks, frame_step=frame_step)
    if (marks == INSIDE).any():
        assert mask[marks == INSIDE].all()
        assert not mask[marks == OUTSIDE].any()


@pytest.mark.parametrize("off", [-3, 3])
def test_a_border_within_the_band_snaps_to_the_edge(off):
    mask = np.mgrid[:24, :30][1] < 13 + off
    assert np.array_equal(
        snap_border(two_colours(13), mask, no_marks(), band_px=4), np.mgrid[:24, :30][1] < 13
    )


def test_what_lies_deeper_than_the_band_stays():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (60, 60, 3)).astype(np.uint8)
    mask = np.zeros((60, 60), bool)
    mask[15:45, 15:45] = True
    snapped = snap_border(image, mask, no_marks((60, 60)), band_px=4)
    assert snapped[19:41, 19:41].all()
    snapped[11:49, 11:49] = False
    assert not snapped.any()


def test_a_band_of_zero_changes_marked_pixels_only():
    rng = np.random.default_rng(1)
    mask = rng.random((24, 30)) < 0.5
    marks = no_marks()
    marks[2, 2], marks[5, 5] = INSIDE, OUTSIDE
    snapped = snap_border(two_colours(13), mask, marks, band_px=0)
    assert snapped[2, 2]
    assert not snapped[5, 5]
    assert np.array_equal(snapped[marks == 0], mask[marks == 0])
