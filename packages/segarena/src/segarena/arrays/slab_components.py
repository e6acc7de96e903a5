"""Connected components of a noisy volume, labelled one slab of planes at a time.

For a mask with too many runs for `segarena.arrays.run_components`, labelling voxels is faster.
Slabs bound the memory, because labels of the whole volume would take four bytes per voxel.
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

# Labels then take a sixth of a byte per voxel of the volume; more slabs would share more planes,
# which are labelled twice.
_SLABS = 24

_Labels = NDArray[np.int32]
_CORNERS = np.ones((3, 3, 3))  # 26 neighbours, in SciPy's form


class SlabLabels(NamedTuple):
    """Components of a volume, found slab by slab.

    Attributes:
        slabs: the planes of each slab; the last plane of a slab is the first of the next.
        befores: number of labels in all slabs before each slab, followed by the number of all labels.
        component_of: the component of each label; labels are numbered by slab, then by their first voxels.
        sizes: number of voxels of each component.
        firsts: the first label of each component.
    """

    slabs: list[range]
    befores: list[int]
    component_of: _Labels
    sizes: NDArray[Any]
    firsts: _Labels


def label_slabs(mask: VolumeMask) -> SlabLabels:
    """Label the 26-connected components of a non-empty volume.

    A voxel in a plane that two slabs share gets a label from each slab; the two labels are merged.

    >>> labelled = label_slabs(np.array([[[1, 0, 1]], [[0, 1, 0]], [[0, 0, 0]], [[1, 0, 1]]], bool))
    >>> labelled.sizes.tolist(), labelled.component_of.tolist()
    ([3.0, 1.0, 1.0], [0, 0, 1, 2])
    """
    slabs = _slabs(mask.shape[0])
    label_sizes: list[_Labels] = []
    pairs = [np.zeros((2, 0), dtype=np.int32)]
    befores = [0]
    before_previous = 0
    for sizes, shared in _label_each(mask, slabs):
        before_this = befores[-1]
        offsets = np.array([[before_previous], [before_this]], dtype=np.int32)
        pairs.append(shared + offsets)
        befores.append(before_this + len(sizes))
        label_sizes.append(sizes)
        before_previous = before_this
    ones, others = np.concatenate(pairs, axis=1)
    component_of = merge_labels(ones, others, befores[-1])
    component_sizes = np.bincount(component_of, weights=np.concatenate(label_sizes))
    # Assign in reverse order, so that the first label of each component is the one that remains.
    labels = np.arange(len(component_of), dtype=np.int32)
    firsts = np.zeros(len(component_sizes), dtype=np.int32)
    firsts[component_of[::-1]] = labels[::-1]
    return SlabLabels(slabs, befores, component_of, component_sizes, firsts)


def draw_component(
    mask: VolumeMask,
    labelled: SlabLabels,
    component: int,
) -> tuple[Window, Mask]:
    """Rasterize a component into the smallest window that contains it; this labels its slabs again.

    >>> mask = np.array([[[1, 0, 1]], [[0, 1, 0]], [[0, 0, 0]], [[1, 0, 1]]], bool)
    >>> draw_component(mask, label_slabs(mask), 1)
    ((slice(3, 4, None), slice(0, 1, None), slice(0, 1, None)), array([[[ True]]]))
    """
    drawn = np.zeros(mask.shape, dtype=np.bool_)
    label_ranges = pairwise(labelled.befores)
    for slab, (first, stop) in zip(labelled.slabs, label_ranges, strict=True):
        is_in = labelled.component_of[first:stop] == component
        if not is_in.any():
            continue
        labels, _ = _label_slab(mask, slab)
        is_in_by_label = np.concatenate(([False], is_in))  # label 0 is the background
        drawn[slab.start : slab.stop] = is_in_by_label[labels]
    window = bounding_window(drawn)
    return window, drawn[window]


def _slabs(planes: int) -> list[range]:
    """Divide planes into slabs that overlap by one plane, where their labels are matched."""
    step = max(1, planes // _SLABS)
    slabs: list[range] = []
    for first in range(0, max(1, planes - 1), step):
        stop = min(first + step + 1, planes)
        slabs.append(range(first, stop))
    return slabs


def _label_each(mask: VolumeMask, slabs: list[range]) -> Iterator[tuple[_Labels, _Labels]]:
    """Yield for each slab the voxel count of each label, and the pairs of labels that meet in the shared plane.

    Voxels in the plane shared with the previous slab are not counted again. Pairs, (2, n), join a
    label of the previous slab and a label of this slab, both counted from 0; a pair may occur
    several times.
    """
    before = np.zeros(mask.shape[1:], dtype=np.int32)
    for slab in slabs:
        labels, count = _label_slab(mask, slab)
        sizes = np.zeros(count + 1, dtype=np.int32)
        first_own_plane = 1 if slab.start > 0 else 0
        for plane in labels[first_own_plane:]:
            sizes_in_plane = np.bincount(plane.ravel())
            sizes[: len(sizes_in_plane)] += sizes_in_plane
        both_labels = np.stack([before, labels[0]])
        pairs = both_labels[:, before > 0] - 1
        # Neighbouring pixels mostly repeat the same pair.
        differs = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
        is_new = np.append(True, differs)[: pairs.shape[1]]
        yield sizes[1:], pairs[:, is_new]
        before = labels[-1].copy()


def _label_slab(mask: VolumeMask, slab: range) -> tuple[_Labels, int]:
    """Label the 26-connected components of a slab 1..N; return the labels and N."""
    from scipy.ndimage import label

    planes = np.stack([mask[plane] for plane in slab])
    labels = np.empty(planes.shape, dtype=np.int32)
    count = label(planes, _CORNERS, output=labels)
    return labels, int(count)
