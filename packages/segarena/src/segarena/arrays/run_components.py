"""Runs of True along the last axis of a volume: what the largest component of a large mask is found by.

A mask of a few large pieces has thousands of times fewer runs than voxels, so joining runs that touch takes far less
time and memory than labelling voxels.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, window_shape
from segarena.arrays.lazy_volume import VolumeMask
from segarena.samples import Mask

_Integers: TypeAlias = NDArray[np.int32]


class Runs(NamedTuple):
    """Runs of True along the last axis, in raster order: [starts, stops) in a row of a plane."""

    planes: _Integers
    rows: _Integers
    starts: _Integers
    stops: _Integers


def find_runs(mask: VolumeMask, most: int) -> Runs | None:
    """Find the runs plane by plane, so that no temporary is as large as the volume; give up where they are too many.

    >>> runs = find_runs(np.array([[[1, 1, 0, 1]]], bool), most=9)
    >>> runs.starts.tolist(), runs.stops.tolist()
    ([0, 3], [2, 4])
    """
    _, height, width = mask.shape
    padded = np.zeros((height, width + 1), dtype=np.bool_)
    flat = padded.ravel()
    found = Runs(*(np.empty(0, dtype=np.int32) for _ in Runs._fields))
    parts = [found]
    total = 0
    for number, plane in enumerate(mask):
        padded[:, :width] = plane
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        if flat[0]:
            changes = np.concatenate(([0], changes))
        rows, starts = np.divmod(changes[0::2].astype(np.int32), width + 1)
        lengths = (changes[1::2] - changes[0::2]).astype(np.int32)
        parts.append(Runs(np.full_like(rows, number), rows, starts, starts + lengths))
        total += len(rows)
        if total > most:
            return None
    return Runs(*map(np.concatenate, zip(*parts, strict=True)))


def label_runs(runs: Runs, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the component of each run: runs are joined that touch in a neighbouring row or plane.

    >>> runs = find_runs(np.array([[[1, 1, 0, 1], [0, 0, 1, 0]]], bool), most=9)
    >>> label_runs(runs, (1, 2, 4)).tolist()
    [0, 0, 0]
    """
    _, height, width = shape
    lines = (
        runs.planes.astype(np.int64) * (height + 1) + runs.rows
    )  # an empty line between planes: no row's neighbour
    step = width + 2
    starts = lines * step + runs.starts
    stops = starts + (runs.stops - runs.starts)
    del lines
    component_of = np.arange(len(starts), dtype=np.int32)
    # One kind of neighbour after the other, what was joined before being one: that takes a quarter of the memory.
    for back in (1, height, height + 1, height + 2):
        first = np.searchsorted(stops, starts - back * step, side="left").astype(np.int32)
        counts = np.searchsorted(starts, stops - back * step, side="right").astype(np.int32) - first
        others = np.arange(counts.sum(), dtype=np.int32)
        others += np.repeat(first - (np.cumsum(counts, dtype=np.int32) - counts), counts)
        own = np.repeat(component_of, counts)
        others = component_of[others]
        component_of = merge_labels(own, others, int(component_of.max()) + 1)[component_of]
    return component_of


def merge_labels(
    ones: NDArray[np.int32], others: NDArray[np.int32], count: int
) -> NDArray[np.int32]:
    """Return the component of each of `count` parts when each of `ones` is joined to its one of `others`.

    >>> merge_labels(np.array([0, 3], np.int32), np.array([2, 1], np.int32), 5).tolist()
    [0, 1, 0, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(ones), dtype=np.int8), (ones, others)), shape=(count, count))
    return connected_components(graph, directed=False)[1]


def draw_runs(runs: Runs) -> tuple[Window, Mask]:
    """Return the voxels of `runs`, in the smallest window that holds them.

    >>> window, mask = draw_runs(find_runs(np.array([[[0, 1, 1, 0]]], bool), most=9))
    >>> window, mask.tolist()
    ((slice(0, 1, None), slice(0, 1, None), slice(1, 3, None)), [[[True, True]]])
    """
    planes, rows = (
        slice(int(axis.min()), int(axis.max()) + 1) for axis in (runs.planes, runs.rows)
    )
    window = (planes, rows, slice(int(runs.starts.min()), int(runs.stops.max())))
    depth, height, width = window_shape(window)
    lines = (runs.planes - window[0].start) * height + runs.rows - window[1].start
    # Each run switches on at its start and off at its stop; a column more than the window holds the last stops.
    switched = np.zeros((depth * height, width + 1), dtype=np.bool_)
    switched[lines, runs.starts - window[2].start] = True
    switched[lines, runs.stops - window[2].start] = True
    np.logical_xor.accumulate(switched, axis=1, out=switched)
    return window, switched.reshape(depth, height, width + 1)[:, :, :width]
