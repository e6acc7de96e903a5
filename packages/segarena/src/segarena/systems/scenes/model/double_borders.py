"""Borders that run side by side without being shared: the same edge drawn twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.samples import Mask
from segarena.systems.scenes.model.scene import Edge, Scene, ring_edges

_STEP_PX = 1.0
_MOST_WORK = 50_000_000
_PARALLEL = np.cos(np.radians(25))


class DoubleBorder(NamedTuple):
    """Two regions whose borders run together: for how long, and where the middle is."""

    one: str
    other: str
    length_px: float
    place: tuple[float, float]


class _Sides(NamedTuple):
    """Sides of a region that it shares with none: (N, 2) each."""

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]


def double_borders(scene: Scene, *, near_px: float, least_px: float) -> Iterator[DoubleBorder]:
    """Yield pairs of regions whose borders run in parallel, closer than `near_px`, for `least_px` on end.

    Sides that two regions share are left out, as are sides on the frame of the image, where regions end together, and
    pairs of outlines with so many vertices that this would take seconds.
    """
    shared = set(scene.shared_edges())
    sides = {
        region.id: _sides(scene, list(chain(*map(ring_edges, region.rings))), shared)
        for region in scene.regions
    }
    ids = [region_id for region_id, found in sides.items() if len(found.starts)]
    boxes = {region_id: _box(sides[region_id], near_px) for region_id in ids}
    for index, one in enumerate(ids):
        for other in ids[index + 1 :]:
            if (boxes[one][0] <= boxes[other][1]).all() and (
                boxes[other][0] <= boxes[one][1]
            ).all():
                run = _longest_run(sides[one], sides[other], near_px)
                if run is not None and run[0] >= least_px:
                    yield DoubleBorder(one, other, *run)


def _sides(scene: Scene, all_edges: list[Edge], shared: set[Edge]) -> _Sides:
    vertices = np.array(scene.vertices, dtype=np.float64).reshape(-1, 2)
    own = np.array([edge for edge in all_edges if edge not in shared], dtype=np.int64).reshape(
        -1, 2
    )
    starts = vertices[own[:, 0]]
    ends = vertices[own[:, 1]]
    limit = np.array(scene.shape)
    on_frame = (((starts <= 0) & (ends <= 0)) | ((starts >= limit) & (ends >= limit))).any(axis=1)
    return _Sides(starts[~on_frame], ends[~on_frame])


def _box(sides: _Sides, margin_px: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = np.concatenate(sides)
    return both.min(axis=0) - margin_px, both.max(axis=0) + margin_px


def _longest_run(
    one: _Sides, other: _Sides, near_px: float
) -> tuple[float, tuple[float, float]] | None:
    """Return the length of the longest stretch of `one` that runs along `other`, and its middle."""
    lengths = np.hypot(*(one.ends - one.starts).T)
    counts = np.maximum(np.ceil(lengths / _STEP_PX), 1).astype(np.int64)
    if counts.sum() * len(other.starts) > _MOST_WORK:  # it would take seconds
        return None
    side = np.repeat(np.arange(len(counts)), counts)
    share = (
        np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + 0.5
    ) / counts[side]
    points = one.starts[side] + share[:, None] * (one.ends - one.starts)[side]
    directions = ((one.ends - one.starts) / np.maximum(lengths, 1e-12)[:, None])[side]
    near = _runs_along(points, directions, other, near_px)
    steps = (lengths / counts)[side]
    bounds = np.flatnonzero(np.diff(np.concatenate(([False], near, [False])).astype(np.int8)))
    if not len(bounds):
        return None
    before = np.concatenate(([0.0], np.cumsum(steps)))
    stretches = before[bounds[1::2]] - before[bounds[::2]]
    longest = int(stretches.argmax())
    middle = points[(bounds[2 * longest] + bounds[2 * longest + 1]) // 2]
    return float(stretches[longest]), (float(middle[0]), float(middle[1]))


def _runs_along(
    points: NDArray[np.float64], directions: NDArray[np.float64], other: _Sides, near_px: float
) -> Mask:
    """Tell for each point whether a side of `other` passes within `near_px`, about in its direction."""
    along = other.ends - other.starts
    squares = np.maximum((along**2).sum(axis=1), 1e-12)
    near = np.zeros(len(points), dtype=np.bool_)
    for start, step, square in zip(other.starts, along, squares, strict=True):
        share = np.clip((points - start) @ step / square, 0, 1)
        close = ((points - start - share[:, None] * step) ** 2).sum(axis=1) <= near_px**2
        near |= close & (np.abs(directions @ step) >= _PARALLEL * np.sqrt(square))
    return near
