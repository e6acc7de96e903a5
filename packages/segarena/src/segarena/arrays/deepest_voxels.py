"""The deepest voxels of a component in a volume, without a distance map of the volume."""

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
    """All positions, (n, 3) in raster order, at the greatest squared distance in voxels to the mask's outside."""

    positions: NDArray[np.int64]
    squared_distance: int


def deepest_voxels(mask: Mask, *, overwrite: bool = False) -> DeepestVoxels | None:
    """Return the voxels of `mask` farthest from everything outside it; None when it is empty.

    They are the maxima of `squared_distance`, the frame's border counting as an edge; spacing does not matter.
    The squared distance of a voxel is the minimum over all slices of (distance within that slice at the voxel's row
    and column)^2 + (distance to the slice)^2. Distances within slices are stored in a byte each, rounded up to whole
    pixels; they bound the distance, and only the few voxels that can be the deepest are measured exactly.

    >>> deepest_voxels(np.ones((3, 3, 4), bool))
    DeepestVoxels(positions=array([[1, 1, 1],
           [1, 1, 2]]), squared_distance=4)

    Args:
        mask: bool, (D, H, W).
        overwrite: reuse the memory of `mask`, whose content is lost.
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    rings = _rings(mask[window], overwrite=overwrite)
    voxels, squared, lower_bound = _candidates(rings)
    _measure(rings, voxels, squared, lower_bound)
    deepest = int(squared.max())
    positions = voxels[squared == deepest] + np.array(window_start(window), dtype=np.int64)
    return DeepestVoxels(positions, deepest)


def _rings(crop: Mask, *, overwrite: bool) -> NDArray[np.uint8]:
    """Return distances within each slice, rounded up to whole pixels; 0 outside the mask."""
    rings = crop.view(np.uint8) if overwrite else crop.astype(np.uint8)
    for ring, plane in zip(rings, crop, strict=True):
        window, squared = squared_distance_in_window(plane)
        ring[window] = np.minimum(np.ceil(np.sqrt(squared)), _FARTHEST)
    return rings


def _candidates(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the candidates for the deepest voxel.

    Returns:
        their positions, (n, 3) in raster order; upper bounds of their squared distances; and a squared distance that
        at least one of them reaches.
    """
    at_least, at_most = _bounds(rings)
    tops = [int(plane.max()) for plane in rings]
    lower_bound = 0
    # The slices with the largest distances first: they raise the bound most, and a high bound saves work later.
    for plane in sorted(range(len(rings)), key=lambda plane: -tops[plane]):
        deepest_in_plane = np.unravel_index([rings[plane].argmax()], rings[plane].shape)
        depths = _squared_depths(rings, at_least, plane, np.stack(deepest_in_plane), lower_bound)
        lower_bound = max(lower_bound, int(depths[0]))
    voxels: list[NDArray[np.int64]] = []
    squared: list[NDArray[np.int64]] = []
    lowest_ring = np.searchsorted(at_most, lower_bound)
    for plane, top in enumerate(tops):
        if min(at_most[top], _reach(rings, plane)) < lower_bound:
            continue
        pixels = np.stack(np.nonzero(rings[plane] >= lowest_ring))
        depths = _squared_depths(rings, at_most, plane, pixels, lower_bound)
        is_candidate = depths >= lower_bound
        rows, columns = pixels[:, is_candidate]
        voxels.append(np.stack([np.full_like(rows, plane), rows, columns], axis=1))
        squared.append(depths[is_candidate])
    return np.concatenate(voxels), np.concatenate(squared), lower_bound


def _bounds(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lowest and the highest squared distance that each rounded distance can stand for."""
    ring = np.arange(_FARTHEST + 1, dtype=np.int64)
    at_least = np.where(ring, (ring - 1) ** 2 + 1, 0)
    at_most = ring**2
    # The last ring has no upper limit of its own; no voxel is farther from the crop's ends than it has slices.
    at_most[_FARTHEST] = max(_FARTHEST, len(rings)) ** 2
    return at_least, at_most


def _squared_depths(
    rings: NDArray[np.uint8],
    squared: NDArray[np.int64],
    plane: int,
    pixels: NDArray[np.int64],
    lower_bound: int,
) -> NDArray[np.int64]:
    """Return squared distances in the volume of pixels (2, n) of a slice; 0 where they are below `lower_bound`.

    Args:
        rings: rounded distances within slices.
        squared: the squared distance that each rounded one stands for.
        plane: index of the slice.
        pixels: rows and columns.
        lower_bound: smallest squared distance of interest.
    """
    depths = np.minimum(squared[rings[plane][tuple(pixels)]], _reach(rings, plane))
    kept = np.flatnonzero(depths >= lower_bound)
    step = 1
    # Visit slices outwards; beyond the largest distance left no slice can lower any of them.
    while len(kept) and step * step < depths[kept].max():
        at = tuple(pixels[:, kept])
        for other in (plane - step, plane + step):
            if 0 <= other < len(rings):
                through_other = squared[rings[other][at]] + step * step
                depths[kept] = np.minimum(depths[kept], through_other)
        kept = kept[depths[kept] >= lower_bound]
        step += 1
    return np.where(depths >= lower_bound, depths, 0)


def _measure(
    rings: NDArray[np.uint8],
    voxels: NDArray[np.int64],
    squared: NDArray[np.int64],
    lower_bound: int,
) -> None:
    """Lower the upper bounds `squared` of `voxels` to the true values, where these are at least `lower_bound`."""
    at_least, _ = _bounds(rings)
    for plane, ring in enumerate(rings):
        steps = (voxels[:, 0] - plane) ** 2
        open_voxels = np.flatnonzero((steps < squared) & (squared >= lower_bound))
        rows, columns = voxels[open_voxels, 1:].T
        may_be_lower = at_least[ring[rows, columns]] + steps[open_voxels] < squared[open_voxels]
        if not may_be_lower.any():
            continue
        open_voxels = open_voxels[may_be_lower]
        rows = rows[may_be_lower]
        columns = columns[may_be_lower]
        # Edges farther away than the margin lower none of them.
        margin = math.isqrt(int(squared[open_voxels].max())) + 1
        extent = (
            slice(int(rows.min()), int(rows.max()) + 1),
            slice(int(columns.min()), int(columns.max()) + 1),
        )
        near = grow_window(extent, margin, ring.shape)
        top, left = window_start(near)
        in_plane = squared_distance(ring[near] > 0)[rows - top, columns - left]
        squared[open_voxels] = np.minimum(squared[open_voxels], in_plane + steps[open_voxels])


def _reach(rings: NDArray[np.uint8], plane: int) -> int:
    """Return the squared distance from slice `plane` to the nearer end of the crop."""
    return min(plane + 1, len(rings) - plane) ** 2
