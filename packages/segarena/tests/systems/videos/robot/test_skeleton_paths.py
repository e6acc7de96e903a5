from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from scipy.ndimage import label
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from segarena.systems.videos.robot.skeleton_paths import (
    _spanning_forest,
    longest_paths,
    skeleton_edges,
)

skeletons = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


def picture(*rows):
    return np.array([[pixel == "#" for pixel in row] for row in rows])


def paths_in(skeleton, min_nodes=1):
    return [path.tolist() for path in longest_paths(skeleton, min_nodes)]


def steps_from(neighbours, start):
    steps, queue = {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for near in neighbours[node]:
            if near not in steps:
                steps[near] = steps[node] + 1
                queue.append(near)
    return steps


def test_a_line_is_its_own_path():
    assert paths_in(picture("#  ", " # ", "  #")) == [[[2, 2], [1, 1], [0, 0]]]
    assert paths_in(picture(".#.")) == [[[0, 1]]]
    assert paths_in(picture("...")) == []


def test_of_equally_long_paths_the_first_found_is_taken():
    # From the top the first of those two steps away is the left end, and from there the first one is the top.
    assert paths_in(picture(".#.", "###", ".#.")) == [[[1, 0], [1, 1], [0, 1]]]


def test_the_rule_of_fewest_pixels_is_about_the_part_and_not_the_path():
    star = picture(".#.", "###", ".#.")
    assert [len(path) for path in paths_in(star, 5)] == [3]
    assert paths_in(star, 6) == []
    two = picture("##...", ".....", "..###")
    assert paths_in(two, 3) == [[[2, 4], [2, 3], [2, 2]]]


def test_every_part_gives_a_path_in_the_order_of_first_pixels():
    firsts = picture("..#", "#..", "..#", "#..")
    assert [path[0] for path in paths_in(firsts)] == [[0, 2], [1, 0], [2, 2], [3, 0]]


def test_a_loop_is_opened_at_the_last_of_its_longest_steps():
    diamond = picture("..#..", ".#.#.", "#...#", ".#.#.", "..#..")
    # All steps go across; the one that comes last in raster order, at the bottom right, is not needed.
    (path,) = paths_in(diamond)
    assert path == [[4, 2], [3, 1], [2, 0], [1, 1], [0, 2], [1, 3], [2, 4], [3, 3]]
    corner = picture("##", "#.")
    assert paths_in(corner) == [[[0, 1], [0, 0], [1, 0]]]  # around the corner, not across it


@given(skeletons)
def test_the_trees_are_as_short_as_those_of_another_library(skeleton):
    count = int(skeleton.sum())
    edges = skeleton_edges(np.argwhere(skeleton))
    neighbours, roots = _spanning_forest(edges, count)
    places = np.argwhere(skeleton)
    length = sum(
        np.linalg.norm(places[a] - places[b]) for a in range(count) for b in neighbours[a] if a < b
    )
    starts, stops = np.array(edges, dtype=int).reshape(-1, 2).T
    weights = np.linalg.norm(places[starts] - places[stops], axis=1)
    graph = coo_matrix((weights, (starts, stops)), shape=(count, count)) if count else None
    assert length == pytest.approx(minimum_spanning_tree(graph).sum() if count else 0)
    assert len(set(roots)) == label(skeleton, np.ones((3, 3)))[1]


@given(skeletons)
def test_no_path_in_its_tree_is_longer(skeleton):
    count = int(skeleton.sum())
    neighbours, roots = _spanning_forest(skeleton_edges(np.argwhere(skeleton)), count)
    longest = [
        max(
            steps
            for node in range(count)
            if roots[node] == root
            for steps in steps_from(neighbours, node).values()
        )
        for root in dict.fromkeys(roots)
    ]
    assert [len(path) - 1 for path in longest_paths(skeleton, 1)] == longest


def first_farthest(neighbours, start):
    """The first node found among those farthest from `start`, neighbours looked at in raster order; its path."""
    before, steps, queue = {start: None}, {start: 0}, deque([start])
    while queue:
        node = queue.popleft()
        for near in sorted(neighbours[node]):
            if near not in before:
                before[near], steps[near] = node, steps[node] + 1
                queue.append(near)
    node = next(node for node in steps if steps[node] == max(steps.values()))
    path = []
    while node is not None:
        path.append(node)
        node = before[node]
    return path[::-1]


def test_paths_are_found_by_two_searches_in_raster_order():
    for seed in range(60):
        skeleton = np.random.default_rng(seed).random((12, 12)) < 0.3
        neighbours, roots = _spanning_forest(
            skeleton_edges(np.argwhere(skeleton)), int(skeleton.sum())
        )
        places = np.argwhere(skeleton).tolist()
        firsts = [roots.index(root) for root in dict.fromkeys(roots)]
        expected = [
            first_farthest(neighbours, first_farthest(neighbours, first)[-1]) for first in firsts
        ]
        assert paths_in(skeleton) == [[places[node] for node in path] for path in expected]


@given(skeletons)
def test_a_path_goes_from_pixel_to_neighbouring_pixel_and_visits_none_twice(skeleton):
    for path in longest_paths(skeleton, 1):
        assert skeleton[tuple(path.T)].all()
        assert len(np.unique(path, axis=0)) == len(path)
        assert (np.abs(np.diff(path, axis=0)).max(axis=1, initial=0) <= 1).all()
