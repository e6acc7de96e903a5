"""Quality checks: obvious errors in one annotation. Subjective choices (wording, hidden edges) are not checked.

Checks that need the other annotators of an image are in `segarena.systems.scenes.checks.consensus`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.defects import Defect, Severity
from segarena.systems.scenes.model.double_borders import double_borders
from segarena.systems.scenes.model.polygon_fill import fill_polygon
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.rasters import Rasters, RegionRaster, rasterise
from segarena.systems.scenes.model.scene import Region, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityLimits:
    """Thresholds of the quality checks.

    Attributes:
        least_vertices: fewest vertices of a polygon, as in the original tool.
        least_area_px: smallest full extent of a region, in pixels of the image, as in the paper.
        least_visible: smallest visible share of a region.
        duplicate_iou: two regions with a higher IoU count as one region drawn twice.
        spike_degrees: sharper corners count as spikes.
        longest_mean_side_px: polygons whose sides are longer on average are coarse.
        near_px: largest distance of parallel borders.
        double_border_px: shortest stretch of parallel borders that counts as a border drawn twice.
        filled_concavity: share of a hollow that a region in front fills if the region behind was
            drawn modally.
        stated_difference: largest relative difference of stated areas and occlusion from those of
            the pixels.
        consensus: share of the other annotators who must agree.
        coverage_gap: largest difference of the covered share of the image from the median of the
            others.
    """

    least_vertices: int = 4
    least_area_px: float = 600
    least_visible: float = 0.02
    duplicate_iou: float = 0.9
    spike_degrees: float = 8
    longest_mean_side_px: float = 60
    near_px: float = 3
    double_border_px: float = 20
    filled_concavity: float = 0.5
    stated_difference: float = 0.05
    consensus: float = 0.5
    coverage_gap: float = 0.25


def check_scene(
    scene: Scene, *, limits: QualityLimits | None = None, rasters: Rasters | None = None
) -> list[Defect]:
    """Return the defects of one annotation, regions in depth order.

    `rasters` are those of the scene if already computed.
    """
    limits = limits or QualityLimits()
    if not scene.regions:
        return [scene.defect("empty", "expected regions, found none; annotate the image")]
    found: list[Defect] = []
    for region in scene.regions:
        found += _region_defects(scene, region, limits)
    found += _contradicted_pairs(scene)
    try:
        rasters = rasters or rasterise(scene)
    except InvalidMask as error:
        return [*found, scene.defect("mask", str(error))]
    for region, raster in zip(scene.regions, rasters.regions, strict=True):
        found += _extent_defects(scene, region, raster, limits)
    if scene.has_depth:
        found += _hidden_regions(scene, rasters, limits)
    found += _duplicates(scene, rasters, limits)
    if scene.has_depth:
        found += _modal_regions(scene, rasters, limits)
    found += _double_borders(scene, limits)
    return found


def _region_defects(scene: Scene, region: Region, limits: QualityLimits) -> Iterator[Defect]:
    if not region.name.strip():
        first_ring = region.rings[0] if region.rings else ()
        position = scene.vertices[first_ring[0]] if first_ring else None
        message = "expected a name, found none; name the region"
        yield scene.defect("unnamed", message, region, place=position)
    if not region.rings and region.mask is None and region.visible_mask is None:
        message = "expected a polygon or a mask, found none; draw the region"
        yield scene.defect("no-outline", message, region)
    for points in scene.polygons(region):
        yield from _polygon_defects(scene, region, points, limits)


def _polygon_defects(
    scene: Scene, region: Region, points: Points, limits: QualityLimits
) -> Iterator[Defect]:
    distinct = polygons.without_repeats(points)
    position = _as_position(points[0]) if len(points) else None
    if len(distinct) < len(points):
        repeated = points[(points == np.roll(points, -1, axis=0)).all(axis=1)]
        message = f"expected distinct vertices, got {len(points) - len(distinct)} repeated"
        first = _as_position(repeated[0])
        yield scene.defect("repeated-vertex", message, region, severity="warning", place=first)
    if len(distinct) < 3 or len(polygons.convex_hull(distinct)) < 3:
        message = (
            f"expected a polygon with an area, got {len(distinct)} distinct vertices without; "
            "draw it again"
        )
        yield scene.defect("degenerate", message, region, place=position)
        return
    if len(distinct) < limits.least_vertices:
        message = (
            f"expected at least {limits.least_vertices} vertices, got {len(distinct)}; "
            "draw it in more detail"
        )
        yield scene.defect("few-vertices", message, region, place=position)
    is_outside = ((points < 0) | (points > scene.shape)).any(axis=1)
    if is_outside.any():
        message = (
            f"expected vertices inside the image, got {int(is_outside.sum())} outside; "
            "move them to its border"
        )
        first = _as_position(points[is_outside][0])
        yield scene.defect("outside", message, region, place=first)
    crossed = polygons.crossings(distinct)
    if crossed:
        places = "1 place" if len(crossed) == 1 else f"{len(crossed)} places"
        message = (
            f"expected an outline that does not meet itself, got one that does at {places}; "
            "draw it again here"
        )
        first = (crossed[0].row, crossed[0].column)
        yield scene.defect("self-intersection", message, region, place=first)
    yield from _shape_defects(scene, region, distinct, limits)


def _shape_defects(
    scene: Scene, region: Region, points: Points, limits: QualityLimits
) -> Iterator[Defect]:
    """Yield spikes, and outlines with too few vertices for their length."""
    ahead = np.roll(points, -1, axis=0) - points
    behind = np.roll(points, 1, axis=0) - points
    lengths = np.hypot(ahead[:, 0], ahead[:, 1])
    lengths_behind = np.hypot(behind[:, 0], behind[:, 1])
    cosines = (ahead * behind).sum(axis=1) / (lengths * lengths_behind)
    spikes = np.flatnonzero(cosines > np.cos(np.radians(limits.spike_degrees)))
    if len(spikes):
        message = (
            f"expected corners of more than {limits.spike_degrees:g} degrees, "
            f"got {len(spikes)} sharper ones"
        )
        sharpest = _as_position(points[spikes[0]])
        yield scene.defect("spike", message, region, severity="warning", place=sharpest)
    mean = float(lengths.mean())
    if mean > limits.longest_mean_side_px and len(points) > limits.least_vertices:
        message = (
            f"expected sides of at most {limits.longest_mean_side_px:g} pixels on average, "
            f"got {mean:.0f}; look whether it follows the outline"
        )
        longest = _as_position(points[int(lengths.argmax())])
        yield scene.defect("coarse", message, region, severity="note", place=longest)


def _contradicted_pairs(scene: Scene) -> Iterator[Defect]:
    """Yield stated pairs that contradict the depth order."""
    for front_id, behind_id in scene.stated_pairs or ():
        if scene.place(front_id) < scene.place(behind_id):
            continue
        message = (
            f"expected region {front_id} in front of region {behind_id}, as the file states, "
            "got the other order"
        )
        yield scene.defect("pairs", message, scene.region(front_id), scene.region(behind_id))


def _extent_defects(
    scene: Scene, region: Region, raster: RegionRaster, limits: QualityLimits
) -> Iterator[Defect]:
    """Yield small regions, and stated numbers that differ from those of the pixels."""
    area_px = raster.area_px
    centre = region_centre(raster)
    if 0 < area_px < limits.least_area_px:
        message = (
            f"expected at least {limits.least_area_px:g} pixels, got {area_px}; "
            "regions this small are not annotated"
        )
        yield scene.defect("small", message, region, place=centre)
    stated_px = region.stated_area_px
    if stated_px is not None:
        # COCO states the visible area if it states masks of objects, so both are right.
        difference_px = min(abs(stated_px - area_px), abs(stated_px - raster.visible_px))
        if difference_px > limits.stated_difference * max(stated_px, area_px, 1):
            message = (
                f"expected the stated area of {stated_px:g} pixels, got {area_px}; export it again"
            )
            yield scene.defect("stated-area", message, region, severity="warning", place=centre)
    stated = region.stated_occlusion
    if stated is not None and abs(stated - raster.occlusion) > limits.stated_difference:
        message = (
            f"expected the stated occlusion of {stated:.2f}, "
            f"got {raster.occlusion:.2f} from the pixels"
        )
        yield scene.defect("stated-occlusion", message, region, severity="warning", place=centre)


def _first_holder(scene: Scene, depth: int) -> Region | None:
    """Return the frontmost region before index `depth` that contains the region there; None if none does."""
    region = scene.regions[depth]
    for front in scene.regions[:depth]:
        if _contains(scene, front, region):
            return front
    return None


def _hidden_regions(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    """Yield regions that are contained in one in front, or of which almost nothing is visible."""
    for depth, (region, raster) in enumerate(zip(scene.regions, rasters.regions, strict=True)):
        if not raster.area_px:
            continue
        holder = _first_holder(scene, depth)
        if holder is not None:
            message = (
                f"expected it in front of region {holder.id}, which contains it and hides it; "
                "check the order"
            )
            centre = region_centre(raster)
            yield scene.defect("contained", message, holder, region, place=centre)
        elif raster.visible_px <= limits.least_visible * raster.area_px:
            severity: Severity = "warning" if raster.visible_px else "error"
            message = (
                f"expected more of it to be seen, got {raster.visible_px} of {raster.area_px} pixels; "
                "check the order"
            )
            centre = region_centre(raster)
            yield scene.defect("hidden", message, region, severity=severity, place=centre)


def _contains(scene: Scene, front: Region, region: Region) -> bool:
    """Return whether a polygon in front contains all vertices of a region (rule of the original tool)."""
    inner = scene.polygons(region)
    if not inner:
        return False
    for outer in scene.polygons(front):
        # Bounding boxes first: most polygons are far from each other.
        if not _box_contains(outer, inner):
            continue
        if all(polygons.contains_points(outer, points).all() for points in inner):
            return True
    return False


def _box_contains(outer: Points, inner: Iterable[Points]) -> bool:
    if len(outer) < 3:
        return False
    low = outer.min(axis=0)
    high = outer.max(axis=0)
    for points in inner:
        if not len(points):
            return False
        if (points < low).any() or (points > high).any():
            return False
    return True


def _duplicates(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    shared = rasters.overlap_px()
    areas = np.diag(shared)
    union = areas[:, None] + areas[None] - shared
    is_duplicate = np.triu(shared > limits.duplicate_iou * union, 1)
    for one, other in np.argwhere(is_duplicate).tolist():
        iou = shared[one, other] / union[one, other]
        message = f"expected one region, got two of IoU {iou:.2f}; delete one"
        centre = region_centre(rasters.regions[one])
        regions = (scene.regions[one], scene.regions[other])
        yield scene.defect("duplicate", message, *regions, place=centre)


def _modal_regions(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    """Yield regions that were drawn around a region in front instead of behind it.

    Such a region has a hollow, compared with its convex hull, that the region in front fills
    without an overlap.
    """
    for depth, (region, raster) in enumerate(zip(scene.regions, rasters.regions, strict=True)):
        rings = scene.polygons(region)
        if len(rings) != 1 or depth == 0:
            continue
        hollow = fill_polygon(polygons.convex_hull(rings[0]), scene.shape).full(scene.shape)
        hollow[raster.amodal.window] &= ~raster.amodal.mask
        hollow_px = int(hollow.sum())
        if hollow_px < limits.least_visible * raster.area_px:
            continue
        extent = raster.amodal.full(scene.shape)
        for front, other in zip(scene.regions[:depth], rasters.regions[:depth], strict=True):
            window, mask = other.amodal
            filled_px = int((hollow[window] & mask).sum())
            overlap_px = int((extent[window] & mask).sum())
            if filled_px <= limits.filled_concavity * hollow_px:
                continue
            if overlap_px >= _INACCURATE_OVERLAP * filled_px:
                continue
            message = (
                f"expected it to go on behind region {front.id}, which fills its hollow and does not overlap it; "
                "draw its full extent"
            )
            centre = region_centre(other)
            yield scene.defect("modal", message, region, front, severity="warning", place=centre)


def _double_borders(scene: Scene, limits: QualityLimits) -> Iterator[Defect]:
    found = double_borders(scene, near_px=limits.near_px, least_px=limits.double_border_px)
    for one, other, length_px, middle in found:
        message = (
            f"expected a shared border, got two that run together for {length_px:.0f} pixels; "
            "share the vertices"
        )
        regions = (scene.region(one), scene.region(other))
        yield scene.defect("double-border", message, *regions, severity="warning", place=middle)


def region_centre(raster: RegionRaster) -> tuple[float, float] | None:
    """Return the pixel centre of a region nearest to its centroid, (row, column); None without pixels."""
    rows, columns = np.nonzero(raster.amodal.mask)
    if not len(rows):
        return None
    squared_distance = (rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2
    nearest = int(squared_distance.argmin())
    row_window, column_window = raster.amodal.window
    row = float(rows[nearest] + row_window.start) + 0.5
    column = float(columns[nearest] + column_window.start) + 0.5
    return row, column


def _as_position(point: NDArray[Any]) -> tuple[float, float]:
    return float(point[0]), float(point[1])


# A region in front that overlaps this little of the hollow it fills only touches it inaccurately.
_INACCURATE_OVERLAP = 0.05
