"""Third stage of the robot: the longest path through each component of a skeleton."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

# Offsets to the later neighbours of a pixel in raster order; axis-aligned steps come first because
# they are shorter.
_ALONG = ((0, 1), (1, 0))
_ACROSS = ((1, -1), (1, 1))

Neighbours = list[list[int]]
"""The adjacent nodes of each node."""


def longest_paths(skeleton: Mask, min_nodes: int) -> list[NDArray[np.int64]]:
    """Return the longest path of each 8-connected component of `skeleton` with at least `min_nodes` pixels.

    Closed loops are opened first, by a minimum spanning tree of the component's pixels. Diagonal
    steps have length sqrt(2); among equally long steps, the first in raster order of their first
    and then their second pixel is kept. A path may have fewer pixels than `min_nodes`, because this
    limit applies to the component.

    The length of a path is its number of pixels. Two breadth-first searches, with neighbours in
    raster order, find the longest path: from the component's first pixel to the first of the
    farthest pixels, and from there again to the first of the farthest pixels.

    Args:
        skeleton: bool (H, W).
        min_nodes: components with fewer pixels yield no path.

    Returns:
        (N, 2) arrays as (row, column), one per component, ordered by the component's first pixel in
        raster order.
    """
    pixels = skeleton_pixels(skeleton)
    neighbours, root_of = _spanning_forest(skeleton_edges(pixels), len(pixels))
    # Nodes are in raster order, so each component is reached at its first pixel.
    components: dict[int, list[int]] = {}
    for node, root in enumerate(root_of):
        components.setdefault(root, []).append(node)
    paths: list[NDArray[np.int64]] = []
    for nodes in components.values():
        if len(nodes) >= min_nodes:
            # In a tree, the node farthest from any node is an end of a longest path.
            start = farthest_path(neighbours, nodes[0])[-1]
            longest = farthest_path(neighbours, start)
            paths.append(pixels[longest])
    return paths


def skeleton_pixels(skeleton: Mask) -> NDArray[np.int64]:
    """Return the pixels of a skeleton, (N, 2) as (row, column), in raster order."""
    width = max(1, skeleton.shape[1])
    rows_columns = np.divmod(np.flatnonzero(skeleton), width)
    return np.stack(rows_columns, axis=1)


def skeleton_edges(pixels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return all pairs of adjacent pixels by index: shorter steps first, then in raster order."""
    if not len(pixels):
        return []
    rows, columns = (pixels - pixels.min(axis=0)).T
    # A margin on both sides prevents steps from wrapping into the next row.
    width = int(columns.max()) + 3
    # A lookup table by position finds the neighbours of all pixels at once.
    number_at = np.full((int(rows.max()) + 2) * width, -1, dtype=np.int32)
    positions = rows * width + columns + 1
    number_at[positions] = np.arange(len(pixels))
    edges: list[tuple[int, int]] = []
    for offsets in (_ALONG, _ACROSS):
        steps = [row * width + column for row, column in offsets]
        neighbours = number_at[positions[:, None] + steps]
        starts, step = np.nonzero(neighbours >= 0)
        stops = neighbours[starts, step]
        edges.extend(zip(starts.tolist(), stops.tolist(), strict=True))
    return edges


def _spanning_forest(edges: list[tuple[int, int]], nodes: int) -> tuple[Neighbours, list[int]]:
    """Return the neighbours of each node in a minimum spanning forest (Kruskal), and the root of its tree."""
    parent = list(range(nodes))

    def find_root(node: int) -> int:
        while parent[node] != node:
            # Path halving keeps the trees flat.
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    neighbours: Neighbours = [[] for _ in range(nodes)]
    for start, stop in edges:
        start_root = find_root(start)
        stop_root = find_root(stop)
        if start_root != stop_root:
            parent[stop_root] = start_root
            neighbours[start].append(stop)
            neighbours[stop].append(start)
    # Sorted, because the first of several farthest nodes depends on the order of neighbours.
    for near in neighbours:
        near.sort()
    roots = [find_root(node) for node in range(nodes)]
    return neighbours, roots


def farthest_path(neighbours: Neighbours, start: int) -> list[int]:
    """Return the path from `start` to the node that is the most steps away; ties go to the first that is reached."""
    before = {start: start}
    level = [start]
    last = start
    while level:
        last = level[0]
        next_level: list[int] = []
        for node in level:
            for near in neighbours[node]:
                if near not in before:
                    before[near] = node
                    next_level.append(near)
        level = next_level
    path = [last]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]
