"""Connected components of masks; unless stated otherwise 8-connected in an image, 26-connected in a volume."""

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
"""Tie-break among equally large components: the one whose first pixel comes first, or last, in raster order."""

Connectivity: TypeAlias = Literal[6, 18, 26]
"""Neighbours of a voxel: across faces; also edges; also corners."""

# SciPy's name for a connectivity: in how many coordinates neighbours may differ.
_SCIPY_CONNECTIVITY: dict[Connectivity, int] = {6: 1, 18: 2, 26: 3}
# Each run takes time and memory. In a large mask with more than one run to this many voxels, labelling takes less.
_VOXELS_PER_RUN = 64
_LARGE_VOXELS = 1 << 20


class Component(NamedTuple):
    """A component, cropped: `mask` covers `window` of the whole array."""

    window: Window
    mask: Mask


def label_components(mask: Mask) -> NDArray[np.int32]:
    """Label the 8-connected components of an image 1..N in OpenCV's order, 0 outside `mask`.

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
    mask: Mask, *, connectivity: Connectivity = 26, dilation_voxels: int = 0
) -> NDArray[np.integer[Any]]:
    """Label the components of a volume 1..N, joining parts that lie close together.

    >>> parts = np.zeros((1, 1, 7), bool)
    >>> parts[0, 0, [0, 2, 6]] = True
    >>> label_grown_components(parts)[0, 0].tolist()
    [1, 0, 2, 0, 0, 0, 3]
    >>> label_grown_components(parts, dilation_voxels=1)[0, 0].tolist()
    [1, 0, 1, 0, 0, 0, 2]

    Args:
        mask: bool (D, H, W).
        connectivity: which voxels are neighbours.
        dilation_voxels: parts are one component if they touch after dilation by a ball of this radius.

    Returns:
        Labels, 0 outside `mask`, also at voxels that only the dilation added. Components are numbered by the first
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
    """Return the component with the most pixels; None when `mask` is empty.

    >>> largest_component(np.array([[1, 0, 1], [0, 0, 1]], bool)).window
    (slice(0, 2, None), slice(2, 3, None))

    Args:
        mask: bool, (H, W) or (D, H, W); planes of a `LazyVolume` are computed up to three times.
        ties: which of several equally large components to return.

    Returns:
        The component; of a volume in an array of its own. Beyond that at most one byte per voxel is allocated.
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
    # OpenCV's labels are not in raster order; a component's first pixel is the first one in its top row.
    tops = stats[largest, cv2.CC_STAT_TOP]
    first_pixels: list[tuple[int, int]] = []
    for top, label in zip(tops, largest, strict=True):
        first_column = (labels[top] == label).argmax()
        first_pixels.append((int(top), int(first_column)))
    chosen = min(first_pixels) if ties == "first" else max(first_pixels)
    label = int(largest[first_pixels.index(chosen)])
    column, row, width, height = (int(value) for value in stats[label, :4])
    window = (slice(row, row + height), slice(column, column + width))
    return Component(window, labels[window] == label)


def _largest_in_volume(mask: VolumeMask, ties: Ties) -> Component | None:
    size = math.prod(mask.shape)
    max_runs = size // _VOXELS_PER_RUN if size > _LARGE_VOXELS else size
    runs = find_runs(mask, most=max_runs)
    if runs is None:
        labelled = label_slabs(mask)
        chosen = _chosen(labelled.sizes, labelled.firsts, ties)
        return Component(*draw_component(mask, labelled, chosen))
    if not len(runs.starts):
        return None
    labels = label_runs(runs, mask.shape)
    sizes = np.bincount(labels, weights=runs.stops - runs.starts)
    # Assigned backwards, so that the first run of each component is the one that stays.
    first_runs = np.zeros(len(sizes), dtype=np.int32)
    first_runs[labels[::-1]] = np.arange(len(labels), dtype=np.int32)[::-1]
    is_chosen = labels == _chosen(sizes, first_runs, ties)
    return Component(*draw_runs(Runs(*(values[is_chosen] for values in runs))))


def _chosen(sizes: NDArray[Any], firsts: NDArray[np.int32], ties: Ties) -> int:
    """Return the label of the largest component; ties are broken by `firsts`, which grow with raster order."""
    largest = np.flatnonzero(sizes == sizes.max())
    order = firsts[largest]
    pick = order.argmin() if ties == "first" else order.argmax()
    return int(largest[pick])
