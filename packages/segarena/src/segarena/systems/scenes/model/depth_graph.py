"""Occlusion graphs: components of regions that occlude one another, and their depth layers.

Source: Zhu et al., Semantic Amodal Segmentation, section 3, Figures 7 and 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segarena.statistics.correlations import correlation_table


class OcclusionGroup(NamedTuple):
    """A component of an occlusion graph: the number of its regions, and the number of regions on its longest path."""

    regions: int
    layers: int


def occlusion_graph(overlap_px: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the occlusion graph, bool (N, N): entry (i, j) is true if i is in front of j and they share a pixel.

    Args:
        overlap_px: (N, N), number of pixels shared by the full extents, front first. Regions that
            only touch share no pixels.
    """
    # The paper does not state whether touching borders count, so a shared pixel is required.
    return np.triu(overlap_px > 0, 1)


def occlusion_components(graph: NDArray[np.bool_]) -> list[OcclusionGroup]:
    """Return the weakly connected components, ordered by their front regions.

    A single region is a component with one layer. The number of layers is the number of regions on
    the longest path from front to back.
    """
    if not len(graph):
        return []
    # SciPy is slow to import, and most commands do not need it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    component_of = connected_components(csr_array(graph.astype(np.int8)), directed=False)[1]
    layers = depth_layers(graph)
    groups: list[OcclusionGroup] = []
    for component in dict.fromkeys(component_of.tolist()):
        is_member = component_of == component
        groups.append(OcclusionGroup(int(is_member.sum()), int(layers[is_member].max())))
    return groups


def depth_layers(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the layer of each region: 1 at the front, else one more than the deepest region in front of it."""
    layers = np.ones(len(graph), dtype=np.int64)
    for region in range(len(graph)):
        in_front = graph[:, region]
        layers[region] += int(layers[in_front].max(initial=0))
    return layers


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGrowth:
    """Growth of the number of layers with the size of a component.

    Attributes:
        sizes: (regions, mean layers, number of components), sorted by regions.
        slope: layers per doubling of the regions, by least squares; NaN if all sizes are equal.
        pearson: correlation of layers with the logarithm of the regions; NaN if one of them is
            constant.
        spearman: rank correlation of layers with regions; NaN in the same case.
    """

    sizes: tuple[tuple[int, float, int], ...]
    slope: float
    pearson: float
    spearman: float


def layer_growth(found: Sequence[OcclusionGroup]) -> LayerGrowth:
    """Fit the growth of layers with size over all components of a set."""
    regions = np.array([component.regions for component in found], dtype=np.float64)
    layers = np.array([component.layers for component in found], dtype=np.float64)
    sizes: list[tuple[int, float, int]] = []
    for size in np.unique(regions):
        of_size = layers[regions == size]
        sizes.append((int(size), float(of_size.mean()), len(of_size)))
    if len(sizes) < 2:
        return LayerGrowth(
            sizes=tuple(sizes),
            slope=math.nan,
            pearson=math.nan,
            spearman=math.nan,
        )
    logs = np.log2(regions)
    # The table holds Pearson correlations above the diagonal and Spearman correlations below it.
    # The logarithm does not change ranks, so both can be computed from the same columns.
    correlations = correlation_table([{"regions": logs, "layers": layers}], absolute=False).values
    slope = float(np.polyfit(logs, layers, 1)[0])
    return LayerGrowth(
        sizes=tuple(sizes),
        slope=slope,
        pearson=float(correlations[0, 1]),
        spearman=float(correlations[1, 0]),
    )
