"""The deepest voxels of a component in a volume, without a distance map of the volume."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, is_empty, window_start
from segarena.arrays.distance import squared_distance
from segarena.samples import Mask


class DeepestVoxels(NamedTuple):
    """All positions, (n, 3) in raster order, at the greatest squared distance in voxels to what is not in the mask."""

    positions: NDArray[np.int64]
    squared_distance: int


def deepest_voxels(mask: Mask) -> DeepestVoxels | None:
    """Return the voxels of `mask` farthest from everything outside it; None when it is empty.

    They are the maxima of `squared_distance`, the frame's border counting as an edge; spacing does not matter.
    A voxel's distance is the least, over all slices, of the distance in that slice at the voxel's row and column and
    the way to the slice. Only voxels that are deep enough within their own slice are looked at.

    >>> deepest_voxels(np.ones((3, 3, 4), bool))
    DeepestVoxels(positions=array([[1, 1, 1],
           [1, 1, 2]]), squared_distance=4)

    Args:
        mask: bool, (D, H, W).
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    levels = _levels(mask[window])
    tops = [min(int(level.max()), _reach(levels, plane)) for plane, level in enumerate(levels)]
    # One exact value in every slice, at its deepest pixel, is a bound that leaves few candidates anywhere.
    depth = max(int(_depths(levels, plane, np.array([levels[plane].argmax()]))[0]) for plane in range(len(levels)))
    found: list[tuple[int, int]] = []
    for plane, top in enumerate(tops):
        if top < depth:
            continue
        candidates = np.flatnonzero(levels[plane] >= depth)
        depths = _depths(levels, plane, candidates, at_least=depth)
        highest = int(depths.max(initial=0))
        if highest > depth:
            depth, found = highest, []
        if highest == depth:
            found += [(plane, index) for index in candidates[depths == depth].tolist()]
    planes, pixels = np.array(found, dtype=np.int64).T
    rows, columns = np.divmod(pixels, levels.shape[2])
    positions = np.stack([planes, rows, columns], axis=1) + np.array(window_start(window), dtype=np.int64)
    return DeepestVoxels(positions, depth)


def _reach(levels: NDArray[Any], plane: int) -> int:
    """Return the squared distance from slice `plane` to the nearer end of the crop."""
    return min(plane + 1, len(levels) - plane) ** 2


def _levels(crop: Mask) -> NDArray[Any]:
    """Return squared distances within each slice, cut at the most that any voxel of the crop can have."""
    most = ((len(crop) + 1) // 2) ** 2
    levels = np.empty(crop.shape, dtype=np.uint16 if most < 2**16 else np.uint32)
    for level, plane in zip(levels, crop, strict=True):
        level[...] = np.minimum(squared_distance(plane), most)
    return levels


def _depths(levels: NDArray[Any], plane: int, pixels: NDArray[np.int64], *, at_least: int = 0) -> NDArray[np.int64]:
    """Return squared distances in the volume of pixels, by flat index, of slice `plane`; 0 if below `at_least`."""
    depths = np.minimum(levels[plane].ravel()[pixels].astype(np.int64), _reach(levels, plane))
    kept = np.arange(len(pixels))
    step = 1
    while len(kept) and step * step < depths[kept].max():
        for other in (plane - step, plane + step):
            if 0 <= other < len(levels):
                there = levels[other].ravel()[pixels[kept]].astype(np.int64) + step * step
                depths[kept] = np.minimum(depths[kept], there)
        kept = kept[depths[kept] >= at_least]
        step += 1
    return np.where(depths >= at_least, depths, 0)
