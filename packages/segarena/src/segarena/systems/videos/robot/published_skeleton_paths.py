"""The longest paths through a skeleton exactly as the published robot finds them, including their direction.

If several paths are equally long, the published result depends on the orders in which two libraries
list nodes. The k-d tree of scikit-learn finds the neighbours of pixels. NetworkX copies each
component of the graph, and iterates over sets of node indices. This module reproduces these orders,
so that published sessions can be compared with ours.

Source: `davisinteractive` 1.0.4 (`tests/stress/published_client.py`), scikit-learn 0.22.2 and
NetworkX 2.5, from their observed behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.systems.videos.robot.skeleton_paths import (
    Neighbours,
    farthest_path,
    skeleton_edges,
    skeleton_pixels,
)

_LEAF_SIZE = 30
"""Default leaf size of scikit-learn's k-d tree: nodes are split until they have fewer than twice as many points."""


def published_longest_paths(skeleton: Mask, min_nodes: int) -> list[NDArray[np.int64]]:
    """Return the longest path of each 8-connected component of `skeleton` with at least `min_nodes` pixels.

    Closed loops are opened one after the other in the order of a depth-first search, each at the
    first of its longest steps. Two breadth-first searches then find the path, as in
    `segarena.systems.videos.robot.skeleton_paths.longest_paths`.

    Args:
        skeleton: bool (H, W).
        min_nodes: components with fewer pixels yield no path.

    Returns:
        (N, 2) arrays as (row, column), one per component, ordered by the component's first pixel in
        raster order.
    """
    pixels = skeleton_pixels(skeleton)
    neighbours = _published_neighbours(pixels)
    paths: list[NDArray[np.int64]] = []
    for nodes in _components(neighbours):
        first = nodes[0]
        _open_loops(neighbours, first, pixels)
        if len(nodes) >= min_nodes:
            start = _farthest_node(neighbours, first)
            longest = farthest_path(neighbours, start)
            paths.append(pixels[longest])
    return paths


def _published_neighbours(pixels: NDArray[np.int64]) -> Neighbours:
    """Return the neighbours of each pixel in the order in which its edges enter the graph.

    Edges are added pixel by pixel, in both directions at once, so earlier neighbours come first, in
    raster order; later neighbours follow in the order of the k-d tree.
    """
    position = _tree_positions(pixels)
    earlier: Neighbours = [[] for _ in pixels]
    later: Neighbours = [[] for _ in pixels]
    for start, stop in skeleton_edges(pixels):
        later[start].append(stop)
        earlier[stop].append(start)
    neighbours: Neighbours = []
    for near_earlier, near_later in zip(earlier, later, strict=True):
        near_later.sort(key=position.__getitem__)
        neighbours.append(sorted(near_earlier) + near_later)
    return neighbours


def _tree_positions(pixels: NDArray[np.int64]) -> list[int]:
    """Return the position of each pixel in scikit-learn's k-d tree, which determines the order of neighbours.

    Each node is halved along its longer side, down to the number of levels that gives leaves of 30
    to 60 points.
    """
    count = len(pixels)
    levels = int(np.log2(max(1, (count - 1) / _LEAF_SIZE)) + 1)
    order = list(range(count))
    pending = [(0, count, 1)]
    while pending:
        start, stop, level = pending.pop()
        if level == levels or stop - start < 2:
            continue
        members = pixels[order[start:stop]]
        spread = members.max(axis=0) - members.min(axis=0)
        values = pixels[:, int(np.argmax(spread))].tolist()
        middle = start + (stop - start) // 2
        _select(order, values, start, stop - 1, middle)
        pending += [(start, middle, level + 1), (middle, stop, level + 1)]
    position = [0] * count
    for index, pixel in enumerate(order):
        position[pixel] = index
    return position


def _select(
    order: list[int],
    values: list[int],
    left: int,
    right: int,
    middle: int,
) -> None:
    """Partially sort `order[left:right + 1]` by `values`, until `order[middle]` is as in a full sort.

    This is quickselect with the last element as pivot. The order in which it leaves equal values is
    part of the published result, so no other selection algorithm would do.
    """
    while True:
        pivot = values[order[right]]
        boundary = left
        for index in range(left, right):
            if values[order[index]] < pivot:
                order[index], order[boundary] = order[boundary], order[index]
                boundary += 1
        order[boundary], order[right] = order[right], order[boundary]
        if boundary == middle:
            return
        if boundary < middle:
            left = boundary + 1
        else:
            right = boundary - 1


def _components(neighbours: Neighbours) -> list[list[int]]:
    """Return the nodes of each component; searches in a component start from its first node.

    The function also reorders `neighbours`.

    Components are in the order of their first pixels. If a component has less than half of the
    graph's nodes, NetworkX iterates over the set of these nodes. The order in which CPython
    iterates over a set of integers depends on how the set was filled, so this function fills sets
    in the same way.
    """
    components: list[list[int]] = []
    visited: set[int] = set()
    for first in range(len(neighbours)):
        if first in visited:
            continue
        reached = _reachable(neighbours, first)
        visited |= reached
        # Added one by one: a set copied from another set at once may have a different order.
        members: set[int] = set()
        for node in reached:
            members.add(node)
        if 2 * len(members) < len(neighbours):
            nodes = list(members)
        else:
            nodes = sorted(members)
        _copy_edges(neighbours, nodes)
        components.append(nodes)
    return components


def _reachable(neighbours: Neighbours, first: int) -> set[int]:
    reached: set[int] = set()
    next_level = {first}
    while next_level:
        level = next_level
        next_level = set[int]()
        for node in level:
            if node not in reached:
                reached.add(node)
                next_level.update(neighbours[node])
    return reached


def _copy_edges(neighbours: Neighbours, nodes: Sequence[int]) -> None:
    """Reorder the neighbours of a component's nodes as if its edges were added to a new graph, node by node."""
    copied: dict[int, dict[int, None]] = {node: {} for node in nodes}
    for node in nodes:
        for near in neighbours[node]:
            copied[node][near] = None
            copied[near][node] = None
    for node, near_nodes in copied.items():
        neighbours[node] = list(near_nodes)


def _open_loops(
    neighbours: Neighbours,
    first: int,
    pixels: NDArray[np.int64],
) -> None:
    """Remove edges of the component of `first` until it has no loops.

    A depth-first search starts at `first`. The first loop that it closes is opened at one of its
    longest steps; among equals, at the first one along the loop. The published search then
    restarts. Up to that step it would visit the same nodes again, so this search continues from
    there.
    """
    tried: dict[int, int] = {first: 0}
    path = [first]
    while path:
        node = path[-1]
        if tried[node] == len(neighbours[node]):
            path.pop()
            continue
        near = neighbours[node][tried[node]]
        tried[node] += 1
        if near not in tried:
            tried[near] = 0
            path.append(near)
        elif near not in path[-2:-1]:
            loop = [*path[path.index(near) :], near]
            start, stop = _longest_step(loop, pixels)
            neighbours[start].remove(stop)
            neighbours[stop].remove(start)
            tried[start] -= 1
            if (start, stop) != (loop[-2], loop[-1]):
                # Undo everything that the search visited from `stop` on.
                del path[path.index(stop) :]
                while stop in tried:
                    tried.popitem()


def _longest_step(loop: list[int], pixels: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first diagonal step of a closed loop, or the loop's first step if none is diagonal."""
    rows, columns = pixels[loop].T.tolist()
    for index in range(len(loop) - 1):
        changes_row = rows[index] != rows[index + 1]
        changes_column = columns[index] != columns[index + 1]
        # The published robot removes the heaviest edge of a cycle, the first among equals.
        if changes_row and changes_column:
            return loop[index], loop[index + 1]
    return loop[0], loop[1]


def _farthest_node(neighbours: Neighbours, start: int) -> int:
    """Return the node farthest from the start; ties go to the first node of the last search level.

    Each level of the breadth-first search is a set, as in NetworkX.
    """
    reached: set[int] = set()
    level = {start}
    last = start
    while level:
        found = [node for node in level if node not in reached]
        reached.update(found)
        level = set[int]()
        if found:
            last = found[0]
        for node in found:
            level.update(neighbours[node])
    return last
