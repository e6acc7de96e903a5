"""Connected components of a volume, found from its runs of True along the last axis.

A mask of a few large components has thousands of times fewer runs than voxels, so merging adjacent
runs takes much less time and memory than labelling voxels.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, window_shape
from segarena.arrays.lazy_volume import VolumeMask
from segarena.samples import Mask

# 32 bits suffice for positions in a volume and take half the memory of NumPy's default.
_Integers: TypeAlias = NDArray[np.int32]


class Runs(NamedTuple):
    """Runs of True along the last axis in raster order: [starts, stops) in one row of a plane."""

    planes: _Integers
    rows: _Integers
    starts: _Integers
    stops: _Integers


def find_runs(mask: VolumeMask, most: int) -> Runs | None:
    """Return the runs, found plane by plane to save memory; None if there are more than `most`.

    >>> runs = find_runs(np.array([[[1, 1, 0, 1]]], bool), most=9)
    >>> runs.starts.tolist(), runs.stops.tolist()
    ([0, 3], [2, 4])
    """
    _, height, width = mask.shape
    # A False column at the end of each row ends every run within its row.
    padded = np.zeros((height, width + 1), dtype=np.bool_)
    flat = padded.ravel()
    empty = np.empty(0, dtype=np.int32)
    no_runs = Runs(empty, empty, empty, empty)
    runs_by_plane = [no_runs]
    total = 0
    for number, plane in enumerate(mask):
        padded[:, :width] = plane
        changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        if flat[0]:
            changes = np.concatenate(([0], changes))
        first_pixels = changes[0::2]
        lengths = (changes[1::2] - first_pixels).astype(np.int32)
        rows, starts = np.divmod(first_pixels.astype(np.int32), width + 1)
        planes = np.full_like(rows, number)
        runs_by_plane.append(Runs(planes, rows, starts, starts + lengths))
        total += len(rows)
        if total > most:
            return None
    columns = zip(*runs_by_plane, strict=True)
    return Runs(*(np.concatenate(column) for column in columns))


def label_runs(runs: Runs, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the component index of each run; runs that touch in a neighbouring row or plane share a component.

    >>> runs = find_runs(np.array([[[1, 1, 0, 1], [0, 0, 1, 0]]], bool), most=9)
    >>> label_runs(runs, (1, 2, 4)).tolist()
    [0, 0, 0]
    """
    _, height, width = shape
    # Positions of the whole volume on one line, in 64 bits. An empty row separates planes, because
    # the last row of a plane is not adjacent to the first row of the next.
    lines = runs.planes.astype(np.int64) * (height + 1) + runs.rows
    step = width + 2
    starts = lines * step + runs.starts
    stops = starts + (runs.stops - runs.starts)
    del lines  # frees eight bytes per run before the loop, which takes the most memory
    component_of = np.arange(len(starts), dtype=np.int32)
    # Process one neighbouring row at a time and merge components in between, which takes a quarter
    # of the memory of all at once.
    for lines_back in (1, height, height + 1, height + 2):
        offset = lines_back * step
        # Runs also touch across a corner: a run that stops where another starts is adjacent to it.
        first_positions = np.searchsorted(stops, starts - offset, side="left")
        end_positions = np.searchsorted(starts, stops - offset, side="right")
        first = first_positions.astype(np.int32)
        end = end_positions.astype(np.int32)
        counts = end - first
        # Expand each range [first, end) into single neighbours.
        neighbours = np.arange(counts.sum(), dtype=np.int32)
        range_starts = np.cumsum(counts, dtype=np.int32) - counts
        neighbours += np.repeat(first - range_starts, counts)
        own = np.repeat(component_of, counts)
        others = component_of[neighbours]
        label_count = int(component_of.max()) + 1
        merged = merge_labels(own, others, label_count)
        component_of = merged[component_of]
    return component_of


def merge_labels(
    ones: NDArray[np.int32],
    others: NDArray[np.int32],
    count: int,
) -> NDArray[np.int32]:
    """Return the component of each of `count` labels after merging each label in `ones` with its pair in `others`.

    >>> merge_labels(np.array([0, 3], np.int32), np.array([2, 1], np.int32), 5).tolist()
    [0, 1, 0, 1, 2]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = np.ones(len(ones), dtype=np.int8)
    graph = coo_array((edges, (ones, others)), shape=(count, count))
    _, component_of = connected_components(graph, directed=False)
    return component_of


def draw_runs(runs: Runs) -> tuple[Window, Mask]:
    """Rasterize `runs` into the smallest window that contains them.

    >>> window, mask = draw_runs(find_runs(np.array([[[0, 1, 1, 0]]], bool), most=9))
    >>> window, mask.tolist()
    ((slice(0, 1, None), slice(0, 1, None), slice(1, 3, None)), [[[True, True]]])
    """
    first_plane = int(runs.planes.min())
    last_plane = int(runs.planes.max())
    first_row = int(runs.rows.min())
    last_row = int(runs.rows.max())
    first_column = int(runs.starts.min())
    stop_column = int(runs.stops.max())
    planes = slice(first_plane, last_plane + 1)
    rows = slice(first_row, last_row + 1)
    window = (planes, rows, slice(first_column, stop_column))
    depth, height, width = window_shape(window)
    lines = (runs.planes - first_plane) * height + runs.rows - first_row
    # Mark where each run starts and stops, then accumulate; the extra column takes stops at the end
    # of the window.
    marks = np.zeros((depth * height, width + 1), dtype=np.bool_)
    marks[lines, runs.starts - first_column] = True
    marks[lines, runs.stops - first_column] = True
    np.logical_xor.accumulate(marks, axis=1, out=marks)
    drawn = marks.reshape(depth, height, width + 1)
    return window, drawn[:, :, :width]
