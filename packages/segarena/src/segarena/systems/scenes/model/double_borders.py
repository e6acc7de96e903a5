"""Double borders: parallel borders of two regions that were drawn twice instead of shared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.systems.scenes.model.scene import Edge, Region, Scene, ring_edges

# Distance of the points at which a border is compared.
_STEP_PX = 1.0
# Points times edges; more takes seconds.
_MOST_WORK = 50_000_000
# Cosine of the largest angle between borders that count as parallel.
_PARALLEL = np.cos(np.radians(25))


class DoubleBorder(NamedTuple):
    """A stretch where the borders of two regions run in parallel: its length, and its middle (row, column)."""

    one: str
    other: str
    length_px: float
    place: tuple[float, float]


class _UnsharedEdges(NamedTuple):
    """The edges of a region that it shares with no other region: (N, 2) each."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]


def double_borders(scene: Scene, *, near_px: float, least_px: float) -> Iterator[DoubleBorder]:
    """Yield pairs of regions whose borders are parallel and closer than `near_px` for `least_px` on end.

    Left out are shared edges, edges on the frame of the image, where all regions end, and pairs of
    outlines with so many vertices that the comparison would take seconds.
    """
    shared = set(scene.shared_edges())
    edges_of: dict[str, _UnsharedEdges] = {}
    boxes: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for region in scene.regions:
        unshared = _unshared_edges(scene, region, shared)
        if len(unshared.starts):
            edges_of[region.id] = unshared
            boxes[region.id] = _bounding_box(unshared, near_px)
    for one, other in combinations(edges_of, 2):
        if not _boxes_overlap(boxes[one], boxes[other]):
            continue
        run = _longest_run(edges_of[one], edges_of[other], near_px)
        if run is None:
            continue
        length_px, middle = run
        if length_px >= least_px:
            yield DoubleBorder(one, other, length_px, middle)


def _unshared_edges(scene: Scene, region: Region, shared: set[Edge]) -> _UnsharedEdges:
    vertices = np.array(scene.vertices, dtype=np.float64).reshape(-1, 2)
    own: list[Edge] = []
    for ring in region.rings:
        own += [edge for edge in ring_edges(ring) if edge not in shared]
    indices = np.array(own, dtype=np.int64).reshape(-1, 2)
    starts = vertices[indices[:, 0]]
    ends = vertices[indices[:, 1]]
    limit = np.array(scene.shape)
    at_low_side = (starts <= 0) & (ends <= 0)
    at_high_side = (starts >= limit) & (ends >= limit)
    on_frame = (at_low_side | at_high_side).any(axis=1)
    return _UnsharedEdges(starts[~on_frame], ends[~on_frame])


def _bounding_box(
    edges: _UnsharedEdges, margin_px: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = np.concatenate(edges)
    return both.min(axis=0) - margin_px, both.max(axis=0) + margin_px


def _boxes_overlap(
    one: tuple[NDArray[np.float64], NDArray[np.float64]],
    other: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> bool:
    one_low, one_high = one
    other_low, other_high = other
    return bool((one_low <= other_high).all() and (other_low <= one_high).all())


def _longest_run(
    one: _UnsharedEdges, other: _UnsharedEdges, near_px: float
) -> tuple[float, tuple[float, float]] | None:
    """Return the length of the longest stretch of `one` that is parallel to `other`, and its middle."""
    vectors = one.ends - one.starts
    lengths = np.hypot(vectors[:, 0], vectors[:, 1])
    counts = np.maximum(np.ceil(lengths / _STEP_PX), 1).astype(np.int64)
    if counts.sum() * len(other.starts) > _MOST_WORK:
        return None
    # Points at equal steps along each edge, in the middle of their step.
    edge = np.repeat(np.arange(len(counts)), counts)
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    share = (step + 0.5) / counts[edge]
    points = one.starts[edge] + share[:, None] * vectors[edge]
    directions = (vectors / np.maximum(lengths, 1e-12)[:, None])[edge]
    near = _is_parallel_near(points, directions, other, near_px)
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


def _is_parallel_near(
    points: NDArray[np.float64],
    directions: NDArray[np.float64],
    other: _UnsharedEdges,
    near_px: float,
) -> Mask:
    """Return for each point whether an edge of `other` passes within `near_px`, roughly in its direction."""
    vectors = other.ends - other.starts
    squares = np.maximum((vectors**2).sum(axis=1), 1e-12)
    near = np.zeros(len(points), dtype=np.bool_)
    for start, vector, square in zip(other.starts, vectors, squares, strict=True):
        share = np.clip((points - start) @ vector / square, 0, 1)
        away = points - start - share[:, None] * vector
        is_close = (away**2).sum(axis=1) <= near_px**2
        is_parallel = np.abs(directions @ vector) >= _PARALLEL * np.sqrt(square)
        near |= is_close & is_parallel
    return near
