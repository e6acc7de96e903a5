import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from skimage.morphology import thin as skimage_thin

from segarena.arrays.label_edges import label_edges, thin_label_edges


def published_edges(labels):
    """The published rule: a map of double size with an edge between two pixels, sampled at every second position."""
    rows, columns = labels.shape
    double = np.zeros((2 * rows + 1, 2 * columns + 1), bool)
    south = np.zeros_like(labels, bool)
    south[:-1] = labels[:-1] != labels[1:]
    east = np.zeros_like(labels, bool)
    east[:, :-1] = labels[:, :-1] != labels[:, 1:]
    double[2::2, 1::2] = south
    double[1::2, 2::2] = east
    double[2:-1:2, 2:-1:2] = east[:-1, :-1] | east[1:, :-1] | south[:-1, :-1] | south[:-1, 1:]
    double[0], double[:, 0] = double[1], double[:, 1]
    double[-1], double[:, -1] = double[-2], double[:, -2]
    return double[2::2, 2::2]


@given(
    arrays(
        np.uint8,
        array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=9),
        elements=st.integers(0, 3),
    )
)
def test_edges_are_those_of_the_published_rule(labels):
    np.testing.assert_array_equal(label_edges(labels), published_edges(labels))


def test_one_region_has_no_edge():
    assert not label_edges(np.ones((5, 7), np.int32)).any()


def test_halves_have_one_straight_edge():
    labels = np.repeat([1, 1, 1, 2, 2], 4).reshape(5, 4)
    assert np.flatnonzero(label_edges(labels).any(axis=1)).tolist() == [2]


def test_thin_edges_are_the_edges_thinned():
    labels = np.random.default_rng(0).integers(0, 3, (6, 8)).repeat(5, axis=0).repeat(5, axis=1)
    np.testing.assert_array_equal(thin_label_edges(labels), skimage_thin(label_edges(labels)))
