"""Connected components of masks. Where nothing else is said, pixels whose corners touch are connected.

That is 8-connected in an image and 26-connected in a volume.
"""

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
"""Which of several equally large components is taken: that whose first pixel in raster order comes first, or last."""

Connectivity: TypeAlias = Literal[6, 18, 26]
"""Of voxels: across faces, edges too, corners too."""

_SHARED_COORDINATES: dict[Connectivity, int] = {
    6: 1,
    18: 2,
    26: 3,
}  # SciPy counts axes that may differ
# Runs take time and memory each: where there is more than one to so many voxels of a large mask, labels take less.
_VOXELS_PER_RUN = 64
_LARGE = 1 << 20


class Component(NamedTuple):
    """A component, cropped: `mask` is what lies in `window` of the whole array."""

    window: Window
    mask: Mask


def label_components(mask: Mask) -> NDArray[np.int32]:
    """Return the 8-connected components of an image as labels 1..N, 0 outside `mask`; the order is OpenCV's.

    >>> label_components(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]], bool))
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 0],
           [2, 2, 2]], dtype=int32)

    Args:
        mask: bool (H, W).
    """
    return np.asarray(
        cv2.connectedComponents(mask.view(np.uint8), connectivity=8)[1], dtype=np.int32
    )


def label_grown_components(
    mask: Mask, *, connectivity: Connectivity = 26, dilation_voxels: int = 0
) -> NDArray[np.integer[Any]]:
    """Return labels 1..N of a volume's components, parts that lie close together counting as one.

    >>> parts = np.zeros((1, 1, 7), bool)
    >>> parts[0, 0, [0, 2, 6]] = True
    >>> label_grown_components(parts)[0, 0].tolist()
    [1, 0, 2, 0, 0, 0, 3]
    >>> label_grown_components(parts, dilation_voxels=1)[0, 0].tolist()
    [1, 0, 1, 0, 0, 0, 2]

    Args:
        mask: bool (D, H, W).
        connectivity: which voxels are neighbours.
        dilation_voxels: parts are one component if they touch once the mask has grown by a ball of this radius.

    Returns:
        0 outside `mask`, grown voxels included. Components are numbered by the first voxels, in raster order, of what
        they have grown to.
    """
    from scipy import ndimage

    if dilation_voxels:
        grown = ndimage.binary_dilation(mask, ball(dilation_voxels))
    else:
        grown = mask
    structure = ndimage.generate_binary_structure(3, _SHARED_COORDINATES[connectivity])
    return np.where(mask, np.asarray(ndimage.label(grown, structure)[0]), 0)


def largest_component(mask: VolumeMask, *, ties: Ties = "last") -> Component | None:
    """Return the component with the most pixels; None when `mask` is empty.

    >>> largest_component(np.array([[1, 0, 1], [0, 0, 1]], bool)).window
    (slice(0, 2, None), slice(2, 3, None))

    Args:
        mask: bool, (H, W) or (D, H, W); planes that are made are made up to three times.
        ties: which of equals.

    Returns:
        The component; of a volume in an array of its own. Beside it at most a byte is taken for each voxel.
    """
    if math.prod(mask.shape) == 0:
        return None
    if isinstance(mask, np.ndarray) and mask.ndim == 2:
        return _largest_in_image(mask, ties)
    return _largest_in_volume(mask, ties)


def _largest_in_image(mask: Mask, ties: Ties) -> Component | None:
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.view(np.uint8), connectivity=8)
    if count == 1:
        return None
    areas = stats[1:, cv2.CC_STAT_AREA]
    largest = 1 + np.flatnonzero(areas == areas.max())
    # Labels are not given in raster order; the first pixel is, row by row, the first one in the component's top row.
    tops = stats[largest, cv2.CC_STAT_TOP]
    firsts = [
        (int(top), int((labels[top] == label).argmax()))
        for top, label in zip(tops, largest, strict=True)
    ]
    label = int(largest[firsts.index(min(firsts) if ties == "first" else max(firsts))])
    column, row, width, height = (int(value) for value in stats[label, :4])
    window = (slice(row, row + height), slice(column, column + width))
    return Component(window, labels[window] == label)


def _largest_in_volume(mask: VolumeMask, ties: Ties) -> Component | None:
    size = math.prod(mask.shape)
    runs = find_runs(mask, most=size // _VOXELS_PER_RUN if size > _LARGE else size)
    if runs is None:
        labelled = label_slabs(mask)
        return Component(
            *draw_component(mask, labelled, _chosen(labelled.sizes, labelled.firsts, ties))
        )
    if not len(runs.starts):
        return None
    labels = label_runs(runs, mask.shape)
    sizes = np.bincount(labels, weights=runs.stops - runs.starts)
    firsts = np.zeros(len(sizes), dtype=np.int32)
    firsts[labels[::-1]] = np.arange(len(labels), dtype=np.int32)[::-1]
    label = _chosen(sizes, firsts, ties)
    return Component(*draw_runs(Runs(*(values[labels == label] for values in runs))))


def _chosen(sizes: NDArray[Any], firsts: NDArray[np.int32], ties: Ties) -> int:
    """Return the number of the largest component, by the sizes of all and what tells which of equals comes first."""
    largest = np.flatnonzero(sizes == sizes.max())
    order = firsts[largest]
    return int(largest[order.argmin() if ties == "first" else order.argmax()])
