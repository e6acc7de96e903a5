"""Third stage: the longest path through each part of a skeleton."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask

# The neighbours that come after a pixel, in raster order; along the axes before across: the shorter edges first.
_ALONG = ((0, 1), (1, 0))
_ACROSS = ((1, -1), (1, 1))

Neighbours = list[list[int]]
"""The nodes next to each node."""


Loops: TypeAlias = Literal["raster", "search"]


def longest_paths(
    skeleton: Mask, min_nodes: int, loops: Loops = "raster"
) -> list[NDArray[np.int64]]:
    """Return the longest path of each 8-connected part of `skeleton` that has at least `min_nodes` pixels.

    Where a part has closed loops, they are opened first: of all trees that join its pixels by steps to neighbours, a
    shortest one is kept, a step across counting sqrt(2). A path may have fewer pixels than `min_nodes`: the rule is
    about the part.

    A path is longest by its number of pixels, found by two searches from node to node, neighbours in raster order: from
    the part's first pixel to the first one of those farthest away, and from there to the first farthest one again.

    Args:
        skeleton: bool (H, W).
        min_nodes: parts of fewer pixels give no path.
        loops: which of equally long steps are kept: "raster", those that come first in raster order (of their first
            pixel, then of their second); "search", as published: see `_without_loops`.

    Returns:
        (N, 2) arrays as (row, column), parts in the order of their first pixels in raster order.
    """
    pixels = np.stack(np.divmod(np.flatnonzero(skeleton), max(1, skeleton.shape[1])), axis=1)
    edges = _edges(pixels)
    neighbours, part_of = (
        _forest(edges, len(pixels)) if loops == "raster" else _without_loops(edges, pixels)
    )
    # In raster order, so that a part is at the place of its first pixel.
    parts: dict[int, list[int]] = {}
    for node, part in enumerate(part_of):
        parts.setdefault(part, []).append(node)
    firsts = [nodes[0] for nodes in parts.values() if len(nodes) >= min_nodes]
    starts = [_farthest(neighbours, first)[-1] for first in firsts]
    return [pixels[_farthest(neighbours, start)] for start in starts]


def _edges(pixels: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return all pairs of neighbours by their numbers in raster order: shorter steps first, then in raster order."""
    if not len(pixels):
        return []
    rows, columns = (pixels - pixels.min(axis=0)).T
    width = int(columns.max()) + 3
    number = np.full((int(rows.max()) + 2) * width, -1, dtype=np.int32)
    places = rows * width + columns + 1
    number[places] = np.arange(len(pixels))
    edges: list[tuple[int, int]] = []
    for steps in (_ALONG, _ACROSS):
        stops = number[places[:, None] + [row * width + column for row, column in steps]]
        starts, step = np.nonzero(stops >= 0)
        edges.extend(zip(starts.tolist(), stops[starts, step].tolist(), strict=True))
    return edges


def _forest(edges: list[tuple[int, int]], nodes: int) -> tuple[Neighbours, list[int]]:
    """Return the neighbours of each node in a shortest spanning forest (Kruskal), and a root for each node's tree."""
    parent = list(range(nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    neighbours: Neighbours = [[] for _ in range(nodes)]
    for start, stop in edges:
        one = root(start)
        other = root(stop)
        if one != other:
            parent[other] = one
            neighbours[start].append(stop)
            neighbours[stop].append(start)
    for near in neighbours:
        near.sort()
    return neighbours, [root(node) for node in range(nodes)]


def _without_loops(
    edges: list[tuple[int, int]], pixels: NDArray[np.int64]
) -> tuple[Neighbours, list[int]]:
    """Return as `_forest` does, loops being opened one after the other, as a search meets them.

    The search goes from the first node in depth, neighbours in raster order. The first loop that it closes is opened at
    a longest step, of equal ones the first from where the loop begins on the way to its end; then the search begins
    anew. Up to that step it would go the same way again, so it goes on from there.
    """
    neighbours: Neighbours = [[] for _ in pixels]
    for start, stop in edges:
        neighbours[start].append(stop)
        neighbours[stop].append(start)
    for near in neighbours:
        near.sort()
    rows, columns = pixels.T.tolist()
    tried = [0] * len(pixels)
    seen: dict[int, int] = {}
    for first in range(len(pixels)):
        way = [] if first in seen else [first]
        seen.setdefault(first, first)
        while way:
            node = way[-1]
            if tried[node] == len(neighbours[node]):
                way.pop()
                continue
            near = neighbours[node][tried[node]]
            tried[node] += 1
            if near not in seen:
                seen[near] = first
                way.append(near)
            elif near not in way[-2:-1]:
                steps = list(pairwise([*way[way.index(near) :], near]))
                across = (
                    (a, b) for a, b in steps if rows[a] != rows[b] and columns[a] != columns[b]
                )
                start, stop = next(across, steps[0])
                neighbours[start].remove(stop)
                neighbours[stop].remove(start)
                tried[start] -= 1
                if (start, stop) != steps[-1]:
                    del way[way.index(stop) :]
                    while stop in seen:
                        tried[seen.popitem()[0]] = 0
    return neighbours, [seen[node] for node in range(len(pixels))]


def _farthest(neighbours: Neighbours, start: int) -> list[int]:
    """Return the path from `start` to the first found of the nodes with the most steps in between."""
    before = {start: start}
    level = [start]
    last = start
    while level:
        last = level[0]
        following: list[int] = []
        for node in level:
            for near in neighbours[node]:
                if near not in before:
                    before[near] = node
                    following.append(near)
        level = following
    path = [last]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]
