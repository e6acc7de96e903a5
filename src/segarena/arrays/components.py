"""Connected components of masks. Where nothing else is said, pixels whose corners touch are connected.

That is 8-connected in an image and 26-connected in a volume.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.balls import ball
from segarena.arrays.boxes import Window, bounding_window
from segarena.arrays.runs import Runs, drawn, runs_of, touching
from segarena.samples import Mask

Ties: TypeAlias = Literal["first", "last"]
"""Which of several equally large components is taken: that whose first pixel in raster order comes first, or last."""

Connectivity: TypeAlias = Literal[6, 18, 26]
"""Of voxels: across faces, edges too, corners too."""

_SHARED_COORDINATES: dict[Connectivity, int] = {6: 1, 18: 2, 26: 3}  # SciPy counts axes that may differ
# Runs take time and memory each: where there is more than one to so many voxels of a large mask, labels take less.
_VOXELS_PER_RUN = 64
_LARGE = 1 << 20


class Component(NamedTuple):
    """A component, cropped: `mask` is what lies in `window` of the whole array."""

    window: Window
    mask: Mask


def component_labels(mask: Mask) -> NDArray[np.int32]:
    """Return the 8-connected components of an image as labels 1..N, 0 outside `mask`; the order is OpenCV's.

    >>> component_labels(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]], bool))
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 0],
           [2, 2, 2]], dtype=int32)

    Args:
        mask: bool (H, W).
    """
    return np.asarray(cv2.connectedComponents(mask.view(np.uint8), connectivity=8)[1], dtype=np.int32)


def grown_components(
    mask: Mask, *, connectivity: Connectivity = 26, dilation_voxels: int = 0
) -> NDArray[np.integer[Any]]:
    """Return labels 1..N of a volume's components, parts that lie close together counting as one.

    >>> parts = np.zeros((1, 1, 7), bool)
    >>> parts[0, 0, [0, 2, 6]] = True
    >>> grown_components(parts)[0, 0].tolist()
    [1, 0, 2, 0, 0, 0, 3]
    >>> grown_components(parts, dilation_voxels=1)[0, 0].tolist()
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

    grown = ndimage.binary_dilation(mask, ball(dilation_voxels)) if dilation_voxels else mask
    structure = ndimage.generate_binary_structure(3, _SHARED_COORDINATES[connectivity])
    return np.where(mask, np.asarray(ndimage.label(grown, structure)[0]), 0)


def largest_component(mask: Mask, *, ties: Ties = "last") -> Component | None:
    """Return the component with the most pixels; None when `mask` is empty.

    >>> largest_component(np.array([[1, 0, 1], [0, 0, 1]], bool)).window
    (slice(0, 2, None), slice(2, 3, None))

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


def _largest_in_volume(mask: Mask, ties: Ties) -> Component | None:
    runs = runs_of(mask, most=mask.size // _VOXELS_PER_RUN if mask.size > _LARGE else mask.size)
    if runs is None:
        return _largest_by_labels(mask, ties)
    if not len(runs.starts):
        return None
    labels = touching(runs, mask.shape)
    sizes = np.bincount(labels, weights=runs.stops - runs.starts)
    firsts = np.zeros(len(sizes), dtype=np.int64)
    firsts[labels[::-1]] = np.arange(len(labels))[::-1]
    largest = np.flatnonzero(sizes == sizes.max())
    order = firsts[largest]
    label = largest[order.argmin() if ties == "first" else order.argmax()]
    return Component(*drawn(Runs(*(values[labels == label] for values in runs))))


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
