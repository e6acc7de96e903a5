"""Runs of True along the last axis of a volume: what the largest component of a large mask is found by.

A mask of a few large pieces has thousands of times fewer runs than voxels, so joining runs that touch takes far less
time and memory than labelling voxels.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, window_shape
from segarena.samples import Mask

_Integers: TypeAlias = NDArray[np.int64]


class Runs(NamedTuple):
    """Runs of True along the last axis, in raster order: [starts, stops) in a row of a plane."""

    planes: _Integers
    rows: _Integers
    starts: _Integers
    stops: _Integers


def runs_of(mask: Mask, most: int) -> Runs | None:
    """Find the runs plane by plane, so that no temporary is as large as the volume; give up where they are too many.

    >>> runs_of(np.array([[[1, 1, 0, 1]]], bool), most=9)
    Runs(planes=array([0, 0]), rows=array([0, 0]), starts=array([0, 3]), stops=array([2, 4]))
    """
    _, height, width = mask.shape
    padded = np.zeros((height, width + 1), dtype=np.bool_)
    flat = padded.ravel()
    ends: list[_Integers] = []
    total = 0
    for number, plane in enumerate(mask):
        padded[:, :width] = plane
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        if flat[0]:
            changes = np.concatenate(([0], changes))
        ends.append(changes + number * flat.size)
        total += len(changes) // 2
        if total > most:
            return None
    changes = np.concatenate(ends)
    lines, starts = np.divmod(changes[0::2], width + 1)
    return Runs(*np.divmod(lines, height), starts, starts + changes[1::2] - changes[0::2])


def touching(runs: Runs, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the component of each run: runs are joined that touch in a neighbouring row or plane.

    >>> runs = runs_of(np.array([[[1, 1, 0, 1], [0, 0, 1, 0]]], bool), most=9)
    >>> touching(runs, (1, 2, 4)).tolist()
    [0, 0, 0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, height, width = shape
    lines = runs.planes * (height + 1) + runs.rows  # an empty line between planes: no row's neighbour is in another
    step = width + 2
    starts, stops = lines * step + runs.starts, lines * step + runs.stops
    own: list[_Integers] = []
    other: list[_Integers] = []
    for back in (1, height, height + 1, height + 2):
        first = np.searchsorted(stops, starts - back * step, side="left")
        counts = np.searchsorted(starts, stops - back * step, side="right") - first
        own.append(np.repeat(np.arange(len(counts)), counts))
        other.append(np.arange(len(own[-1])) + np.repeat(first - (np.cumsum(counts) - counts), counts))
    pairs = np.concatenate(own), np.concatenate(other)
    graph = coo_array((np.ones(len(pairs[0]), dtype=np.int8), pairs), shape=(len(lines), len(lines)))
    return connected_components(graph, directed=False)[1]


def drawn(runs: Runs) -> tuple[Window, Mask]:
    """Return the voxels of `runs`, in the smallest window that holds them.

    >>> window, mask = drawn(runs_of(np.array([[[0, 1, 1, 0]]], bool), most=9))
    >>> window, mask.tolist()
    ((slice(0, 1, None), slice(0, 1, None), slice(1, 3, None)), [[[True, True]]])
    """
    planes, rows = (slice(int(axis.min()), int(axis.max()) + 1) for axis in (runs.planes, runs.rows))
    window = (planes, rows, slice(int(runs.starts.min()), int(runs.stops.max())))
    depth, height, width = window_shape(window)
    lines = (runs.planes - window[0].start) * height + runs.rows - window[1].start
    # Each run switches on at its start and off at its stop; a column more than the window holds the last stops.
    switched = np.zeros((depth * height, width + 1), dtype=np.bool_)
    switched[lines, runs.starts - window[2].start] = True
    switched[lines, runs.stops - window[2].start] = True
    np.logical_xor.accumulate(switched, axis=1, out=switched)
    return window, switched.reshape(depth, height, width + 1)[:, :, :width]
