import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.ndimage import gaussian_filter, label
from skimage.morphology import thin as skimage_thin

from segarena.arrays.thinning import thin

MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=14))


@given(MASKS, st.integers(1, 3))
def test_thinning_is_that_of_scikit_image(mask, block):
    grown = np.kron(mask, np.ones((block, block))) > 0
    expected = skimage_thin(grown) if grown.size else grown
    np.testing.assert_array_equal(thin(grown), expected)


@pytest.mark.parametrize("sigma", [1, 4])
def test_thinning_of_blobs_and_of_their_sparse_remains_is_that_of_scikit_image(sigma):
    noise = gaussian_filter(np.random.default_rng(sigma).random((120, 170)), sigma)
    blobs = noise > np.median(noise)
    np.testing.assert_array_equal(thin(blobs), skimage_thin(blobs))


def test_a_bar_becomes_a_line_in_its_middle():
    mask = np.zeros((9, 20), bool)
    mask[3:6, 2:18] = True
    assert thin(mask).sum(axis=0).max() == 1
    assert set(np.nonzero(thin(mask))[0]) == {4}


@given(MASKS)
def test_thinning_keeps_the_number_of_components_and_can_be_repeated(mask):
    thinned = thin(mask)
    assert not (thinned & ~mask).any()
    eight = np.ones((3, 3))
    assert label(mask, eight)[1] == label(thinned, eight)[1]
    np.testing.assert_array_equal(thin(thinned), thinned)


def test_thinning_leaves_its_input_alone():
    mask = np.ones((12, 12), bool)
    thin(mask)
    assert mask.all()
