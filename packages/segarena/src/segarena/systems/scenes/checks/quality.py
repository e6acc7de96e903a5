"""Obvious errors in one annotation that software can find. What is subjective (wording, hidden edges) is left alone.

What takes the other annotators of an image to see is in `segarena.systems.scenes.checks.consensus`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.defects import Defect, Severity
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.double_borders import double_borders
from segarena.systems.scenes.model.polygon_fill import fill_polygon
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.rasters import Rasters, RegionRaster, rasterise
from segarena.systems.scenes.model.scene import Region, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityLimits:
    """From where on something counts as an error.

    Attributes:
        least_vertices: of a polygon, as in the original tool.
        least_area_px: of a region's full extent, in pixels of the image, as in the paper.
        least_visible: share of a region that should be seen.
        duplicate_iou: two regions above it are taken for one drawn twice.
        spike_degrees: sharper corners are spikes.
        longest_mean_side_px: polygons whose sides are longer on average are coarse.
        near_px: borders closer than this run together.
        double_border_px: how far two borders must run together to be one drawn twice.
        filled_concavity: share of a hollow that a region in front fills when it was drawn modally.
        stated_difference: how far stated areas and occlusion may be from those of the pixels, as a share.
        consensus: share of the other annotators who must agree.
        coverage_gap: how much less of the image may be covered than the others' median.
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
    """Return what is wrong with one annotation, regions in depth order; `rasters` of it where they are at hand."""
    limits = limits or QualityLimits()
    if not scene.regions:
        return [scene.defect("empty", "expected regions, found none; annotate the image")]
    found = list(chain.from_iterable(_drawing(scene, region, limits) for region in scene.regions))
    found += _pairs(scene)
    try:
        rasters = rasters or rasterise(scene)
    except InvalidMask as error:
        return [*found, scene.defect("mask", str(error))]
    for region, raster in zip(scene.regions, rasters.regions, strict=True):
        found += _extent(scene, region, raster, limits)
    found += _visibility(scene, rasters, limits) if scene.has_depth else ()
    found += _duplicates(scene, rasters, limits)
    found += _modal(scene, rasters, limits) if scene.has_depth else ()
    found += _double_borders(scene, limits)
    return found


def _drawing(scene: Scene, region: Region, limits: QualityLimits) -> Iterator[Defect]:
    if not region.name.strip():
        place = scene.vertices[region.rings[0][0]] if region.rings and region.rings[0] else None
        yield scene.defect(
            "unnamed", "expected a name, found none; name the region", region, place=place
        )
    if not region.rings and region.mask is None and region.visible_mask is None:
        yield scene.defect(
            "no-outline", "expected a polygon or a mask, found none; draw the region", region
        )
    for points in scene.polygons(region):
        yield from _polygon(scene, region, points, limits)


def _polygon(
    scene: Scene, region: Region, points: Points, limits: QualityLimits
) -> Iterator[Defect]:
    distinct = polygons.without_repeats(points)
    place = _point(points[0]) if len(points) else None
    if len(distinct) < len(points):
        again = points[(points == np.roll(points, -1, axis=0)).all(axis=1)][0]
        text = f"expected distinct vertices, got {len(points) - len(distinct)} repeated"
        yield scene.defect("repeated-vertex", text, region, severity="warning", place=_point(again))
    if len(distinct) < 3 or len(polygons.convex_hull(distinct)) < 3:
        text = f"expected a polygon with an area, got {len(distinct)} distinct vertices without; draw it again"
        yield scene.defect("degenerate", text, region, place=place)
        return
    if len(distinct) < limits.least_vertices:
        text = f"expected at least {limits.least_vertices} vertices, got {len(distinct)}; draw it in more detail"
        yield scene.defect("few-vertices", text, region, place=place)
    outside = ((points < 0) | (points > scene.shape)).any(axis=1)
    if outside.any():
        text = f"expected vertices inside the image, got {int(outside.sum())} outside; move them to its border"
        yield scene.defect("outside", text, region, place=_point(points[outside][0]))
    crossed = polygons.crossings(distinct)
    if crossed:
        places = "1 place" if len(crossed) == 1 else f"{len(crossed)} places"
        text = f"expected an outline that does not meet itself, got one that does at {places}; draw it again here"
        yield scene.defect(
            "self-intersection", text, region, place=(crossed[0].row, crossed[0].column)
        )
    yield from _shape(scene, region, distinct, limits)


def _shape(scene: Scene, region: Region, points: Points, limits: QualityLimits) -> Iterator[Defect]:
    ahead = np.roll(points, -1, axis=0) - points
    behind = np.roll(points, 1, axis=0) - points
    lengths = np.hypot(*ahead.T)
    cosines = (ahead * behind).sum(axis=1) / (lengths * np.hypot(*behind.T))
    spikes = np.flatnonzero(cosines > np.cos(np.radians(limits.spike_degrees)))
    if len(spikes):
        text = f"expected corners of more than {limits.spike_degrees:g} degrees, got {len(spikes)} sharper ones"
        yield scene.defect(
            "spike", text, region, severity="warning", place=_point(points[spikes[0]])
        )
    mean = float(lengths.mean())
    if mean > limits.longest_mean_side_px and len(points) > limits.least_vertices:
        text = f"expected sides of at most {limits.longest_mean_side_px:g} pixels on average, got {mean:.0f}"
        text += "; look whether it follows the outline"
        yield scene.defect(
            "coarse", text, region, severity="note", place=_point(points[int(lengths.argmax())])
        )


def _pairs(scene: Scene) -> Iterator[Defect]:
    for pair in scene.stated_pairs or ():
        if scene.place(pair[0]) >= scene.place(pair[1]):
            text = f"expected region {pair[0]} in front of region {pair[1]}, as the file states, got the other order"
            yield scene.defect("pairs", text, *map(scene.region, pair))


def _extent(
    scene: Scene, region: Region, raster: RegionRaster, limits: QualityLimits
) -> Iterator[Defect]:
    area = raster.area_px
    place = region_centre(raster)
    if 0 < area < limits.least_area_px:
        text = f"expected at least {limits.least_area_px:g} pixels, got {area}; regions this small are not annotated"
        yield scene.defect("small", text, region, place=place)
    stated = region.stated_area_px
    # COCO states the visible area where it states masks of objects, so both are right.
    known = (area, raster.visible_px)
    if stated is not None and min(abs(stated - n) for n in known) > limits.stated_difference * max(
        stated, area, 1
    ):
        text = f"expected the stated area of {stated:g} pixels, got {area}; export it again"
        yield scene.defect("stated-area", text, region, severity="warning", place=place)
    occlusion = region.stated_occlusion
    if occlusion is not None and abs(occlusion - raster.occlusion) > limits.stated_difference:
        text = f"expected the stated occlusion of {occlusion:.2f}, got {raster.occlusion:.2f} from the pixels"
        yield scene.defect("stated-occlusion", text, region, severity="warning", place=place)


def _visibility(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    for place, (region, raster) in enumerate(zip(scene.regions, rasters.regions, strict=True)):
        if not raster.area_px:
            continue
        holders = [front for front in scene.regions[:place] if _holds(scene, front, region)]
        if holders:
            text = f"expected it in front of region {holders[0].id}, which contains it and hides it; check the order"
            yield scene.defect("contained", text, holders[0], region, place=region_centre(raster))
        elif raster.visible_px <= limits.least_visible * raster.area_px:
            severity: Severity = "warning" if raster.visible_px else "error"
            text = f"expected more of it to be seen, got {raster.visible_px} of {raster.area_px} pixels"
            yield scene.defect(
                "hidden",
                text + "; check the order",
                region,
                severity=severity,
                place=region_centre(raster),
            )


def _holds(scene: Scene, front: Region, region: Region) -> bool:
    """Tell whether a polygon in front holds all vertices of a region, the rule of the original tool."""
    inner = scene.polygons(region)
    if not inner:
        return False
    for outer in scene.polygons(front):
        # Boxes first: most polygons are far from each other.
        if _box_holds(outer, inner) and all(
            polygons.contains_points(outer, points).all() for points in inner
        ):
            return True
    return False


def _box_holds(outer: Points, inner: Iterable[Points]) -> bool:
    if len(outer) < 3:
        return False
    low = outer.min(axis=0)
    high = outer.max(axis=0)
    return all(
        len(points) > 0 and (points >= low).all() and (points <= high).all() for points in inner
    )


def _duplicates(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    shared = rasters.overlap_px()
    areas = np.diag(shared)
    union = areas[:, None] + areas[None] - shared
    for one, other in np.argwhere(np.triu(shared > limits.duplicate_iou * union, 1)):
        text = f"expected one region, got two of IoU {shared[one, other] / union[one, other]:.2f}; delete one"
        yield scene.defect(
            "duplicate",
            text,
            scene.regions[one],
            scene.regions[other],
            place=region_centre(rasters.regions[one]),
        )


def _modal(scene: Scene, rasters: Rasters, limits: QualityLimits) -> Iterator[Defect]:
    """Yield regions with a hollow that a region in front fills without overlap: drawn around it, not behind it."""
    for place, (region, raster) in enumerate(zip(scene.regions, rasters.regions, strict=True)):
        rings = scene.polygons(region)
        if len(rings) != 1 or place == 0:
            continue
        hollow = fill_polygon(polygons.convex_hull(rings[0]), scene.shape).full(scene.shape)
        hollow[raster.amodal.window] &= ~raster.amodal.mask
        hollow_px = int(hollow.sum())
        if hollow_px < limits.least_visible * raster.area_px:
            continue
        for front, other in zip(scene.regions[:place], rasters.regions[:place], strict=True):
            filled = int((hollow[other.amodal.window] & other.amodal.mask).sum())
            overlap = int(
                (raster.amodal.full(scene.shape)[other.amodal.window] & other.amodal.mask).sum()
            )
            # A few shared pixels are inaccuracy; an overlap would mean that it was drawn behind.
            if filled > limits.filled_concavity * hollow_px and overlap < 0.05 * filled:
                text = f"expected it to go on behind region {front.id}, which fills its hollow and does not overlap it"
                yield scene.defect(
                    "modal",
                    text + "; draw its full extent",
                    region,
                    front,
                    severity="warning",
                    place=region_centre(other),
                )


def _double_borders(scene: Scene, limits: QualityLimits) -> Iterator[Defect]:
    found = double_borders(scene, near_px=limits.near_px, least_px=limits.double_border_px)
    for one, other, length_px, place in found:
        text = f"expected a shared border, got two that run together for {length_px:.0f} pixels; share the vertices"
        yield scene.defect(
            "double-border",
            text,
            scene.region(one),
            scene.region(other),
            severity="warning",
            place=place,
        )


def region_centre(raster: RegionRaster) -> tuple[float, float] | None:
    """Return the pixel centre of a region that is nearest to its centroid; None without pixels."""
    rows, columns = np.nonzero(raster.amodal.mask)
    if not len(rows):
        return None
    nearest = int(((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2).argmin())
    top = raster.amodal.window[0].start
    left = raster.amodal.window[1].start
    return float(rows[nearest] + top) + 0.5, float(columns[nearest] + left) + 0.5


def _point(point: NDArray[Any]) -> tuple[float, float]:
    return float(point[0]), float(point[1])
