from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from segarena.segmenters.learned.promptable.prototypes import (
    find_prototypes,
    nearest_cosine,
    unit_vectors,
)


def rays(*degrees):
    angles = torch.deg2rad(torch.tensor(degrees, dtype=torch.float32))
    return torch.stack([angles.cos(), angles.sin()], dim=1)


def sorted_degrees(prototypes):
    return sorted(torch.rad2deg(torch.atan2(prototypes[:, 1], prototypes[:, 0])).tolist())


def test_directions_have_unit_length_and_zeros_stay():
    given = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert torch.allclose(unit_vectors(given), torch.tensor([[0.6, 0.8], [0.0, 0.0]]))


def test_one_prototype_is_the_weighted_mean():
    (prototype,) = find_prototypes(
        torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([3.0, 4.0]), 1
    )
    assert torch.allclose(prototype, torch.tensor([0.6, 0.8]))


def test_features_of_no_weight_say_nothing():
    features = rays(0, 10, 180)
    expected = find_prototypes(features[:2], torch.ones(2), 2)
    assert torch.equal(find_prototypes(features, torch.tensor([1.0, 1.0, 0.0]), 2), expected)


def test_several_prototypes_are_the_means_of_what_lies_together():
    features = rays(-2, 88, 0, 182, 90, 2, 178, 92)
    found = find_prototypes(features, torch.ones(8), 3)
    assert np.allclose(sorted_degrees(found), [0, 90, 180], atol=1e-3)


def test_there_are_no_more_prototypes_than_different_features():
    features = rays(0, 0, 90, 90, 0)
    assert np.allclose(
        sorted_degrees(find_prototypes(features, torch.ones(5), 4)), [0, 90], atol=1e-3
    )
    assert len(find_prototypes(rays(5), torch.ones(1), 3)) == 1


def test_similarity_is_the_cosine_with_the_nearest():
    cosines = nearest_cosine(rays(0, 60, 100), rays(0, 90))
    assert np.allclose(cosines, [1, np.cos(np.pi / 6), np.cos(np.pi / 18)], atol=1e-6)
    assert nearest_cosine(rays(0, 60), rays(0)[:0]).tolist() == [0, 0]


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_clusters_are_at_rest_and_better_than_one(points, count, seed):
    rng = np.random.default_rng(seed)
    features = unit_vectors(torch.from_numpy(rng.normal(size=(points, 5)).astype(np.float32)))
    weights = torch.from_numpy(rng.random(points).astype(np.float32) + 0.01)
    found = find_prototypes(features, weights, count)
    assert 1 <= len(found) <= count
    assert torch.allclose(found.norm(dim=1), torch.ones(len(found)), atol=1e-5)
    one = find_prototypes(features, weights, 1)
    assert (
        float(weights @ nearest_cosine(features, found))
        >= float(weights @ nearest_cosine(features, one)) - 1e-4
    )
    nearest = (features @ found.T).argmax(1)
    for index, prototype in enumerate(found):
        members = nearest == index
        if (
            count > 1 and members.any()
        ):  # with little to move, the search has come to rest within its rounds
            mean = unit_vectors(weights[members] @ features[members])
            assert torch.allclose(mean, prototype, atol=1e-4)
    assert torch.equal(found, find_prototypes(features, weights, count))
