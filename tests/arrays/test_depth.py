from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import distance_transform_edt, gaussian_filter

from segarena.arrays.depth import deepest_voxels


def check(mask):
    """Compare with the transform of the whole volume."""
    found = deepest_voxels(mask)
    if not mask.any():
        assert found is None
        return
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


@pytest.mark.parametrize("shape", [(1, 9, 9), (9, 1, 9), (9, 9, 1), (30, 30, 30), (5, 40, 41), (41, 5, 40)])
def test_deepest_voxels_of_a_full_frame(shape):
    check(np.ones(shape, dtype=bool))


def test_memory_stays_below_the_volume():
    planes, rows, columns = np.ogrid[:80, :160, :160]
    ball = (planes - 40) ** 2 * 4 + (rows - 80) ** 2 + (columns - 80) ** 2 <= 60**2
    deepest_voxels(ball)
    tracemalloc.start()
    deepest_voxels(ball)
    assert tracemalloc.get_traced_memory()[1] < 2 * ball.size
    tracemalloc.stop()
