from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import distance_transform_edt, gaussian_filter

from segarena.arrays import deepest_voxels as depth_module
from segarena.arrays.deepest_voxels import deepest_voxels


def check(mask):
    """Compare with the transform of the whole volume."""
    found = deepest_voxels(mask)
    if not mask.any():
        assert found is None
        return
    again = deepest_voxels(mask.copy(), overwrite=True)
    assert again.squared_distance == found.squared_distance
    assert np.array_equal(again.positions, found.positions)
    depth = np.rint(distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1, 1:-1] ** 2)
    assert found.squared_distance == depth.max()
    assert np.array_equal(found.positions, np.argwhere(depth == depth.max()))


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, max_side=6)))
def test_deepest_voxels_are_the_maxima_of_the_distance(mask):
    check(mask)


@given(st.integers(0, 10_000))
def test_deepest_voxels_of_blobs(seed):
    rng = np.random.default_rng(seed)
    field = gaussian_filter(rng.random(tuple(rng.integers(1, 20, 3))), rng.uniform(0.5, 3))
    check(field >= np.quantile(field, rng.random()))


@pytest.mark.parametrize(
    "shape", [(1, 9, 9), (9, 1, 9), (9, 9, 1), (30, 30, 30), (5, 40, 41), (41, 5, 40)]
)
def test_deepest_voxels_of_a_full_frame(shape):
    check(np.ones(shape, dtype=bool))


@given(st.integers(0, 10_000))
def test_distances_too_far_to_be_told_apart_in_a_byte_are_measured(seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_module, "_FARTHEST", 3)
        rng = np.random.default_rng(seed)
        field = gaussian_filter(rng.random(tuple(rng.integers(6, 24, 3))), 4)
        check(field >= np.quantile(field, rng.random() / 2))


def test_a_mask_that_is_not_to_be_overwritten_stays_as_it_is():
    mask = np.ones((5, 6, 7), dtype=bool)
    deepest_voxels(mask)
    assert mask.all()
    assert mask.view(np.uint8).max() == 1


def test_memory_stays_below_the_volume():
    planes, rows, columns = np.ogrid[:80, :160, :160]
    ball = (planes - 40) ** 2 * 4 + (rows - 80) ** 2 + (columns - 80) ** 2 <= 60**2
    deepest_voxels(ball)
    tracemalloc.start()
    deepest_voxels(ball)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * ball.size
    tracemalloc.stop()
