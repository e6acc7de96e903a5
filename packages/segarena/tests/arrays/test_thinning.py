import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.ndimage import gaussian_filter, label
from skimage.morphology import thin as skimage_thin

from segarena.arrays.thinning import _removable, thin

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


def test_thinning_of_what_fills_the_frame_and_of_what_lies_apart_is_that_of_scikit_image():
    full = np.ones((61, 190), bool)
    apart = (
        np.hypot(*(np.indices((90, 200)) - np.array([40, 66])[:, None, None])) < 33
    )  # over the seam of two words
    apart[85:, 150:] = True
    for mask in (full, apart):
        np.testing.assert_array_equal(thin(mask), skimage_thin(mask))


def first_subiteration_removes(neighbours):
    """The paper's condition: one run of neighbours, neither too few nor too many, open to the east or south-east."""
    x = dict(enumerate(neighbours, start=1))  # x1 is the eastern one, then against the clock
    x[9] = x[1]
    crossings = sum(not x[2 * i - 1] and (x[2 * i] or x[2 * i + 1]) for i in range(1, 5))
    pairs = [
        sum(x[2 * k - 1] or x[2 * k] for k in range(1, 5)),
        sum(x[2 * k] or x[2 * k + 1] for k in range(1, 5)),
    ]
    return crossings == 1 and 2 <= min(pairs) <= 3 and not ((x[2] or x[3] or not x[8]) and x[1])


def test_the_tree_of_decisions_is_the_condition_of_the_paper():
    codes = np.arange(256, dtype=np.uint64)
    there = [codes >> np.uint64(bit) & np.uint64(1) for bit in range(8)]
    found = _removable(there, [1 - side for side in there])
    assert found.tolist() == [
        first_subiteration_removes([code >> bit & 1 for bit in range(8)]) for code in range(256)
    ]


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
