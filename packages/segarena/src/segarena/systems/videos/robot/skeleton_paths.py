"""Third stage: the longest path through each component of a skeleton."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

# Offsets to the later neighbours of a pixel, in raster order: first those along the axes, which are shorter.
_ALONG = ((0, 1), (1, 0))
_ACROSS = ((1, -1), (1, 1))

Neighbours = list[list[int]]
"""The adjacent nodes of each node."""


Loops: TypeAlias = Literal["raster", "search"]
"""Rule by which closed loops are opened, see `longest_paths`."""


def longest_paths(
    skeleton: Mask, min_nodes: int, loops: Loops = "raster"
) -> list[NDArray[np.int64]]:
    """Return the longest path of each 8-connected component of `skeleton` with at least `min_nodes` pixels.

    Closed loops are opened first: a minimum spanning tree of the component's pixels is kept, with
    diagonal steps counting sqrt(2). A path may have fewer pixels than `min_nodes`: the limit
    applies to the component.

    A path is longest by its number of pixels. Two breadth-first searches find it, neighbours in
    raster order: from the component's first pixel to the first of those farthest away, and from
    there to the first farthest one again.

    Args:
        skeleton: bool (H, W).
        min_nodes: components with fewer pixels give no path.
        loops: which of equally long steps are kept: "raster", the first in raster order (of their
            first pixel, then of their second); "search", as published: see `_search_forest`.

    Returns:
        (N, 2) arrays as (row, column), components in the order of their first pixels in raster
        order.
    """
    width = max(1, skeleton.shape[1])
    rows_columns = np.divmod(np.flatnonzero(skeleton), width)
    pixels = np.stack(rows_columns, axis=1)
    edges = _edges(pixels)
    if loops == "raster":
        neighbours, root_of = _spanning_forest(edges, len(pixels))
    else:
        neighbours, root_of = _search_forest(edges, pixels)
    # Nodes are in raster order, so each component is listed at its first pixel.
    components: dict[int, list[int]] = {}
    for node, root in enumerate(root_of):
        components.setdefault(root, []).append(node)
    paths: list[NDArray[np.int64]] = []
    for nodes in components.values():
        if len(nodes) >= min_nodes:
            # In a tree, the node farthest from any other is one end of a longest path.
            start = _farthest_path(neighbours, nodes[0])[-1]
            longest = _farthest_path(neighbours, start)
            paths.append(pixels[longest])
    return paths


def _edges(pixels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return all pairs of adjacent pixels by number: shorter steps first, then in raster order."""
    if not len(pixels):
        return []
    rows, columns = (pixels - pixels.min(axis=0)).T
    # A margin on both sides keeps steps from leading into the next row.
    width = int(columns.max()) + 3
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
    for near in neighbours:
        near.sort()
    roots = [find_root(node) for node in range(nodes)]
    return neighbours, roots


def _search_forest(
    edges: list[tuple[int, int]], pixels: NDArray[np.int64]
) -> tuple[Neighbours, list[int]]:
    """Return the same as `_spanning_forest`, opening loops one after the other in the order of a depth-first search.

    The search visits neighbours in raster order. The first loop that it closes is opened at a
    longest step; of equal ones, at the first from where the loop begins on the way to its end; then
    the published search restarts. Up to that step it would go the same way again, so this one
    continues from there.
    """
    neighbours: Neighbours = [[] for _ in pixels]
    for start, stop in edges:
        neighbours[start].append(stop)
        neighbours[stop].append(start)
    for near in neighbours:
        near.sort()
    tried = [0] * len(pixels)
    # The root of each visited node, in visiting order.
    root_of: dict[int, int] = {}
    for root in range(len(pixels)):
        path = [] if root in root_of else [root]
        root_of.setdefault(root, root)
        while path:
            node = path[-1]
            if tried[node] == len(neighbours[node]):
                path.pop()
                continue
            near = neighbours[node][tried[node]]
            tried[node] += 1
            if near not in root_of:
                root_of[near] = root
                path.append(near)
            elif near not in path[-2:-1]:
                loop = [*path[path.index(near) :], near]
                start, stop = _longest_step(loop, pixels)
                neighbours[start].remove(stop)
                neighbours[stop].remove(start)
                tried[start] -= 1
                if (start, stop) != (loop[-2], loop[-1]):
                    # Undo everything the search visited from `stop` on.
                    del path[path.index(stop) :]
                    while stop in root_of:
                        undone, _ = root_of.popitem()
                        tried[undone] = 0
    roots = [root_of[node] for node in range(len(pixels))]
    return neighbours, roots


def _longest_step(loop: list[int], pixels: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first diagonal step of a closed loop; its first step if none is diagonal."""
    rows, columns = pixels[loop].T.tolist()
    for index in range(len(loop) - 1):
        if rows[index] != rows[index + 1] and columns[index] != columns[index + 1]:
            return loop[index], loop[index + 1]
    return loop[0], loop[1]


def _farthest_path(neighbours: Neighbours, start: int) -> list[int]:
    """Return the path from `start` to the first found of the nodes most steps away."""
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
