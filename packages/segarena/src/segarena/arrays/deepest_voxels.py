"""The deepest voxels of a component in a volume, without a distance map of the volume."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import bounding_window, grow_window, is_empty, window_start
from segarena.arrays.distance_transform import squared_distance, squared_distance_in_window
from segarena.samples import Mask

_FARTHEST = 255  # that far or farther within a slice is told apart no more


class DeepestVoxels(NamedTuple):
    """All positions, (n, 3) in raster order, at the greatest squared distance in voxels to what is not in the mask."""

    positions: NDArray[np.int64]
    squared_distance: int


def deepest_voxels(mask: Mask, *, overwrite: bool = False) -> DeepestVoxels | None:
    """Return the voxels of `mask` farthest from everything outside it; None when it is empty.

    They are the maxima of `squared_distance`, the frame's border counting as an edge; spacing does not matter.
    A voxel's distance is the least, over all slices, of the distance in that slice at the voxel's row and column and
    the way to the slice. Distances within slices are kept rounded up to whole pixels, a byte each; few voxels can be
    the deepest by these, and those are measured.

    >>> deepest_voxels(np.ones((3, 3, 4), bool))
    DeepestVoxels(positions=array([[1, 1, 1],
           [1, 1, 2]]), squared_distance=4)

    Args:
        mask: bool, (D, H, W).
        overwrite: the memory of `mask` is used, and what it holds is lost.
    """
    window = bounding_window(mask)
    if is_empty(window):
        return None
    rings = _rings(mask[window], overwrite=overwrite)
    voxels, squared, depth = _promising(rings)
    _measure(rings, voxels, squared, depth)
    deepest = int(squared.max())
    positions = voxels[squared == deepest] + np.array(window_start(window), dtype=np.int64)
    return DeepestVoxels(positions, deepest)


def _rings(crop: Mask, *, overwrite: bool) -> NDArray[np.uint8]:
    """Return distances within each slice, rounded up; 0 outside the mask."""
    rings = crop.view(np.uint8) if overwrite else crop.astype(np.uint8)
    for ring, plane in zip(rings, crop, strict=True):
        window, squared = squared_distance_in_window(plane)
        ring[window] = np.minimum(np.ceil(np.sqrt(squared)), _FARTHEST)
    return rings


def _promising(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the voxels that can be deepest, (n, 3) in raster order, their highest squared distances, and one below.

    The third is a squared distance that one of them has at least.
    """
    at_least, at_most = _bounds(rings)
    tops = [int(plane.max()) for plane in rings]
    depth = 0
    for plane in sorted(range(len(rings)), key=lambda plane: -tops[plane]):
        pixel = np.stack(np.unravel_index([rings[plane].argmax()], rings[plane].shape))
        depth = max(depth, int(_depths(rings, at_least, plane, pixel, depth)[0]))
    voxels: list[NDArray[np.int64]] = []
    squared: list[NDArray[np.int64]] = []
    for plane, top in enumerate(tops):
        if min(at_most[top], _reach(rings, plane)) >= depth:
            pixels = np.stack(np.nonzero(rings[plane] >= np.searchsorted(at_most, depth)))
            depths = _depths(rings, at_most, plane, pixels, depth)
            rows, columns = pixels[:, depths >= depth]
            voxels.append(np.stack([np.full_like(rows, plane), rows, columns], axis=1))
            squared.append(depths[depths >= depth])
    return np.concatenate(voxels), np.concatenate(squared), depth


def _bounds(rings: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the squared distances that each distance rounded up stands for: the lowest, and the highest."""
    ring = np.arange(_FARTHEST + 1, dtype=np.int64)
    at_least = np.where(ring, (ring - 1) ** 2 + 1, 0)
    at_most = ring**2
    at_most[_FARTHEST] = (
        max(_FARTHEST, len(rings)) ** 2
    )  # from the ends of the crop no voxel is farther
    return at_least, at_most


def _depths(
    rings: NDArray[np.uint8],
    squared: NDArray[np.int64],
    plane: int,
    pixels: NDArray[np.int64],
    depth: int,
) -> NDArray[np.int64]:
    """Return squared distances in the volume of pixels (2, n) of a slice, for those of rings; 0 if below `depth`."""
    depths = np.minimum(squared[rings[plane][tuple(pixels)]], _reach(rings, plane))
    kept = np.flatnonzero(depths >= depth)
    step = 1
    while len(kept) and step * step < depths[kept].max():
        at = tuple(pixels[:, kept])
        for other in (plane - step, plane + step):
            if 0 <= other < len(rings):
                depths[kept] = np.minimum(depths[kept], squared[rings[other][at]] + step * step)
        kept = kept[depths[kept] >= depth]
        step += 1
    return np.where(depths >= depth, depths, 0)


def _measure(
    rings: NDArray[np.uint8], voxels: NDArray[np.int64], squared: NDArray[np.int64], depth: int
) -> None:
    """Lower the highest squared distances of `voxels` to the true ones, where these are not below `depth`."""
    at_least, _ = _bounds(rings)
    for plane, ring in enumerate(rings):
        ways = (voxels[:, 0] - plane) ** 2
        open_ = np.flatnonzero((ways < squared) & (squared >= depth))
        rows, columns = voxels[open_, 1:].T
        is_open = at_least[ring[rows, columns]] + ways[open_] < squared[open_]
        if is_open.any():
            open_ = open_[is_open]
            rows = rows[is_open]
            columns = columns[is_open]
            # What is farther away than that lowers none of them.
            margin = math.isqrt(int(squared[open_].max())) + 1
            corners = (
                slice(int(rows.min()), int(rows.max()) + 1),
                slice(int(columns.min()), int(columns.max()) + 1),
            )
            near = grow_window(corners, margin, ring.shape)
            top, left = window_start(near)
            within = squared_distance(ring[near] > 0)[rows - top, columns - left]
            squared[open_] = np.minimum(squared[open_], within + ways[open_])


def _reach(rings: NDArray[np.uint8], plane: int) -> int:
    """Return the squared distance from slice `plane` to the nearer end of the crop."""
    return min(plane + 1, len(rings) - plane) ** 2
