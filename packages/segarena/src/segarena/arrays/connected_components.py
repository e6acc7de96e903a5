"""Connected components of masks: 8-connected in images and 26-connected in volumes, unless stated otherwise."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window
from segarena.arrays.lazy_volume import VolumeMask
from segarena.arrays.run_components import Runs, draw_runs, find_runs, label_runs
from segarena.arrays.slab_components import draw_component, label_slabs
from segarena.arrays.structuring_elements import ball
from segarena.samples import Mask

Ties: TypeAlias = Literal["first", "last"]
"""Tie-break between equally large components: the one whose first pixel is first, or last, in raster order."""

Connectivity: TypeAlias = Literal[6, 18, 26]
"""Neighbours of a voxel: 6 across faces, 18 across faces and edges, 26 across corners as well."""

# SciPy describes connectivity by the number of coordinates in which neighbours may differ.
_SCIPY_CONNECTIVITY: dict[Connectivity, int] = {6: 1, 18: 2, 26: 3}
# Each run costs time and memory. For a large mask with more than one run per this many voxels,
# labelling voxels is faster.
_VOXELS_PER_RUN = 64
_LARGE_VOXELS = 1 << 20


class Component(NamedTuple):
    """A connected component, cropped: `mask` covers `window` of the whole array."""

    window: Window
    mask: Mask


def label_components(mask: Mask) -> NDArray[np.int32]:
    """Label the 8-connected components of an image 1..N in OpenCV's order; 0 is outside `mask`.

    >>> label_components(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]], bool))
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 0],
           [2, 2, 2]], dtype=int32)

    Args:
        mask: bool (H, W).
    """
    _, labels = cv2.connectedComponents(mask.view(np.uint8), connectivity=8)
    return np.asarray(labels, dtype=np.int32)


def label_grown_components(
    mask: Mask,
    *,
    connectivity: Connectivity = 26,
    dilation_voxels: int = 0,
) -> NDArray[np.integer[Any]]:
    """Label the components of a volume 1..N; parts that lie close together share a label.

    >>> parts = np.zeros((1, 1, 7), bool)
    >>> parts[0, 0, [0, 2, 6]] = True
    >>> label_grown_components(parts)[0, 0].tolist()
    [1, 0, 2, 0, 0, 0, 3]
    >>> label_grown_components(parts, dilation_voxels=1)[0, 0].tolist()
    [1, 0, 1, 0, 0, 0, 2]

    Args:
        mask: bool (D, H, W).
        connectivity: the neighbourhood of a voxel.
        dilation_voxels: radius of a ball; parts that touch after dilation by it form one component.

    Returns:
        Labels; 0 outside `mask`, including voxels that only the dilation added. Components are numbered by the first
        voxel, in raster order, of their dilations.
    """
    from scipy import ndimage

    if dilation_voxels:
        grown = ndimage.binary_dilation(mask, ball(dilation_voxels))
    else:
        grown = mask
    structure = ndimage.generate_binary_structure(3, _SCIPY_CONNECTIVITY[connectivity])
    labels, _ = ndimage.label(grown, structure)
    return np.where(mask, np.asarray(labels), 0)


def largest_component(mask: VolumeMask, *, ties: Ties = "last") -> Component | None:
    """Return the component with the most pixels; None if `mask` is empty.

    >>> largest_component(np.array([[1, 0, 1], [0, 0, 1]], bool)).window
    (slice(0, 2, None), slice(2, 3, None))

    Args:
        mask: bool, (H, W) or (D, H, W); planes of a `LazyVolume` are computed up to three times.
        ties: the tie-break between equally large components.

    Returns:
        The component; for a volume, in a newly allocated array. Other allocations take at most one byte per voxel.
    """
    if math.prod(mask.shape) == 0:
        return None
    if isinstance(mask, np.ndarray) and mask.ndim == 2:
        return _largest_in_image(mask, ties)
    return _largest_in_volume(mask, ties)


def _largest_in_image(mask: Mask, ties: Ties) -> Component | None:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)
    if count == 1:  # only the background
        return None
    areas = stats[1:, cv2.CC_STAT_AREA]
    largest = 1 + np.flatnonzero(areas == areas.max())
    # OpenCV does not label in raster order; the first pixel of a component is the first one in its
    # top row.
    label_by_first_pixel: dict[tuple[int, int], int] = {}
    for label in largest.tolist():
        top = int(stats[label, cv2.CC_STAT_TOP])
        is_own = labels[top] == label
        first_pixel = (top, int(is_own.argmax()))
        label_by_first_pixel[first_pixel] = label
    chosen_pixel = min(label_by_first_pixel) if ties == "first" else max(label_by_first_pixel)
    chosen = label_by_first_pixel[chosen_pixel]
    column = int(stats[chosen, cv2.CC_STAT_LEFT])
    row = int(stats[chosen, cv2.CC_STAT_TOP])
    width = int(stats[chosen, cv2.CC_STAT_WIDTH])
    height = int(stats[chosen, cv2.CC_STAT_HEIGHT])
    window = (slice(row, row + height), slice(column, column + width))
    return Component(window, labels[window] == chosen)


def _largest_in_volume(mask: VolumeMask, ties: Ties) -> Component | None:
    size = math.prod(mask.shape)
    max_runs = size
    if size > _LARGE_VOXELS:
        max_runs = size // _VOXELS_PER_RUN
    runs = find_runs(mask, most=max_runs)
    if runs is None:
        labelled = label_slabs(mask)
        label = _largest_label(labelled.sizes, labelled.firsts, ties)
        window, drawn = draw_component(mask, labelled, label)
        return Component(window, drawn)
    if not len(runs.starts):
        return None
    labels = label_runs(runs, mask.shape)
    lengths = runs.stops - runs.starts
    sizes = np.bincount(labels, weights=lengths)
    # Assign in reverse order, so that the first run of each component is the one that remains.
    numbers = np.arange(len(labels), dtype=np.int32)
    first_runs = np.zeros(len(sizes), dtype=np.int32)
    first_runs[labels[::-1]] = numbers[::-1]
    is_chosen = labels == _largest_label(sizes, first_runs, ties)
    chosen_runs = Runs(*(values[is_chosen] for values in runs))
    window, drawn = draw_runs(chosen_runs)
    return Component(window, drawn)


def _largest_label(
    sizes: NDArray[Any],
    firsts: NDArray[np.int32],
    ties: Ties,
) -> int:
    """Return the label of the largest component; ties are broken by `firsts`, which increase in raster order."""
    largest = np.flatnonzero(sizes == sizes.max())
    order = firsts[largest]
    pick = order.argmin() if ties == "first" else order.argmax()
    return int(largest[pick])
