from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib.stride_tricks import sliding_window_view

from segarena.arrays.structuring_elements import disk
from segarena.systems.videos.robot.morphological_opening import (
    open_error,
    open_mask,
    opening_radius_px,
    published_disk,
)
from segarena.systems.videos.robot.settings import RobotSettings, robot_preset

masks = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=14))
radii = st.sampled_from([1.05, 1.15, 1.2, 1.3, 1.5, 1.9, 2.0, 2.5, 3.05, 3.7, 5.0]) | st.floats(
    1.001, 6
)


def by_definition(mask, disk):
    is_in_disk = np.asarray(disk, dtype=bool)
    before = len(disk) // 2
    margin = (before, len(disk) - 1 - before)

    def over_disk(array, choose):
        # What lies outside of the frame decides nothing: as an empty list does not.
        return choose(around(array, choose([])), axis=-1) & around(np.ones_like(array), False).any(
            axis=-1
        )

    def around(array, outside):
        padded = np.pad(array, margin, constant_values=outside)
        return sliding_window_view(padded, disk.shape)[..., is_in_disk]

    return over_disk(over_disk(mask, np.all), np.any)


def opened_error_by_definition(error, robot):
    """On the full frame; None if there is nothing to draw on."""
    radius_px = min(0.5 * robot.kernel_size * error.sum() ** 0.5, robot.max_radius_px)
    left = error if radius_px <= 1 else np.zeros_like(error)
    disk_of = published_disk if robot.mode == "published" else disk
    while radius_px > 1 and not left.any():
        left = by_definition(error, disk_of(radius_px))
        radius_px *= 0.9
    return left if left.any() else None


def in_frame(component, shape):
    frame = np.zeros(shape, dtype=bool)
    frame[component.window] = component.mask
    return frame


def bar(height, width, shape=(32, 440)):
    mask = np.zeros(shape, dtype=bool)
    mask[10 : 10 + height, 20 : 20 + width] = True
    return mask


def test_radius_follows_the_area_up_to_its_limit():
    local, server = robot_preset("local-1.0.4"), robot_preset("server-2020")
    assert [opening_radius_px(area, local) for area in (0, 100, 400, 25600, 10**6)] == [
        0,
        1,
        2,
        16,
        16,
    ]
    assert [opening_radius_px(area, server) for area in (400, 102400, 10**6)] == [1, 16, 16]


def test_a_whole_radius_is_the_usual_disk_either_way():
    for radius in (1, 2, 5, 16):
        away = np.hypot(*np.indices((2 * radius + 1,) * 2) - radius) <= radius
        assert np.array_equal(published_disk(radius), away)
        assert np.array_equal(disk(radius), away)


def test_published_disks_of_other_radii_lie_between_pixels():
    assert published_disk(2.5).shape == (6, 6)
    assert np.argwhere(published_disk(2.5)).tolist() == [
        [row, column] for row in range(1, 5) for column in range(1, 5)
    ]
    assert published_disk(1.05).tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert published_disk(7.3).shape == (16, 16)


@given(st.floats(1, 40))
def test_disks_have_a_middle_and_four_equal_sides(radius):
    element = disk(radius)
    assert len(element) % 2 == 1
    assert all(
        np.array_equal(element, turned) for turned in (element[::-1], element[:, ::-1], element.T)
    )


@given(masks, radii)
def test_opening_is_the_maximum_of_the_minimum(mask, radius):
    for element in (published_disk(radius), disk(radius)):
        assert np.array_equal(open_mask(mask, element), by_definition(mask, element))


def test_a_pixel_whose_disk_lies_beyond_the_frame_is_not_on():
    assert not open_mask(np.zeros((3, 3), dtype=bool), published_disk(1.05)).any()


def test_a_disk_between_pixels_moves_what_it_opens_and_a_centred_one_does_not():
    square = np.zeros((30, 30), dtype=bool)
    square[10:20, 10:20] = True
    moved = np.argwhere(open_mask(square, published_disk(2.5)))
    assert moved.min(axis=0).tolist() == [11, 11]
    assert moved.max(axis=0).tolist() == [20, 20]
    assert not (open_mask(square, disk(2.5)) & ~square).any()


@given(masks, radii)
def test_a_centred_opening_lies_in_the_mask(mask, radius):
    assert not (open_mask(mask, disk(radius)) & ~mask).any()


@given(
    hnp.arrays(
        np.bool_,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=24),
        elements=st.just(True) | st.booleans(),
    ),
    st.sampled_from(["published", "checked"]),
    st.sampled_from([0.2, 0.4, 0.9]),
)
def test_on_the_crop_an_error_is_opened_as_on_the_full_frame(error, mode, kernel_size):
    robot = RobotSettings(kernel_size=kernel_size, mode=mode)
    expected, found = opened_error_by_definition(error, robot), open_error(error, robot)
    if expected is None:
        assert found is None
    else:
        assert np.array_equal(in_frame(found, error.shape), expected)


def test_a_small_error_stays_as_it_is():
    specks = np.zeros((40, 40), dtype=bool)
    specks[::4, ::4] = True  # 100 pixels: a radius of 1
    assert np.array_equal(
        in_frame(open_error(specks, robot_preset("local-1.0.4")), specks.shape), specks
    )


def test_the_radius_shrinks_until_something_is_left():
    error = bar(7, 400, (20, 440))  # a radius of 5.3, of which a band of 7 pixels leaves nothing
    robot = robot_preset("local-1.0.4", mode="published")
    left = in_frame(open_error(error, robot), error.shape)
    tried = [opening_radius_px(2800, robot) * 0.9**k for k in range(20)]
    kept = next(radius for radius in tried if by_definition(error, published_disk(radius)).any())
    assert kept == tried[3]
    assert np.array_equal(left, by_definition(error, published_disk(kept)))


def test_each_try_has_a_tenth_less_radius():
    error = bar(6, 150, (36, 180))  # of radii a fifth, 15 % or 5 % smaller each time, others fit
    error[25:30, 20:95] = True
    robot = robot_preset("local-1.0.4", mode="published")
    assert np.array_equal(
        in_frame(open_error(error, robot), error.shape), opened_error_by_definition(error, robot)
    )


@pytest.mark.parametrize("mode", ["published", "checked"])
def test_of_an_error_that_is_thin_everywhere_nothing_is_left(mode):
    error = bar(1, 400)
    error[30, 5:40] = True
    assert open_error(error, robot_preset("local-1.0.4", mode=mode)) is None


def test_no_error_gives_nothing():
    assert open_error(np.zeros((5, 5), dtype=bool), RobotSettings()) is None
