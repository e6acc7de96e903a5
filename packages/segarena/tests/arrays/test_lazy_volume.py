from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from segarena.arrays.lazy_volume import LazyVolume

pairs = array_shapes(min_dims=3, max_dims=3, min_side=0, max_side=5).flatmap(
    lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape))
)


@given(pairs, st.sampled_from([np.greater, np.not_equal, np.logical_and]))
def test_planes_are_those_of_the_volume(pair, combine):
    planes, whole = LazyVolume(combine, *pair), combine(*pair)
    assert planes.shape == whole.shape
    assert len(planes) == len(whole)
    assert all(np.array_equal(made, plane) for made, plane in zip(planes, whole, strict=True))
    assert all(np.array_equal(planes[number], plane) for number, plane in enumerate(whole))
    assert planes.turned.shape == whole.T.shape
    assert all(
        np.array_equal(made, plane) for made, plane in zip(planes.turned, whole.T, strict=True)
    )
