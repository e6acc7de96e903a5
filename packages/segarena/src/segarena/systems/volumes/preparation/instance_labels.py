"""Instance label maps computed from lesion masks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.connected_components import Connectivity, label_grown_components
from segarena.systems.volumes.preparation.dataset_case_types import LabelArray
from segarena.systems.volumes.preparation.sitk_images import to_smallest_type


def label_instances(
    mask: NDArray[np.bool_],
    *,
    connectivity: Connectivity = 26,
    dilation: int = 0,
    least_voxels: int = 1,
) -> LabelArray:
    """Label the connected components of a mask 1..N, in the order of their first voxels after dilation.

    Parts that touch after dilation by a ball of `dilation` voxels form one component, but only
    voxels of the mask itself, bool (plane, row, column), are labelled and counted. Components with
    fewer than `least_voxels` voxels are removed.

    Returns:
        Labels in the smallest sufficient unsigned type; all 0 for an empty mask.
    """
    labels = label_grown_components(mask, connectivity=connectivity, dilation_voxels=dilation)
    return renumber_labels(labels, least_voxels=least_voxels)


def renumber_labels(labels: NDArray[np.integer[Any]], *, least_voxels: int = 1) -> LabelArray:
    """Return labels renumbered 1..N without gaps, in the order of the old ids; 0 remains background.

    Ids with fewer than `least_voxels` voxels become background.
    """
    # Plane by plane, to avoid an array of wide integers in the size of the volume.
    sizes = np.zeros(int(labels.max(initial=0)) + 1, dtype=np.int64)
    for plane in labels:
        sizes += np.bincount(plane.ravel(), minlength=len(sizes))
    is_kept = sizes >= max(1, least_voxels)
    is_kept[0] = False  # background
    # The number of kept ids so far is the new id.
    new_ids = np.where(is_kept, np.cumsum(is_kept), 0)
    return to_smallest_type(new_ids)[labels]
