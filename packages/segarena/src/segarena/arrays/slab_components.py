"""Connected components of a noisy volume, labelled one slab of planes at a time.

In a mask with too many runs for `segarena.arrays.run_components`, labelling voxels takes less time. Slabs bound the
memory: labels of the whole volume would take four bytes a voxel.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import Window, bounding_window
from segarena.arrays.lazy_volume import VolumeMask
from segarena.arrays.run_components import merge_labels
from segarena.samples import Mask

_SLABS = 24

_Labels = NDArray[np.int32]


class SlabLabels(NamedTuple):
    """The components of a volume.

    Attributes:
        slabs: the planes of each slab; the last of one is the first of the next.
        befores: number of labels in all slabs before each one, and at the end in all slabs.
        component_of: the component of each label; labels are numbered by slab, then by their first voxels.
        sizes: voxels of each component.
        firsts: the first label of each component.
    """

    slabs: list[range]
    befores: list[int]
    component_of: _Labels
    sizes: NDArray[Any]
    firsts: _Labels


def label_slabs(mask: VolumeMask) -> SlabLabels:
    """Return the 26-connected components of a volume that is not empty.

    A voxel in a plane that two slabs share gets a label from each; both labels are merged.

    >>> labelled = label_slabs(np.array([[[1, 0, 1]], [[0, 1, 0]], [[0, 0, 0]], [[1, 0, 1]]], bool))
    >>> labelled.sizes.tolist(), labelled.component_of.tolist()
    ([3.0, 1.0, 1.0], [0, 0, 1, 2])
    """
    step = max(1, mask.shape[0] // _SLABS)
    starts = range(0, max(1, mask.shape[0] - 1), step)
    slabs = [range(first, min(first + step + 1, mask.shape[0])) for first in starts]
    sizes: list[_Labels] = []
    pairs = [np.zeros((2, 0), dtype=np.int32)]
    befores = [0]
    before_last = 0
    for sizes_here, shared in _each(mask, slabs):
        pairs.append(shared + np.array([[before_last], [befores[-1]]], dtype=np.int32))
        before_last = befores[-1]
        befores.append(before_last + len(sizes_here))
        sizes.append(sizes_here)
    ones, others = np.concatenate(pairs, axis=1)
    component_of = merge_labels(ones, others, befores[-1])
    firsts = np.zeros(int(component_of.max()) + 1, dtype=np.int32)
    firsts[component_of[::-1]] = np.arange(len(component_of), dtype=np.int32)[::-1]
    return SlabLabels(
        slabs,
        befores,
        component_of,
        np.bincount(component_of, weights=np.concatenate(sizes)),
        firsts,
    )


def draw_component(mask: VolumeMask, labelled: SlabLabels, component: int) -> tuple[Window, Mask]:
    """Rasterize a component into the smallest window that holds it; its slabs are labelled again.

    >>> mask = np.array([[[1, 0, 1]], [[0, 1, 0]], [[0, 0, 0]], [[1, 0, 1]]], bool)
    >>> draw_component(mask, label_slabs(mask), 1)
    ((slice(3, 4, None), slice(0, 1, None), slice(0, 1, None)), array([[[ True]]]))
    """
    drawn = np.zeros(mask.shape, dtype=np.bool_)
    for slab, (first, stop) in zip(labelled.slabs, pairwise(labelled.befores), strict=True):
        is_in = labelled.component_of[first:stop] == component
        if not is_in.any():
            continue
        labels, _ = _labels(mask, slab)
        is_in_by_label = np.concatenate(([False], is_in))  # label 0 is the background
        drawn[slab.start : slab.stop] = is_in_by_label[labels]
    window = bounding_window(drawn)
    return window, drawn[window]


def _each(mask: VolumeMask, slabs: list[range]) -> Iterator[tuple[_Labels, _Labels]]:
    """Yield for each slab the voxels of each label, and the pairs of labels that meet in the shared plane.

    Voxels in the plane shared with the slab before are not counted again. Pairs, (2, n), are a label of the slab before
    and one of this slab, both from 0; a pair may occur several times.
    """
    before = np.zeros(mask.shape[1:], dtype=np.int32)
    for slab in slabs:
        labels, count = _labels(mask, slab)
        sizes = np.zeros(count + 1, dtype=np.int32)
        first_own_plane = 1 if slab.start > 0 else 0
        for plane in labels[first_own_plane:]:
            in_plane = np.bincount(plane.ravel())
            sizes[: len(in_plane)] += in_plane
        pairs = np.stack([before, labels[0]])[:, before > 0] - 1
        # Neighbouring pixels mostly repeat a pair.
        differs = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
        is_new = np.append(True, differs)[: pairs.shape[1]]
        yield sizes[1:], pairs[:, is_new]
        before = labels[-1].copy()


def _labels(mask: VolumeMask, slab: range) -> tuple[_Labels, int]:
    """Return the 26-connected components of a slab as labels 1..N, and N."""
    from scipy.ndimage import label

    labels = np.empty((len(slab), *mask.shape[1:]), dtype=np.int32)
    planes = np.stack([mask[plane] for plane in slab])
    count = label(planes, np.ones((3, 3, 3)), output=labels)
    return labels, int(count)
