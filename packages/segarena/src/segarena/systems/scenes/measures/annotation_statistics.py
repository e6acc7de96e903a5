"""Statistics of annotations: number of regions, occlusion, shapes and depth layers.

Each annotation gives one record, which can be stored. Summaries need only the records, so images
can be measured one at a time.

Source: Zhu et al., Semantic Amodal Segmentation, section 3, Figures 6 to 8 and Table 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from segarena.arrays.boxes import bounding_window
from segarena.systems.scenes.measures.drawings import Drawing
from segarena.systems.scenes.model.depth_graph import (
    LayerGrowth,
    OcclusionGroup,
    layer_growth,
    occlusion_components,
    occlusion_graph,
)
from segarena.systems.scenes.model.rasters import Rasters
from segarena.systems.scenes.model.reductions import hidden_edges, plain_name
from segarena.systems.scenes.model.scene import Scene
from segarena.systems.scenes.model.shape_measures import (
    Estimator,
    ShapeMeasures,
    mask_shape,
    polygon_shape,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRecord:
    """Measurements of one region.

    Attributes:
        name: name, stripped and in lower case; "" for a region of a label map.
        is_stuff: whether the region is stuff; None if unknown.
        area_px: number of pixels of the full extent.
        occlusion: hidden share of the full extent.
        points: number of vertices of its polygons; 0 without polygons.
        amodal: convexity and simplicity of the full extent, measured on pixels.
        modal: convexity and simplicity of the visible part.
        polygon: exact measures of the polygons; NaN without polygons.
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
    """Measurements of one annotation.

    Attributes:
        image: image id.
        annotator: name of the annotator.
        pixels: number of pixels of the image.
        covered_px: number of pixels that show a region.
        edge_px: number of pixels of visible edges, one pixel wide.
        hidden_edge_px: number of pixels of hidden edges, see `reductions.hidden_edges`.
        regions: measurements of the regions, front first.
        components: (regions, layers) of each connected component of the occlusion graph; empty
            without a depth order.
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
    """Measure one annotation.

    Every value of a label map is a region, so the regions cover the whole image. In a scene,
    regions without pixels inside the image are counted, but have no shape.
    """
    scene = drawing.scene
    rasters = drawing.rasters
    groups: list[OcclusionGroup] = []
    if scene is None or rasters is None:
        covered_px = drawing.labels.size
        hidden_edge_px = 0
        regions = _label_regions(drawing, estimator)
    else:
        covered_px = int(np.count_nonzero(drawing.labels))
        hidden_edge_px = int(np.count_nonzero(hidden_edges(rasters)))
        regions = _scene_regions(scene, rasters, estimator)
        if scene.has_depth:
            groups = occlusion_components(occlusion_graph(rasters.overlap_px()))
    return AnnotationRecord(
        image=drawing.image,
        annotator=drawing.annotator,
        pixels=drawing.labels.size,
        covered_px=covered_px,
        edge_px=int(np.count_nonzero(drawing.edges)),
        hidden_edge_px=hidden_edge_px,
        regions=tuple(regions),
        components=tuple(groups),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeSummary:
    """A row of Table 1: mean convexity and simplicity over regions, and mean edge density over annotations."""

    simplicity: float
    convexity: float
    edge_density: float
    regions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsSummary:
    """Statistics of a set of annotations; a mean without values is NaN.

    Attributes:
        images: number of images.
        annotations: number of annotations.
        regions: number of regions over all annotations.
        regions_per_annotation: mean number of regions.
        points_per_region: mean number of vertices of regions with polygons.
        covered: mean share of the image that regions cover.
        occluded: share of regions that are partly hidden.
        occlusion: mean hidden share over all regions.
        occlusion_of_occluded: mean hidden share over partly hidden regions.
        occlusions: hidden share of each partly hidden region.
        names: frequency of each name.
        things, stuff: number of regions marked as things and as stuff.
        modal: shape of the visible parts, density of the visible edges.
        amodal: shape of the full extents, density of visible and hidden edges.
        polygon: exact shape of the polygons, density as for `amodal`.
        components: components of the occlusion graphs.
        growth: growth of the number of layers with the size of a component.
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
    """Summarize a set of annotations with equal weight for every region; a mean without values is NaN."""
    annotations = list(records)
    regions: list[RegionRecord] = []
    components: list[OcclusionGroup] = []
    images: set[str] = set()
    edge_densities: list[float] = []
    full_densities: list[float] = []
    covered: list[float] = []
    for record in annotations:
        images.add(record.image)
        regions += record.regions
        components += record.components
        edge_densities.append(record.edge_px / record.pixels)
        # The amodal row of Table 1 counts hidden edges too: it has the higher density of the two.
        full_densities.append((record.edge_px + record.hidden_edge_px) / record.pixels)
        covered.append(record.covered_px / record.pixels)
    edge_density = _mean(edge_densities)
    full_density = _mean(full_densities)
    # The paper does not state whether its mean occlusion is over all regions or only over occluded
    # ones, so both are reported.
    hidden = [region.occlusion for region in regions if region.occlusion > 0]
    # Regions stored as masks have no vertices.
    points = [float(region.points) for region in regions if region.points]
    names = Counter(region.name for region in regions if region.name)
    by_frequency = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    count = len(annotations)
    regions_per_annotation = len(regions) / count if count else math.nan
    occluded = len(hidden) / len(regions) if regions else math.nan
    return StatisticsSummary(
        images=len(images),
        annotations=count,
        regions=len(regions),
        regions_per_annotation=regions_per_annotation,
        points_per_region=_mean(points),
        covered=_mean(covered),
        occluded=occluded,
        occlusion=_mean([region.occlusion for region in regions]),
        occlusion_of_occluded=_mean(hidden),
        occlusions=tuple(hidden),
        names=dict(by_frequency),
        things=sum(region.is_stuff is False for region in regions),
        stuff=sum(region.is_stuff is True for region in regions),
        modal=_mean_shape([region.modal for region in regions], edge_density),
        amodal=_mean_shape([region.amodal for region in regions], full_density),
        polygon=_mean_shape([region.polygon for region in regions], full_density),
        components=tuple(components),
        growth=layer_growth(components),
    )


def _scene_regions(
    scene: Scene,
    rasters: Rasters,
    estimator: Estimator,
) -> Iterable[RegionRecord]:
    for region, raster in zip(scene.regions, rasters.regions, strict=True):
        polygons = scene.polygons(region)
        amodal = mask_shape(raster.amodal.mask, estimator=estimator)
        modal = amodal
        if raster.visible_px < raster.area_px:
            modal = mask_shape(raster.visible.mask, estimator=estimator)
        yield RegionRecord(
            name=plain_name(region.name),
            is_stuff=region.is_stuff,
            area_px=raster.area_px,
            occlusion=raster.occlusion,
            points=sum(len(points) for points in polygons),
            amodal=amodal,
            modal=modal,
            polygon=polygon_shape(polygons, has_holes=region.has_holes),
        )


def _mean_shape(measures: Sequence[ShapeMeasures], edge_density: float) -> ShapeSummary:
    simplicity = [measure.simplicity for measure in measures]
    convexity = [measure.convexity for measure in measures]
    return ShapeSummary(
        simplicity=_mean_of_finite(simplicity),
        convexity=_mean_of_finite(convexity),
        edge_density=edge_density,
        regions=len(measures),
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


def _mean_of_finite(values: Sequence[float]) -> float:
    """Return the mean of the values that are not NaN; NaN marks undefined shapes."""
    finite = [value for value in values if math.isfinite(value)]
    return _mean(finite)


def _mean(values: Sequence[float]) -> float:
    if not values:
        return math.nan
    return math.fsum(values) / len(values)
