"""Who occludes whom: the graph of a scene, its connected components, and how many layers deep each is.

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
    """Regions joined by occlusion: how many, and how many lie behind one another at most."""

    regions: int
    layers: int


def occlusion_graph(overlap_px: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return who lies in front of whom, bool (N, N): entry (i, j) when i comes before j and they share a pixel.

    Args:
        overlap_px: (N, N), shared pixels of the full extents, front first. Borders that only touch share none.
    """
    return np.triu(overlap_px > 0, 1)


def occlusion_components(graph: NDArray[np.bool_]) -> list[OcclusionGroup]:
    """Return the weakly connected components, in the order of their front regions; a region alone is one of one layer.

    Layers are the regions on the longest path from front to back.
    """
    if not len(graph):
        return []
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    belongs = connected_components(csr_array(graph.astype(np.int8)), directed=False)[1]
    layers = depth_layers(graph)
    order = dict.fromkeys(belongs.tolist())
    return [
        OcclusionGroup(int((belongs == k).sum()), int(layers[belongs == k].max())) for k in order
    ]


def depth_layers(graph: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the layer of each region: 1 for those in front, else one more than the deepest in front of it."""
    layers = np.ones(len(graph), dtype=np.int64)
    for region in range(len(graph)):
        layers[region] += int(layers[graph[:, region]].max(initial=0))
    return layers


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerGrowth:
    """How layers grow with the size of a component.

    Attributes:
        sizes: (regions, mean layers, components), by regions.
        slope: layers per doubling of the regions, by least squares; NaN when all sizes are equal.
        pearson: of layers with the logarithm of the regions; NaN when one of them is constant.
        spearman: rank correlation of layers with regions; NaN likewise.
    """

    sizes: tuple[tuple[int, float, int], ...]
    slope: float
    pearson: float
    spearman: float


def layer_growth(found: Sequence[OcclusionGroup]) -> LayerGrowth:
    """Return how layers grow with size over all components of a set."""
    regions = np.array([component.regions for component in found], dtype=np.float64)
    layers = np.array([component.layers for component in found], dtype=np.float64)
    sizes = tuple(
        (int(size), float(layers[regions == size].mean()), int((regions == size).sum()))
        for size in np.unique(regions)
    )
    if len(sizes) < 2:
        return LayerGrowth(sizes=sizes, slope=math.nan, pearson=math.nan, spearman=math.nan)
    logs = np.log2(regions)
    # The logarithm keeps the ranks, so one table has both coefficients: Pearson above the diagonal, Spearman below.
    together = correlation_table([{"regions": logs, "layers": layers}], absolute=False).values
    slope = float(np.polyfit(logs, layers, 1)[0])
    return LayerGrowth(
        sizes=sizes, slope=slope, pearson=float(together[0, 1]), spearman=float(together[1, 0])
    )
