from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import gaussian_filter, label

from segarena.systems.videos.robot.medial_axis import medial_axis

CORNERS_TOUCH = np.ones((3, 3))
ties = st.sampled_from(["raster", "permutation"])


def parts(square):
    return label(square, CORNERS_TOUCH)[1]


def one_by_one(mask, rule):
    """The loop over all pixels, in their order."""
    there = np.pad(mask, 1)
    inside, outside = np.argwhere(there), np.argwhere(~there)
    squared = [((outside - pixel) ** 2).sum(axis=1).min() for pixel in inside]
    corners = [9 - there[r - 1 : r + 2, c - 1 : c + 2].sum() for r, c in inside]
    ranks = (
        np.random.RandomState(0).permutation(len(inside))
        if rule == "permutation"
        else np.arange(len(inside))
    )
    for index in np.lexsort((ranks, corners, squared)) if len(inside) else ():
        row, column = inside[index]
        square = there[row - 1 : row + 2, column - 1 : column + 2]
        without = square.copy()
        without[1, 1] = False
        if square.sum() >= 3 and parts(square) == parts(without):
            there[row, column] = False
    return there[1:-1, 1:-1]


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)), ties)
def test_all_at_once_is_as_one_by_one_on_noise(mask, rule):
    assert np.array_equal(medial_axis(mask, rule), one_by_one(mask, rule))


@given(st.integers(0, 10**6), st.floats(0.5, 5), st.floats(0.05, 0.95), ties)
def test_all_at_once_is_as_one_by_one_on_blobs(seed, sigma, share, rule):
    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.random(rng.integers(1, 36, 2)), sigma)
    mask = field > np.quantile(field, share)
    assert np.array_equal(medial_axis(mask, rule), one_by_one(mask, rule))


@pytest.mark.parametrize("rule", ["raster", "permutation"])
def test_closed_cases(rule):
    assert not medial_axis(np.zeros((4, 5), dtype=bool), rule).any()
    assert medial_axis(np.ones((1, 1), dtype=bool), rule).all()
    assert medial_axis(np.eye(7, dtype=bool), rule).sum() == 7  # a line stays whole
    odd = medial_axis(np.ones((5, 21), dtype=bool), rule)
    assert odd[2, 2:-2].all()  # the middle row, to where the corners' diagonals meet it
    assert not odd[[0, 1, 3, 4], 6:15].any()


def test_of_a_band_of_two_rows_the_first_goes_when_ties_go_by_raster_order():
    skeleton = medial_axis(np.ones((2, 30), dtype=bool))
    assert not skeleton[0, 2:-2].any()
    assert skeleton[1, 2:-2].all()


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=20)), ties)
def test_a_skeleton_has_as_many_parts_as_its_mask_and_lies_in_it(mask, rule):
    skeleton = medial_axis(mask, rule)
    assert not (skeleton & ~mask).any()
    assert parts(skeleton) == parts(mask)


@given(hnp.arrays(np.bool_, (9, 11)), ties, st.integers(0, 5), st.integers(0, 5))
def test_where_a_mask_lies_does_not_matter(mask, rule, down, right):
    moved = np.pad(mask, ((down, 2), (right, 1)))
    assert np.array_equal(
        medial_axis(moved, rule)[down : down + 9, right : right + 11], medial_axis(mask, rule)
    )
