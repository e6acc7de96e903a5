import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from segarena.systems.volumes.preparation.instance_labels import label_instances, renumber_labels


def flooded(mask, reach):
    """Components by flooding, one voxel after the other; `reach` is the greatest number of axes of a step."""
    labels, count = np.zeros(mask.shape, int), 0
    steps = [step for step in np.ndindex(3, 3, 3) if 0 < sum(part != 1 for part in step) <= reach]
    for start in zip(*np.nonzero(mask), strict=True):
        if labels[start]:
            continue
        count += 1
        labels[start], waiting = count, [start]
        while waiting:
            at = waiting.pop()
            for step in steps:
                near = tuple(a + b - 1 for a, b in zip(at, step, strict=True))
                if (
                    all(0 <= a < n for a, n in zip(near, mask.shape, strict=True))
                    and mask[near]
                    and not labels[near]
                ):
                    labels[near] = count
                    waiting.append(near)
    return labels


@given(arrays(bool, (4, 5, 5)), st.sampled_from([(6, 1), (18, 2), (26, 3)]))
def test_components_are_those_of_a_flood_numbered_by_their_first_voxels(mask, kind):
    connectivity, reach = kind
    assert np.array_equal(label_instances(mask, connectivity=connectivity), flooded(mask, reach))


@pytest.mark.parametrize(("connectivity", "edges", "corners"), [(6, 2, 2), (18, 1, 2), (26, 1, 1)])
def test_neighbours_across_edges_and_corners(connectivity, edges, corners):
    edge, corner = np.zeros((2, 2, 2), bool), np.zeros((2, 2, 2), bool)
    edge[0, 0, 0] = edge[0, 1, 1] = True
    corner[0, 0, 0] = corner[1, 1, 1] = True
    assert label_instances(edge, connectivity=connectivity).max() == edges
    assert label_instances(corner, connectivity=connectivity).max() == corners


def test_parts_that_a_ball_bridges_are_one_and_keep_their_voxels():
    mask = np.zeros((1, 3, 12), bool)
    mask[0, 1, [0, 3, 7]] = (
        True  # gaps of 2 and of 3 voxels; a ball of radius 1 on both sides bridges 2
    )
    assert label_instances(mask).max() == 3
    labels = label_instances(mask, dilation=1)
    assert labels[0, 1, [0, 3, 7]].tolist() == [1, 1, 2]
    assert np.count_nonzero(labels) == 3


@given(arrays(bool, (3, 6, 6)))
def test_the_ball_of_radius_1_is_the_cross_of_six_neighbours(mask):
    grown = ndimage.binary_dilation(mask, ndimage.generate_binary_structure(3, 1))
    reference = flooded(grown, 3) * mask
    pairs = {
        (a, b)
        for a, b in zip(reference.ravel(), label_instances(mask, dilation=1).ravel(), strict=True)
    }
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_small_components_are_removed_and_ids_close_up():
    mask = np.zeros((1, 1, 20), bool)
    mask[0, 0, 0:2] = mask[0, 0, 4:8] = mask[0, 0, 10] = mask[0, 0, 14:17] = True
    labels = label_instances(mask, least_voxels=3)
    assert [np.count_nonzero(labels == number) for number in (1, 2, 3)] == [4, 3, 0]


def test_size_counts_the_mask_and_not_what_it_was_grown_to():
    mask = np.zeros((3, 3, 40), bool)
    mask[1, 1, :29] = True
    assert label_instances(mask, dilation=1, least_voxels=30).max() == 0
    mask[1, 1, 29] = True
    assert label_instances(mask, dilation=1, least_voxels=30).max() == 1


def test_an_empty_mask_has_no_components():
    assert label_instances(np.zeros((2, 3, 4), bool), dilation=1, least_voxels=30).max() == 0


def test_more_than_255_components_keep_their_numbers():
    mask = np.zeros((1, 40, 40), bool)
    mask[:, ::2, ::2] = True
    labels = label_instances(mask)
    assert (labels.dtype, labels.max()) == (np.uint16, 400)


def test_ids_are_renumbered_in_their_order():
    labels = np.array([[[0, 7, 7, 201, 30]]], np.int16)
    assert renumber_labels(labels).tolist() == [[[0, 1, 1, 3, 2]]]
    assert renumber_labels(labels, least_voxels=2).tolist() == [[[0, 1, 1, 0, 0]]]
