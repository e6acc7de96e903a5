import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.systems.scenes.model.depth_graph import (
    OcclusionGroup,
    depth_layers,
    layer_growth,
    occlusion_components,
    occlusion_graph,
)


def graph_of(count, pairs):
    graph = np.zeros((count, count), bool)
    for i, j in pairs:
        graph[i, j] = True
    return graph


def longest_path(graph):
    """Try every ordered selection of regions."""
    best = 1
    for length in range(2, len(graph) + 1):
        for path in permutations(range(len(graph)), length):
            if all(graph[a, b] for a, b in pairwise(path)):
                best = length
    return best


def test_who_shares_a_pixel_occludes_who_is_behind():
    overlap = np.array([[9, 2, 0], [2, 9, 0], [0, 0, 4]])
    assert occlusion_graph(overlap).tolist() == [[False, True, False], [False] * 3, [False] * 3]


def test_a_region_alone_is_a_component_of_one_layer():
    assert occlusion_components(graph_of(2, [])) == [OcclusionGroup(1, 1)] * 2
    assert occlusion_components(graph_of(0, [])) == []


def test_layers_are_counted_in_each_component():
    # 0 - 1 - 3 is a chain, 2 hides 4, 5 is alone.
    graph = graph_of(6, [(0, 1), (1, 3), (0, 3), (2, 4)])
    assert occlusion_components(graph) == [
        OcclusionGroup(3, 3),
        OcclusionGroup(2, 2),
        OcclusionGroup(1, 1),
    ]
    assert depth_layers(graph).tolist() == [1, 2, 1, 3, 2, 1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_layers_are_the_longest_path(seed, count):
    graph = np.triu(np.random.default_rng(seed).random((count, count)) < 0.4, 1)
    assert depth_layers(graph).max() == longest_path(graph)
    assert sum(component.regions for component in occlusion_components(graph)) == count


def test_layers_that_grow_with_the_logarithm_have_their_slope():
    growth = layer_growth([OcclusionGroup(2**k, k + 1) for k in range(5)])
    assert growth.slope == pytest.approx(1.0)
    assert growth.pearson == pytest.approx(1.0)
    assert growth.spearman == pytest.approx(1.0)
    assert growth.sizes[3] == (8, 4.0, 1)


def test_growth_of_one_size_is_not_defined():
    growth = layer_growth([OcclusionGroup(3, 2), OcclusionGroup(3, 1)])
    assert growth.sizes == ((3, 1.5, 2),)
    assert all(map(math.isnan, (growth.slope, growth.pearson, growth.spearman)))
    assert layer_growth([]).sizes == ()
    assert math.isnan(layer_growth([OcclusionGroup(1, 1), OcclusionGroup(2, 1)]).pearson)
