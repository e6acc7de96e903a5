from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segarena.arrays.slices import (
    divide_half_even,
    interpolate_boxes,
    interpolate_points,
    key_slices,
    median_slice,
    nearest_pixel,
    nearest_slice,
    snapped_box_centre,
    snapped_mean,
    spaced_slices,
    tight_box,
)

IMAGES = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))
SLICES = st.sets(st.integers(0, 60), min_size=1).map(sorted)
POSITIONS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=6
)


def between(keys, plane):
    """Return the straight lines between keys in whole fractions, rounded half to even."""
    planes = sorted(keys)
    if plane in keys:
        return tuple(keys[plane])
    first, last = max(p for p in planes if p < plane), min(p for p in planes if p > plane)
    share = Fraction(plane - first, last - first)
    return tuple(round(a + (b - a) * share) for a, b in zip(keys[first], keys[last], strict=True))


@given(POSITIONS)
def test_points_between_keys_lie_on_straight_lines(keys):
    by_plane = {key[0]: key[1:] for key in keys}
    found = interpolate_points(keys)
    assert list(found) == list(range(min(by_plane), max(by_plane) + 1))
    assert found == {plane: between(by_plane, plane) for plane in found}


@given(POSITIONS, st.integers(1, 9), st.integers(1, 9))
def test_boxes_between_keys_move_corner_by_corner(keys, height, width):
    boxes = [
        (key, (key[0] + 1, key[1] + height * (1 + i), key[2] + width)) for i, key in enumerate(keys)
    ]
    corners = {start[0]: (*start[1:], *stop[1:]) for start, stop in boxes}
    found = interpolate_boxes(boxes)
    assert list(found) == list(range(min(corners), max(corners) + 1))
    assert {plane: (*start, *stop) for plane, (start, stop) in found.items()} == {
        plane: between(corners, plane) for plane in found
    }


def test_halves_between_keys_are_rounded_to_even():
    assert interpolate_points([(0, 0, 1), (2, 1, 2)])[1] == (0, 2)
    assert interpolate_points([(0, 3, 5), (2, 2, 2)])[1] == (2, 4)


def test_nothing_lies_between_no_keys():
    assert interpolate_points([]) == {}
    assert interpolate_boxes([]) == {}


def test_division_rounds_halves_to_even_below_zero_too():
    numerators = np.arange(-7, 8)
    assert divide_half_even(numerators, 2).tolist() == [
        round(Fraction(int(n), 2)) for n in numerators
    ]


@given(SLICES, st.integers(1, 12))
def test_keys_are_foreground_slices_and_the_ends_are_among_them(slices, count):
    keys = key_slices(slices, count)
    assert len(keys) == min(count, len(slices))
    assert set(keys) <= set(slices)
    assert keys == sorted(keys)
    assert keys[0] == slices[0]
    assert len(keys) == 1 or keys[-1] == slices[-1]


def test_spaced_slices_are_rounded_down():
    assert spaced_slices(0, 9, 3) == [0, 4, 9]
    assert spaced_slices(3, 3, 1) == [3]


def test_keys_in_a_gap_move_to_the_nearest_slice_and_may_meet():
    assert key_slices([0, 1, 9, 10], 3) == [0, 1, 10]  # 5 is as far from 1 as from 9
    assert key_slices([0, 1, 2, 20], 4) == [0, 2, 20, 20]
    assert key_slices([0, 20, 21, 22], 3) == [0, 20, 22]
    assert key_slices([], 3) == []


@given(SLICES, st.integers(-5, 70))
def test_nearest_slice_is_the_lower_of_two(slices, wanted):
    assert nearest_slice(wanted, slices) == min(
        slices, key=lambda index: (abs(index - wanted), index)
    )


@given(SLICES)
def test_median_slice_is_the_truncated_median_moved_to_the_foreground(slices):
    assert median_slice(slices) == nearest_slice(int(np.median(slices)), slices)


def slow_largest(mask):
    """Return the largest 8-connected component; of equal ones, that whose first pixel comes last."""
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    parts = [np.argwhere(labels == label) for label in range(1, count + 1)]
    return max(parts, key=lambda part: (len(part), tuple(part[0])), default=None)


def slow_snap(pixels, wanted):
    return min(
        (sum((Fraction(int(p)) - w) ** 2 for p, w in zip(q, wanted, strict=True)), *map(int, q))
        for q in pixels
    )


@given(IMAGES)
def test_centre_is_that_of_the_box_of_the_largest_component(mask):
    pixels = slow_largest(mask)
    if pixels is None:
        assert snapped_box_centre(mask) is None
        assert snapped_mean(mask) is None
        return
    middle = [
        round(Fraction(int(a + b), 2))
        for a, b in zip(pixels.min(axis=0), pixels.max(axis=0), strict=True)
    ]
    assert snapped_box_centre(mask) == slow_snap(pixels, middle)[1:]
    mean = [round(Fraction(int(total), len(pixels))) for total in pixels.sum(axis=0)]
    assert snapped_mean(mask) == slow_snap(pixels, mean)[1:]


def test_centre_and_mean_differ_where_mass_is_on_one_side():
    mask = np.zeros((9, 9), dtype=bool)
    mask[0:9, 0], mask[8, :] = True, True
    assert snapped_box_centre(mask) == (4, 0)
    assert snapped_mean(mask) == (6, 0)


@pytest.mark.parametrize(("ties", "expected"), [("first", (0, 2)), ("last", (3, 0))])
def test_of_equal_components_one_is_taken_by_its_first_pixel(ties, expected):
    mask = np.zeros((5, 5), dtype=bool)
    mask[0, 2] = mask[3, 0] = True
    assert snapped_box_centre(mask, ties=ties) == snapped_mean(mask, ties=ties) == expected


@given(IMAGES, st.integers(-3, 12), st.integers(-3, 12))
def test_nearest_pixel_is_the_first_of_the_nearest(mask, row, column):
    pixels = np.argwhere(mask)
    if len(pixels):
        assert nearest_pixel(mask, (row, column)) == slow_snap(pixels, (row, column))[1:]


@given(IMAGES, st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_a_crop_has_the_centre_of_the_whole(mask, origin):
    whole = np.pad(mask, [(n, 0) for n in origin])
    assert snapped_box_centre(mask, origin=origin) == snapped_box_centre(whole)
    assert snapped_mean(mask, origin=origin) == snapped_mean(whole)


@given(IMAGES)
def test_tight_box_holds_all_and_no_more(mask):
    pixels = np.argwhere(mask)
    if not len(pixels):
        assert tight_box(mask) is None
    else:
        assert tight_box(mask) == (tuple(pixels.min(axis=0)), tuple(pixels.max(axis=0) + 1))
