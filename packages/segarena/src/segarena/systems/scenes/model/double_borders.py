"""Double borders: parallel borders of two regions that should be one shared border."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.systems.scenes.model.incremental_check_cache import CheckMemory, outline_key
from segarena.systems.scenes.model.scene import Edge, Region, Scene, ring_edges

# Distance between the points at which a border is compared.
_STEP_PX = 1.0
# Limit on points times edges; larger comparisons would take seconds.
_MOST_WORK = 50_000_000
# Cosine of the largest angle between borders that count as parallel.
_PARALLEL = np.cos(np.radians(25))


class DoubleBorder(NamedTuple):
    """A stretch where the borders of two regions are parallel: its length and its midpoint (row, column)."""

    one: str
    other: str
    length_px: float
    place: tuple[float, float]


class _UnsharedEdges(NamedTuple):
    """Endpoints of the edges that a region does not share with any other region, (N, 2) each."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]


def double_borders(
    scene: Scene,
    *,
    near_px: float,
    least_px: float,
    memory: CheckMemory | None = None,
) -> Iterator[DoubleBorder]:
    """Yield pairs of regions whose borders are parallel and at most `near_px` apart over at least `least_px`.

    Shared edges are skipped, and so are edges on the image frame, where all regions end. Pairs of
    outlines with so many vertices that the comparison would take seconds are skipped too. With
    `memory`, only pairs whose edges have changed since the last check are compared.
    """
    memory = memory or CheckMemory()
    shared = set(scene.shared_edges())
    keys: dict[str, bytes] = {}
    edges_of: dict[str, _UnsharedEdges] = {}
    boxes: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    vertices = np.array(scene.vertices, dtype=np.float64).reshape(-1, 2)
    for region in scene.regions:
        unshared = _unshared_edges(region, vertices, shared, scene.shape)
        if len(unshared.starts):
            edges_of[region.id] = unshared
            keys[region.id] = outline_key(*unshared)
            boxes[region.id] = _bounding_box(unshared, near_px)
    for one, other in memory.track("borders", list(_near_regions(boxes)), "pairs"):
        run = memory.recall(
            ("parallel", keys[one], keys[other], near_px),
            partial(_longest_run, edges_of[one], edges_of[other], near_px),
        )
        if run is None:
            continue
        length_px, middle = run
        if length_px >= least_px:
            yield DoubleBorder(one, other, length_px, middle)


def _unshared_edges(
    region: Region,
    vertices: NDArray[np.float64],
    shared: set[Edge],
    shape: tuple[int, int],
) -> _UnsharedEdges:
    own: list[Edge] = []
    for ring in region.rings:
        own += [edge for edge in ring_edges(ring) if edge not in shared]
    indices = np.array(own, dtype=np.int64).reshape(-1, 2)
    starts = vertices[indices[:, 0]]
    ends = vertices[indices[:, 1]]
    limit = np.array(shape)
    # Both ends must be on the same side: an edge between two sides crosses the image.
    at_low_side = (starts <= 0) & (ends <= 0)
    at_high_side = (starts >= limit) & (ends >= limit)
    on_frame = (at_low_side | at_high_side).any(axis=1)
    return _UnsharedEdges(starts[~on_frame], ends[~on_frame])


def _bounding_box(
    edges: _UnsharedEdges, margin_px: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = np.concatenate(edges)
    return both.min(axis=0) - margin_px, both.max(axis=0) + margin_px


def _near_regions(
    boxes: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of regions whose boxes overlap, in the order of the mapping."""
    ids = list(boxes)
    lows = np.array([low for low, _ in boxes.values()]).reshape(-1, 2)
    highs = np.array([high for _, high in boxes.values()]).reshape(-1, 2)
    for one, region_id in enumerate(ids):
        # Compared with all later boxes at once, because a large scene has millions of pairs.
        is_near = (lows[one] <= highs[one + 1 :]) & (lows[one + 1 :] <= highs[one])
        for later in np.flatnonzero(is_near.all(axis=1)).tolist():
            yield region_id, ids[one + 1 + later]


def _longest_run(
    one: _UnsharedEdges,
    other: _UnsharedEdges,
    near_px: float,
) -> tuple[float, tuple[float, float]] | None:
    """Return the length and the midpoint of the longest stretch of `one` that is near and parallel to `other`.

    None if there is none, or if the comparison would take too long.
    """
    vectors = one.ends - one.starts
    lengths = np.hypot(vectors[:, 0], vectors[:, 1])
    counts = np.maximum(np.ceil(lengths / _STEP_PX), 1).astype(np.int64)
    # An upper bound: the points of an edge are compared only with near edges of the other region.
    if counts.sum() * len(other.starts) > _MOST_WORK:
        return None
    # Points at equal steps along each edge, each in the middle of its step.
    edge = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (step + 0.5) / counts[edge]
    points = one.starts[edge] + share[:, None] * vectors[edge]
    near = np.zeros(len(points), dtype=np.bool_)
    firsts = np.cumsum(counts) - counts
    for own, theirs in _parallel_near_edges(one, other, near_px).tolist():
        part = slice(firsts[own], firsts[own] + counts[own])
        near[part] |= _is_near(points[part], other.starts[theirs], other.ends[theirs], near_px)
    padded = np.concatenate(([False], near, [False])).astype(np.int8)
    bounds = np.flatnonzero(np.diff(padded))
    if not len(bounds):
        return None
    run_starts = bounds[::2]
    run_ends = bounds[1::2]
    step_lengths = (lengths / counts)[edge]
    distance = np.concatenate(([0.0], np.cumsum(step_lengths)))
    stretches = distance[run_ends] - distance[run_starts]
    longest = int(stretches.argmax())
    row, column = points[(run_starts[longest] + run_ends[longest]) // 2]
    return float(stretches[longest]), (float(row), float(column))


def _parallel_near_edges(
    one: _UnsharedEdges,
    other: _UnsharedEdges,
    near_px: float,
) -> NDArray[np.int64]:
    """Return the index pairs of edges of two regions that are parallel and whose boxes are near, int64 (P, 2)."""
    own_low = np.minimum(one.starts, one.ends) - near_px
    own_high = np.maximum(one.starts, one.ends) + near_px
    low = np.minimum(other.starts, other.ends)
    high = np.maximum(other.starts, other.ends)
    begins = (own_low[:, None] <= high[None]).all(axis=-1)
    reaches = (low[None] <= own_high[:, None]).all(axis=-1)
    pairs = np.argwhere(begins & reaches)
    own = (one.ends - one.starts)[pairs[:, 0]]
    theirs = (other.ends - other.starts)[pairs[:, 1]]
    own_lengths = np.maximum(np.hypot(own[:, 0], own[:, 1]), 1e-12)
    their_lengths = np.sqrt(np.maximum((theirs**2).sum(axis=1), 1e-12))
    cosines = np.abs((own * theirs).sum(axis=1)) / own_lengths
    return pairs[cosines >= _PARALLEL * their_lengths]


def _is_near(
    points: NDArray[np.float64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    near_px: float,
) -> Mask:
    """Return, for each point, whether it is within `near_px` of an edge."""
    vector = end - start
    square = max(float(vector @ vector), 1e-12)
    share = np.clip((points - start) @ vector / square, 0, 1)
    away = points - start - share[:, None] * vector
    return (away**2).sum(axis=1) <= near_px**2
