"""Connected components of masks, corners touching counts: 8-connected in an image, 26-connected in a volume."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window
from segarena.samples import Mask

Ties: TypeAlias = Literal["first", "last"]
"""Which of several equally large components is taken: that whose first pixel in raster order comes first, or last."""

_Integers: TypeAlias = NDArray[np.int64]

# Runs take time and memory each: where there is more than one to so many voxels of a large mask, labels take less.
_VOXELS_PER_RUN = 64
_LARGE = 1 << 20


class Component(NamedTuple):
    """A component, cropped: `mask` is what lies in `window` of the whole array."""

    window: Window
    mask: Mask


def largest_component(mask: Mask, *, ties: Ties = "last") -> Component | None:
    """Return the component with the most pixels; None when `mask` is empty.

    Args:
        mask: bool, (H, W) or (D, H, W).
        ties: which of equals.
    """
    if not mask.size:
        return None
    return _largest_in_image(mask, ties) if mask.ndim == 2 else _largest_in_volume(mask, ties)


def _largest_in_image(mask: Mask, ties: Ties) -> Component | None:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)
    if count == 1:
        return None
    areas = stats[1:, cv2.CC_STAT_AREA]
    largest = 1 + np.flatnonzero(areas == areas.max())
    # Labels are not given in raster order; the first pixel is, row by row, the first one in the component's top row.
    tops = stats[largest, cv2.CC_STAT_TOP]
    firsts = [(int(top), int((labels[top] == label).argmax())) for top, label in zip(tops, largest, strict=True)]
    label = int(largest[firsts.index(min(firsts) if ties == "first" else max(firsts))])
    column, row, width, height = (int(value) for value in stats[label, :4])
    window = (slice(row, row + height), slice(column, column + width))
    return Component(window, labels[window] == label)


class _Runs(NamedTuple):
    """Runs of True along the last axis, in raster order: [starts, stops) in a row of a plane."""

    planes: _Integers
    rows: _Integers
    starts: _Integers
    stops: _Integers


def _largest_in_volume(mask: Mask, ties: Ties) -> Component | None:
    runs = _runs(mask, most=mask.size // _VOXELS_PER_RUN if mask.size > _LARGE else mask.size)
    if runs is None:
        return _largest_by_labels(mask, ties)
    if not len(runs.starts):
        return None
    labels = _joined(runs, mask.shape)
    sizes = np.bincount(labels, weights=runs.stops - runs.starts)
    firsts = np.zeros(len(sizes), dtype=np.int64)
    firsts[labels[::-1]] = np.arange(len(labels))[::-1]
    largest = np.flatnonzero(sizes == sizes.max())
    order = firsts[largest]
    label = largest[order.argmin() if ties == "first" else order.argmax()]
    return _drawn(_Runs(*(values[labels == label] for values in runs)))


def _largest_by_labels(mask: Mask, ties: Ties) -> Component | None:
    """Return the same by labelling voxels; labels are numbered by their first voxels."""
    from scipy.ndimage import label

    labels = np.empty(mask.shape, dtype=np.int32)
    sizes = np.zeros(int(label(mask, np.ones((3, 3, 3)), output=labels)) + 1, dtype=np.int64)
    for plane in labels:
        counts = np.bincount(plane.ravel())
        sizes[: len(counts)] += counts
    largest = 1 + np.flatnonzero(sizes[1:] == sizes[1:].max(initial=0))
    if not len(largest):
        return None
    component = labels == largest[0 if ties == "first" else -1]
    window = bounding_window(component)
    return Component(window, component[window])


def _runs(mask: Mask, most: int) -> _Runs | None:
    """Find the runs plane by plane, so that no temporary is as large as the volume; give up where they are too many."""
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
    return _Runs(*np.divmod(lines, height), starts, starts + changes[1::2] - changes[0::2])


def _joined(runs: _Runs, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the component of each run: runs are joined that touch in a neighbouring row or plane."""
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


def _drawn(runs: _Runs) -> Component:
    """Return the voxels of `runs`, in the smallest window that holds them."""
    window = tuple(
        slice(int(low.min()), int(high.max()) + extra)
        for low, high, extra in ((runs.planes, runs.planes, 1), (runs.rows, runs.rows, 1), (runs.starts, runs.stops, 0))
    )
    depth, height, width = (s.stop - s.start for s in window)
    lines = (runs.planes - window[0].start) * height + runs.rows - window[1].start
    # Each run switches on at its start and off at its stop; a column more than the window holds the last stops.
    switched = np.zeros((depth * height, width + 1), dtype=np.bool_)
    switched[lines, runs.starts - window[2].start] = True
    switched[lines, runs.stops - window[2].start] = True
    np.logical_xor.accumulate(switched, axis=1, out=switched)
    return Component(window, switched.reshape(depth, height, width + 1)[:, :, :width])
