"""Contours in packed words, compared with full frames: edges of labels, and Euclidean distances to them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt

from segarena.arrays.contours import ContourOverlap, overlap_contours, pack_contour
from segarena.arrays.label_edges import label_edges
from segarena.arrays.packed_bits import unpack_mask, words_needed

shapes = st.tuples(st.integers(1, 20), st.integers(1, 160))


@st.composite
def masks(draw, shape):
    """Generate noise of some density, or a rectangle that may touch borders, fill the frame or be empty."""
    if draw(st.booleans()):
        share = draw(st.sampled_from([0.01, 0.1, 0.6]))
        return np.random.default_rng(draw(st.integers(0, 10**6))).random(shape) < share
    mask = np.zeros(shape, bool)
    rows, columns = (
        slice(*sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))) for n in shape
    )
    mask[rows, columns] = True
    return mask


def in_frame(words, found, shape, radius):
    margin = words_needed(radius + 1)
    frame = np.zeros((shape[0], words_needed(shape[1]) + 2 * margin), np.uint64)
    frame[found.window] = words
    return unpack_mask(frame, shape[1], margin)


def near(edges, radius):
    return distance_transform_edt(~edges) <= radius if edges.any() else edges


@given(shapes.flatmap(masks), st.sampled_from([0, 1, 3, 8, 31, 40, 70]))
def test_a_mask_its_contour_and_what_is_near_are_those_of_the_frame(mask, radius):
    found, edges = pack_contour(mask, radius), label_edges(mask)
    for words, expected in (
        (found.mask, mask),
        (found.contour, edges),
        (found.near, near(edges, radius)),
    ):
        assert np.array_equal(in_frame(words, found, mask.shape, radius), expected)
    assert (found.area, found.length) == (mask.sum(), edges.sum())


@given(
    shapes.flatmap(lambda shape: st.tuples(masks(shape), masks(shape))), st.sampled_from([1, 8, 40])
)
def test_what_two_masks_share_is_counted_in_the_frame(pair, radius):
    edges = [label_edges(mask) for mask in pair]
    expected = ContourOverlap(
        (pair[0] & pair[1]).sum(),
        (edges[0] & near(edges[1], radius)).sum(),
        (edges[1] & near(edges[0], radius)).sum(),
    )
    assert overlap_contours(*(pack_contour(mask, radius) for mask in pair)) == expected
