"""What a set of annotations looks like: how many regions, how much is hidden, what shapes, how deep.

One record per annotation is computed and can be kept; summaries are read from records alone, so that images can be
measured one at a time.

Source: Zhu et al., Semantic Amodal Segmentation, section 3, Figures 6 to 8 and Table 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.systems.scenes.measures.drawings import Drawing
from segarena.systems.scenes.measures.reductions import hidden_edges, plain_name
from segarena.systems.scenes.model.depth_graph import (
    LayerGrowth,
    OcclusionGroup,
    layer_growth,
    occlusion_components,
    occlusion_graph,
)
from segarena.systems.scenes.model.rasters import Rasters
from segarena.systems.scenes.model.scene import Scene
from segarena.systems.scenes.model.shape_measures import (
    Estimator,
    ShapeMeasures,
    mask_shape,
    polygon_shape,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRecord:
    """One region in numbers.

    Attributes:
        name: trimmed and in lower case; "" for a region of a label map.
        is_stuff: None if unknown.
        area_px: of the full extent.
        occlusion: share of it that is hidden.
        points: vertices of its polygons; 0 when it has none.
        amodal: convexity and simplicity of the full extent, in pixels.
        modal: of the visible part.
        polygon: of the polygons, exactly; NaN without.
    """

    name: str
    is_stuff: bool | None
    area_px: int
    occlusion: float
    points: int
    amodal: ShapeMeasures
    modal: ShapeMeasures
    polygon: ShapeMeasures


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationRecord:
    """One annotation in numbers.

    Attributes:
        image: its id.
        annotator: who.
        pixels: of the image.
        covered_px: pixels that show a region.
        edge_px: visible edges, one pixel wide.
        hidden_edge_px: edges of regions behind others, see `reductions.hidden_edges`.
        regions: front first.
        components: (regions, layers) of each connected component of the occlusion graph.
    """

    image: str
    annotator: str
    pixels: int
    covered_px: int
    edge_px: int
    hidden_edge_px: int
    regions: tuple[RegionRecord, ...]
    components: tuple[OcclusionGroup, ...]


def measure_annotation(drawing: Drawing, *, estimator: Estimator = "centres") -> AnnotationRecord:
    """Return one annotation in numbers.

    Every value of a label map is a region, and the whole image is covered. Regions of a scene without pixels inside
    the image count as regions, and have no shape.
    """
    scene = drawing.scene
    rasters = drawing.rasters
    pixels = covered = drawing.labels.size
    hidden_edge_px = 0
    depth = list[OcclusionGroup]()
    if scene is None or rasters is None:
        regions = _label_regions(drawing, estimator)
    else:
        covered = int(np.count_nonzero(drawing.labels))
        hidden_edge_px = int(np.count_nonzero(hidden_edges(rasters)))
        regions = _scene_regions(scene, rasters, estimator)
        depth = (
            occlusion_components(occlusion_graph(rasters.overlap_px())) if scene.has_depth else []
        )
    return AnnotationRecord(
        image=drawing.image,
        annotator=drawing.annotator,
        pixels=pixels,
        covered_px=covered,
        edge_px=int(np.count_nonzero(drawing.edges)),
        hidden_edge_px=hidden_edge_px,
        regions=tuple(regions),
        components=tuple(depth),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSummary:
    """A row of Table 1: mean convexity and simplicity over regions, and edge density over annotations."""

    simplicity: float
    convexity: float
    edge_density: float
    regions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsSummary:
    """A set of annotations in numbers; means of nothing are NaN.

    Attributes:
        regions: how many, over all annotations.
        regions_per_annotation: mean.
        points_per_region: mean over regions with polygons.
        covered: mean share of the image that some region covers.
        occluded: share of regions of which something is hidden.
        occlusion: mean hidden share over all regions.
        occlusion_of_occluded: mean over those of which something is hidden.
        occlusions: hidden share of each of those.
        names: how often each name occurs.
        things, stuff: regions said to be such.
        modal: shape of the visible regions, density of the visible edges.
        amodal: shape of the full extents, density of visible and hidden edges.
        polygon: shape of the polygons, exactly; density as amodal.
        components: of the occlusion graphs.
        growth: how layers grow with size.
    """

    images: int
    annotations: int
    regions: int
    regions_per_annotation: float
    points_per_region: float
    covered: float
    occluded: float
    occlusion: float
    occlusion_of_occluded: float
    occlusions: tuple[float, ...]
    names: dict[str, int]
    things: int
    stuff: int
    modal: ShapeSummary
    amodal: ShapeSummary
    polygon: ShapeSummary
    components: tuple[OcclusionGroup, ...]
    growth: LayerGrowth


def summarise_annotations(records: Iterable[AnnotationRecord]) -> StatisticsSummary:
    """Return a set of annotations in numbers; means of nothing are NaN. Every region weighs the same."""
    given = list(records)
    regions = list(chain.from_iterable(record.regions for record in given))
    hidden = [region.occlusion for region in regions if region.occlusion > 0]
    found = tuple(chain.from_iterable(record.components for record in given))
    visible = _mean([record.edge_px / record.pixels for record in given])
    all_edges = _mean(
        [(record.edge_px + record.hidden_edge_px) / record.pixels for record in given]
    )
    names = Counter(region.name for region in regions if region.name)
    return StatisticsSummary(
        images=len({record.image for record in given}),
        annotations=len(given),
        regions=len(regions),
        regions_per_annotation=len(regions) / len(given) if given else math.nan,
        points_per_region=_mean([float(region.points) for region in regions if region.points]),
        covered=_mean([record.covered_px / record.pixels for record in given]),
        occluded=len(hidden) / len(regions) if regions else math.nan,
        occlusion=_mean([region.occlusion for region in regions]),
        occlusion_of_occluded=_mean(hidden),
        occlusions=tuple(hidden),
        names=dict(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
        things=sum(region.is_stuff is False for region in regions),
        stuff=sum(region.is_stuff is True for region in regions),
        modal=_shape([region.modal for region in regions], visible),
        amodal=_shape([region.amodal for region in regions], all_edges),
        polygon=_shape([region.polygon for region in regions], all_edges),
        components=found,
        growth=layer_growth(found),
    )


def _scene_regions(scene: Scene, rasters: Rasters, estimator: Estimator) -> Iterable[RegionRecord]:
    for region, raster in zip(scene.regions, rasters.regions, strict=True):
        polygons = scene.polygons(region)
        amodal = mask_shape(raster.amodal.mask, estimator=estimator)
        is_whole = raster.visible_px == raster.area_px
        yield RegionRecord(
            name=plain_name(region.name),
            is_stuff=region.is_stuff,
            area_px=raster.area_px,
            occlusion=raster.occlusion,
            points=sum(map(len, polygons)),
            amodal=amodal,
            modal=amodal if is_whole else mask_shape(raster.visible.mask, estimator=estimator),
            polygon=polygon_shape(polygons),
        )


def _label_regions(drawing: Drawing, estimator: Estimator) -> Iterable[RegionRecord]:
    nothing = ShapeMeasures(math.nan, math.nan)
    for label in np.unique(drawing.labels):
        mask = drawing.labels == label
        crop = mask[bounding_window(mask)]
        shape = mask_shape(crop, estimator=estimator)
        yield RegionRecord(
            name="",
            is_stuff=None,
            area_px=int(np.count_nonzero(crop)),
            occlusion=0.0,
            points=0,
            amodal=shape,
            modal=shape,
            polygon=nothing,
        )


def _shape(measures: Sequence[ShapeMeasures], edge_density: float) -> ShapeSummary:
    return ShapeSummary(
        simplicity=_mean(
            [measure.simplicity for measure in measures if math.isfinite(measure.simplicity)]
        ),
        convexity=_mean(
            [measure.convexity for measure in measures if math.isfinite(measure.convexity)]
        ),
        edge_density=edge_density,
        regions=len(measures),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
