"""Find the deepest voxels of a component in a volume without a distance map of the whole volume."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, is_empty, window_start
from segarena.arrays.distance_transform import squared_distance, squared_distance_in_window
from segarena.samples import Mask

_FARTHEST = 255  # the largest uint8: longer distances within a slice are stored as this one


class DeepestVoxels(NamedTuple):
    """All positions with the greatest squared distance in voxels to the mask's outside, (n, 3) in raster order."""

    positions: NDArray[np.int64]
    squared_distance: int


def deepest_voxels(mask: Mask, *, overwrite: bool = False) -> DeepestVoxels | None:
    """Return the voxels of `mask` farthest from all voxels outside it; None if `mask` is empty.

    They are the maxima of `squared_distance`, where the frame's border counts as an edge and voxel
    spacing is ignored. The squared distance of a voxel is the minimum over all slices of (distance
    within that slice at the voxel's row and column)^2 + (distance to the slice)^2. Distances within
    slices are stored in one byte each, rounded up to whole pixels. These bytes bound the distance
    from above, so only the few voxels that can be the deepest are measured exactly.

    >>> deepest_voxels(np.ones((3, 3, 4), bool))
    DeepestVoxels(positions=array([[1, 1, 1],
           [1, 1, 2]]), squared_distance=4)

    Args:
        mask: bool, (D, H, W).
        overwrite: reuse the memory of `mask`, whose content is then lost.
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    rings = _rings(mask[window], overwrite=overwrite)
    voxels, squared, lower_bound = _candidates(rings)
    _measure(rings, voxels, squared, lower_bound)
    deepest = int(squared.max())
    start = np.array(window_start(window), dtype=np.int64)
    positions = voxels[squared == deepest] + start
    return DeepestVoxels(positions, deepest)


def _rings(crop: Mask, *, overwrite: bool) -> NDArray[np.uint8]:
    """Return each voxel's distance to the mask's outside within its slice, rounded up to whole pixels; 0 outside."""
    if overwrite:
        rings = crop.view(np.uint8)
    else:
        rings = crop.astype(np.uint8)
    for ring, plane in zip(rings, crop, strict=True):
        window, squared = squared_distance_in_window(plane)
        rounded_up = np.ceil(np.sqrt(squared))
        ring[window] = np.minimum(rounded_up, _FARTHEST)
    return rings


def _candidates(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the voxels that can be the deepest.

    Returns:
        Their positions, (n, 3) in raster order; upper bounds of their squared distances; and a squared distance that
        at least one of them reaches.
    """
    at_least, at_most = _bounds(rings)
    largest_rings = [int(ring.max()) for ring in rings]
    lower_bound = 0
    # Start with the slices that have the largest distances: they raise the lower bound most, and a
    # high bound saves work later.
    planes = sorted(range(len(rings)), key=lambda plane: -largest_rings[plane])
    for plane in planes:
        ring = rings[plane]
        deepest_in_plane = np.unravel_index([ring.argmax()], ring.shape)
        pixel = np.stack(deepest_in_plane)
        depths = _squared_depths(rings, at_least, plane, pixel, lower_bound)
        lower_bound = max(lower_bound, int(depths[0]))
    voxels: list[NDArray[np.int64]] = []
    squared: list[NDArray[np.int64]] = []
    lowest_ring = np.searchsorted(at_most, lower_bound)
    for plane, largest_ring in enumerate(largest_rings):
        upper_bound = min(at_most[largest_ring], _reach(rings, plane))
        if upper_bound < lower_bound:
            continue
        is_deep = rings[plane] >= lowest_ring
        pixels = np.stack(np.nonzero(is_deep))
        depths = _squared_depths(rings, at_most, plane, pixels, lower_bound)
        is_candidate = depths >= lower_bound
        rows, columns = pixels[:, is_candidate]
        planes_of_rows = np.full_like(rows, plane)
        voxels.append(np.stack([planes_of_rows, rows, columns], axis=1))
        squared.append(depths[is_candidate])
    return np.concatenate(voxels), np.concatenate(squared), lower_bound


def _bounds(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest squared distance that each rounded distance can represent."""
    ring = np.arange(_FARTHEST + 1, dtype=np.int64)
    # Distances are rounded up, so the squared distances of a value start one above the square of
    # the next lower value.
    above_lower_ring = (ring - 1) ** 2 + 1
    at_least = np.where(ring > 0, above_lower_ring, 0)
    at_most = ring**2
    # The largest stored value has no upper limit of its own, but no voxel is farther from the
    # crop's ends than the number of slices.
    at_most[_FARTHEST] = max(_FARTHEST, len(rings)) ** 2
    return at_least, at_most


def _squared_depths(
    rings: NDArray[np.uint8],
    squared: NDArray[np.int64],
    plane: int,
    pixels: NDArray[np.int64],
    lower_bound: int,
) -> NDArray[np.int64]:
    """Return squared distances in the volume of pixels (2, n) of a slice; 0 if they are below `lower_bound`.

    Args:
        rings: rounded distances within slices.
        squared: the squared distance that each rounded distance represents.
        plane: index of the slice.
        pixels: rows and columns.
        lower_bound: smallest squared distance of interest.
    """
    rows, columns = pixels
    within_slice = squared[rings[plane][rows, columns]]
    depths = np.minimum(within_slice, _reach(rings, plane))
    remaining = np.flatnonzero(depths >= lower_bound)
    step = 1
    # Visit slices outwards; slices beyond the largest remaining distance cannot lower any of them.
    while len(remaining) and step**2 < depths[remaining].max():
        rows, columns = pixels[:, remaining]
        for other in (plane - step, plane + step):
            if 0 <= other < len(rings):
                rounded = rings[other][rows, columns]
                through_other = squared[rounded] + step**2
                depths[remaining] = np.minimum(depths[remaining], through_other)
        is_deep = depths[remaining] >= lower_bound
        remaining = remaining[is_deep]
        step += 1
    return np.where(depths >= lower_bound, depths, 0)


def _measure(
    rings: NDArray[np.uint8],
    voxels: NDArray[np.int64],
    squared: NDArray[np.int64],
    lower_bound: int,
) -> None:
    """Lower the upper bounds `squared` of `voxels` to their true values if these are at least `lower_bound`."""
    at_least, _ = _bounds(rings)
    for plane, ring in enumerate(rings):
        squared_steps = (voxels[:, 0] - plane) ** 2
        is_open = (squared_steps < squared) & (squared >= lower_bound)
        open_voxels = np.flatnonzero(is_open)
        rows, columns = voxels[open_voxels, 1:].T
        lowest = at_least[ring[rows, columns]] + squared_steps[open_voxels]
        may_be_lower = lowest < squared[open_voxels]
        if not may_be_lower.any():
            continue
        open_voxels = open_voxels[may_be_lower]
        rows = rows[may_be_lower]
        columns = columns[may_be_lower]
        # Edges beyond the margin cannot lower any bound.
        margin = math.isqrt(int(squared[open_voxels].max())) + 1
        row_extent = slice(int(rows.min()), int(rows.max()) + 1)
        column_extent = slice(int(columns.min()), int(columns.max()) + 1)
        near = grow_window((row_extent, column_extent), margin, ring.shape)
        top, left = window_start(near)
        distances = squared_distance(ring[near] > 0)
        in_plane = distances[rows - top, columns - left]
        through_plane = in_plane + squared_steps[open_voxels]
        squared[open_voxels] = np.minimum(squared[open_voxels], through_plane)


def _reach(rings: NDArray[np.uint8], plane: int) -> int:
    """Return the squared distance from slice `plane` to the nearer end of the crop."""
    to_first = plane + 1
    to_last = len(rings) - plane
    return min(to_first, to_last) ** 2
