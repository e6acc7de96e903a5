"""Quality checks for obvious errors in one annotation; subjective choices (wording, hidden edges) are not checked.

Checks that need the other annotators of an image are in `segarena.systems.scenes.checks.consensus`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.boxes import intersect_windows, is_empty, within_window
from segarena.arrays.polygon_fill import Patch, fill_polygon
from segarena.arrays.polygon_points import Points
from segarena.errors import InvalidMask
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.defects import Defect, Severity
from segarena.systems.scenes.model.double_borders import double_borders
from segarena.systems.scenes.model.incremental_check_cache import CheckMemory, outline_key
from segarena.systems.scenes.model.rasters import (
    Rasters,
    RegionRaster,
    overlapping_one,
    overlapping_windows,
    rasterise,
    shared_patch_px,
    window_bounds,
)
from segarena.systems.scenes.model.scene import Region, Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityLimits:
    """Thresholds of the quality checks.

    Attributes:
        least_vertices: minimum number of vertices of a polygon, as in the original tool.
        least_area_px: minimum full extent of a region, in pixels of the image, as in the paper.
        small_image_px: in images with fewer pixels, the minimum extent shrinks in proportion.
        least_visible: minimum visible share of a region.
        duplicate_iou: two regions with a higher IoU count as one region drawn twice.
        spike_degrees: corners with a smaller angle count as spikes.
        longest_mean_side_px: polygons of more than `least_vertices` vertices with a larger mean
            side length are reported as coarse.
        near_px: maximum distance of parallel borders.
        double_border_px: minimum length of parallel borders that count as one border drawn twice.
        filled_concavity: a region counts as drawn modally if a region in front fills more than
            this share of its concavity.
        stated_difference: maximum difference between the areas and occlusion that a file states
            and those of the pixels; relative for areas.
        consensus: share of the other annotators that must agree.
        coverage_gap: maximum amount by which the covered share of the image may be below the median
            over the other annotators.
    """

    least_vertices: int = 4
    # The minimum in the paper's instructions to annotators, in pixels of the image.
    least_area_px: float = 600
    # A sixteenth of the image at most; otherwise no region of a tiny image would be large enough.
    small_image_px: float = 9600
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

    def least_area_of(self, shape: tuple[int, int]) -> float:
        """Return the minimum full extent of a region in an image of (H, W) pixels."""
        height, width = shape
        return self.least_area_px * min(1, height * width / self.small_image_px)


def check_scene(
    scene: Scene,
    *,
    limits: QualityLimits | None = None,
    rasters: Rasters | None = None,
    memory: CheckMemory | None = None,
) -> list[Defect]:
    """Return the defects of one annotation, whose regions are checked in depth order.

    Pass `rasters` if the scene has been rasterized already. With the `memory` of an earlier check
    of the same image and limits, results for outlines that have not changed are reused.
    """
    limits = limits or QualityLimits()
    memory = memory or CheckMemory()
    outlines = _Outlines(scene)
    if not scene.regions:
        return [scene.defect("empty", "expected regions, found none; annotate the image")]
    found: list[Defect] = []
    for depth, region in enumerate(memory.track("outlines", scene.regions)):
        # The defects name the region and its image.
        key = ("region", outlines.keys[depth], region.id, region.name, scene.image.id, scene.shape)
        found += memory.recall(key, partial(_list_region_defects, scene, region, limits))
    found += _contradicted_pairs(scene)
    try:
        rasters = rasters or rasterise(scene, memory=memory)
    except InvalidMask as error:
        return [*found, scene.defect("mask", str(error))]
    for region, raster in zip(scene.regions, rasters.regions, strict=True):
        found += _extent_defects(scene, region, raster, limits)
    if scene.has_depth:
        found += _hidden_regions(scene, rasters, limits, outlines, memory)
    found += _duplicates(scene, rasters, limits, outlines, memory)
    if scene.has_depth:
        found += _modal_regions(scene, rasters, limits, outlines, memory)
        found += _covered_holes(scene, rasters, limits, outlines)
    found += _double_borders(scene, limits, memory)
    return found


def _list_region_defects(
    scene: Scene,
    region: Region,
    limits: QualityLimits,
) -> list[Defect]:
    return list(_region_defects(scene, region, limits))


def _region_defects(
    scene: Scene,
    region: Region,
    limits: QualityLimits,
) -> Iterator[Defect]:
    if not region.name.strip():
        first_ring = region.rings[0] if region.rings else ()
        position = scene.vertices[first_ring[0]] if first_ring else None
        message = "expected a name, found none; name the region"
        yield scene.defect("unnamed", message, region, place=position)
    if not region.rings and region.mask is None and region.visible_mask is None:
        message = "expected a polygon or a mask, found none; draw the region"
        yield scene.defect("no-outline", message, region)
    rings = scene.polygons(region)
    for points in rings:
        yield from _polygon_defects(scene, region, points, limits)
    meeting = polygons.first_meeting(rings, scene.shape) if region.has_holes else None
    if meeting is not None:
        message = "expected outlines that do not meet each other, got two that do; adjust one of them here"
        yield scene.defect("self-intersection", message, region, place=meeting)


def _polygon_defects(
    scene: Scene,
    region: Region,
    points: Points,
    limits: QualityLimits,
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
            f"expected an area above 0, got {len(distinct)} distinct vertices that enclose none; "
            "draw the outline again"
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
            f"expected an outline that does not cross or touch itself, got one that does at {places}; "
            "redraw it here"
        )
        first = (crossed[0].row, crossed[0].column)
        yield scene.defect("self-intersection", message, region, place=first)
    yield from _shape_defects(scene, region, distinct, limits)


def _shape_defects(
    scene: Scene,
    region: Region,
    points: Points,
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield defects for spikes, and for outlines with too few vertices for their length."""
    ahead = np.roll(points, -1, axis=0) - points
    behind = np.roll(points, 1, axis=0) - points
    lengths = np.hypot(ahead[:, 0], ahead[:, 1])
    lengths_behind = np.hypot(behind[:, 0], behind[:, 1])
    cosines = (ahead * behind).sum(axis=1) / (lengths * lengths_behind)
    spikes = np.flatnonzero(cosines > np.cos(np.radians(limits.spike_degrees)))
    if len(spikes):
        message = (
            f"expected corners of more than {limits.spike_degrees:g} degrees, "
            f"got {len(spikes)} sharper {'one' if len(spikes) == 1 else 'ones'}"
        )
        sharpest = _as_position(points[spikes[0]])
        yield scene.defect("spike", message, region, severity="warning", place=sharpest)
    mean = float(lengths.mean())
    if mean > limits.longest_mean_side_px and len(points) > limits.least_vertices:
        message = (
            f"expected sides of at most {limits.longest_mean_side_px:g} pixels on average, "
            f"got {mean:.0f}; check whether it follows the outline"
        )
        longest = _as_position(points[int(lengths.argmax())])
        yield scene.defect("coarse", message, region, severity="note", place=longest)


def _contradicted_pairs(scene: Scene) -> Iterator[Defect]:
    """Yield defects for the pairs listed in the file that contradict the depth order."""
    for front_id, behind_id in scene.stated_pairs or ():
        if scene.place(front_id) < scene.place(behind_id):
            continue
        message = (
            f"expected region {front_id} in front of region {behind_id}, as the file states, "
            "got the other order"
        )
        yield scene.defect("pairs", message, scene.region(front_id), scene.region(behind_id))


def _extent_defects(
    scene: Scene,
    region: Region,
    raster: RegionRaster,
    limits: QualityLimits,
) -> Iterator[Defect]:
    """Yield defects if a region is too small, or if its stated area or occlusion differs from the pixels."""
    area_px = raster.area_px
    least_px = limits.least_area_of(scene.shape)
    if 0 < area_px < least_px:
        centre = region_centre(raster)
        message = (
            f"expected at least {math.ceil(least_px)} pixels, got {area_px}; "
            "regions this small are not annotated"
        )
        yield scene.defect("small", message, region, place=centre)
    stated_px = region.stated_area_px
    if stated_px is not None:
        # COCO files with object masks state the visible area, so either area is correct.
        difference_px = min(abs(stated_px - area_px), abs(stated_px - raster.visible_px))
        if difference_px > limits.stated_difference * max(stated_px, area_px, 1):
            centre = region_centre(raster)
            message = (
                f"expected the stated area of {stated_px:g} pixels, got {area_px}; export it again"
            )
            yield scene.defect("stated-area", message, region, severity="warning", place=centre)
    stated = region.stated_occlusion
    if stated is not None and abs(stated - raster.occlusion) > limits.stated_difference:
        centre = region_centre(raster)
        message = (
            f"expected the stated occlusion of {stated:.2f}, "
            f"got {raster.occlusion:.2f} from the pixels"
        )
        yield scene.defect("stated-occlusion", message, region, severity="warning", place=centre)


class _Outlines:
    """The polygons of a scene's regions, their keys, and bounding boxes to rule out most pairs quickly."""

    def __init__(self, scene: Scene) -> None:
        self.polygons = [scene.polygons(region) for region in scene.regions]
        self.keys: list[bytes] = []
        for region, rings in zip(scene.regions, self.polygons, strict=True):
            self.keys.append(outline_key(*rings, has_holes=region.has_holes))
        self._has_holes = [region.has_holes for region in scene.regions]
        boxes = [_box(rings) for rings in self.polygons]
        self._boxes = np.array(boxes, dtype=np.float64).reshape(-1, 4)

    def first_holder(self, depth: int) -> int | None:
        """Return the index of the first region in front of `depth` that contains it and has no holes, or None."""
        low_row, low_column, high_row, high_column = self._boxes[depth]
        fronts = self._boxes[:depth]
        # A polygon that contains all vertices has a box that contains theirs.
        is_possible = (fronts[:, 0] <= low_row) & (fronts[:, 1] <= low_column)
        is_possible &= (fronts[:, 2] >= high_row) & (fronts[:, 3] >= high_column)
        for front in np.flatnonzero(is_possible).tolist():
            # Vertices do not tell whether a region shows through a hole; its visible pixels do.
            if self._has_holes[front]:
                continue
            if _contains(self.polygons[front], self.polygons[depth]):
                return front
        return None


def _box(rings: Iterable[Points]) -> tuple[float, float, float, float]:
    """Return the lowest row and column, and the highest row and column; NaN if there are no vertices."""
    points = [ring for ring in rings if len(ring)]
    if not points:
        # Comparisons with NaN are false, so that such a region neither contains nor is contained.
        return (np.nan, np.nan, np.nan, np.nan)
    together = np.concatenate(points)
    low_row, low_column = together.min(axis=0).tolist()
    high_row, high_column = together.max(axis=0).tolist()
    return (low_row, low_column, high_row, high_column)


def _hidden_regions(
    scene: Scene,
    rasters: Rasters,
    limits: QualityLimits,
    outlines: _Outlines,
    memory: CheckMemory,
) -> Iterator[Defect]:
    """Yield defects for regions inside a region in front of them, and for almost invisible regions."""
    tracked = memory.track("hidden regions", scene.regions)
    for depth, (region, raster) in enumerate(zip(tracked, rasters.regions, strict=True)):
        area_px = raster.area_px
        if not area_px:
            continue
        holder_depth = outlines.first_holder(depth)
        visible_px = raster.visible_px
        if holder_depth is not None:
            holder = scene.regions[holder_depth]
            message = (
                f"expected this region in front of region {holder.id}, which contains and hides this one; "
                "check the order"
            )
            centre = region_centre(raster)
            yield scene.defect("contained", message, holder, region, place=centre)
        elif visible_px <= limits.least_visible * area_px:
            severity: Severity = "warning" if visible_px else "error"
            message = (
                f"expected a larger visible part, got {visible_px} of {area_px} pixels; "
                "check the order"
            )
            centre = region_centre(raster)
            yield scene.defect("hidden", message, region, severity=severity, place=centre)


def _contains(front: Iterable[Points], inner: Sequence[Points]) -> bool:
    """Return whether a polygon in front contains all vertices of a region (rule of the original tool)."""
    if not inner:
        return False
    for outer in front:
        # Comparing bounding boxes first is cheap, and most polygons are far apart.
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


def _duplicates(
    scene: Scene,
    rasters: Rasters,
    limits: QualityLimits,
    outlines: _Outlines,
    memory: CheckMemory,
) -> Iterator[Defect]:
    extents = [raster.amodal for raster in rasters.regions]
    areas = [raster.area_px for raster in rasters.regions]
    pairs = overlapping_windows(extents, extents).tolist()
    for one, other in memory.track("duplicates", pairs, "pairs"):
        # The smaller area bounds the IoU, so most pairs need no comparison of pixels.
        smaller, larger = sorted((areas[one], areas[other]))
        if other <= one or smaller <= limits.duplicate_iou * larger:
            continue
        shared = _shared_px(rasters, one, other, outlines, memory)
        union = areas[one] + areas[other] - shared
        if shared <= limits.duplicate_iou * union:
            continue
        iou = shared / union
        message = f"expected one region, got two of IoU {iou:.2f}; delete one"
        centre = region_centre(rasters.regions[one])
        regions = (scene.regions[one], scene.regions[other])
        yield scene.defect("duplicate", message, *regions, place=centre)


def _modal_regions(
    scene: Scene,
    rasters: Rasters,
    limits: QualityLimits,
    outlines: _Outlines,
    memory: CheckMemory,
) -> Iterator[Defect]:
    """Yield defects for regions that were drawn modally: around a region in front, not behind it.

    The region in front fills a concavity of such a region (the difference from its convex hull)
    without overlapping the region.
    """
    bounds = window_bounds([raster.amodal for raster in rasters.regions])
    tracked = memory.track("concavities", scene.regions)
    for depth, (region, raster) in enumerate(zip(tracked, rasters.regions, strict=True)):
        rings = outlines.polygons[depth]
        # Nothing is in front of the first region, and a region of several parts has hollows between
        # them.
        if len(rings) != 1 or depth == 0:
            continue
        hollow_key = ("hollow", outlines.keys[depth], scene.shape)
        hollow = memory.recall(hollow_key, partial(_hollow, rings[0], scene.shape, raster.amodal))
        hollow_px = int(np.count_nonzero(hollow.mask))
        if hollow_px < limits.least_visible * raster.area_px:
            continue
        # Regions outside the window of the hollow fill nothing of it.
        for front_depth in overlapping_one(hollow, bounds[:depth]).tolist():
            front = scene.regions[front_depth]
            other = rasters.regions[front_depth]
            # Regions of files may have a mask and no outline, which has no key.
            if outlines.polygons[front_depth]:
                filled_key = ("filled", *hollow_key, outlines.keys[front_depth])
                filled_px = memory.recall(
                    filled_key, partial(shared_patch_px, hollow, other.amodal)
                )
            else:
                filled_px = shared_patch_px(hollow, other.amodal)
            if filled_px <= limits.filled_concavity * hollow_px:
                continue
            overlap_px = _shared_px(rasters, depth, front_depth, outlines, memory)
            if overlap_px >= _INACCURATE_OVERLAP * filled_px:
                continue
            message = (
                f"expected it to continue behind region {front.id}, which fills its concavity without overlapping it; "
                "draw its full extent"
            )
            centre = region_centre(other)
            yield scene.defect("modal", message, region, front, severity="warning", place=centre)


def _covered_holes(
    scene: Scene,
    rasters: Rasters,
    limits: QualityLimits,
    outlines: _Outlines,
) -> Iterator[Defect]:
    """Yield defects for holes that a region in front covers: the object continues behind that region."""
    extents = [raster.amodal for raster in rasters.regions]
    for depth, region in enumerate(scene.regions):
        if not region.has_holes:
            continue
        rings = outlines.polygons[depth]
        for ring, is_hole in zip(rings, polygons.are_holes(rings), strict=True):
            if not is_hole:
                continue
            hole = fill_polygon(ring, scene.shape, rule=scene.fill_rule)
            hole_px = int(np.count_nonzero(hole.mask))
            for front_depth in overlapping_windows([hole], extents[:depth])[:, 1].tolist():
                covered_px = shared_patch_px(hole, extents[front_depth])
                if covered_px < (1 - limits.least_visible) * hole_px:
                    continue
                front = scene.regions[front_depth]
                message = (
                    f"expected it to continue behind region {front.id}, which covers its hole; "
                    "delete the hole, or correct the order"
                )
                place = _as_position(ring[0])
                yield scene.defect("modal", message, region, front, severity="warning", place=place)


def _shared_px(
    rasters: Rasters,
    one: int,
    other: int,
    outlines: _Outlines,
    memory: CheckMemory,
) -> int:
    """Return the number of pixels that the full extents of two regions share."""
    count = partial(shared_patch_px, rasters.regions[one].amodal, rasters.regions[other].amodal)
    # Regions of files may have a mask and no outline, which has no key.
    if not outlines.polygons[one] or not outlines.polygons[other]:
        return count()
    key = ("shared", rasters.shape, outlines.keys[one], outlines.keys[other])
    return memory.recall(key, count)


def _hollow(
    points: Points,
    shape: tuple[int, int],
    extent: Patch,
) -> Patch:
    """Return the pixels in a polygon's convex hull that the region of the polygon does not cover."""
    hull = fill_polygon(polygons.convex_hull(points), shape)
    hollow = hull.mask.copy()
    window = intersect_windows(hull.window, extent.window)
    if not is_empty(window):
        covered = extent.mask[within_window(window, extent.window)]
        hollow[within_window(window, hull.window)] &= ~covered
    return Patch(hull.window, hollow)


def _double_borders(
    scene: Scene,
    limits: QualityLimits,
    memory: CheckMemory,
) -> Iterator[Defect]:
    found = double_borders(
        scene,
        near_px=limits.near_px,
        least_px=limits.double_border_px,
        memory=memory,
    )
    for one, other, length_px, middle in found:
        message = (
            f"expected a shared border, got two parallel borders over {length_px:.0f} pixels; "
            "share the vertices"
        )
        regions = (scene.region(one), scene.region(other))
        yield scene.defect("double-border", message, *regions, severity="warning", place=middle)


def region_centre(raster: RegionRaster) -> tuple[float, float] | None:
    """Return the centre (row, column) of the region's pixel nearest to the centroid, or None if empty."""
    mask = raster.amodal.mask
    per_row = np.count_nonzero(mask, axis=1)
    per_column = np.count_nonzero(mask, axis=0)
    count = int(per_row.sum())
    if not count:
        return None
    mean_row = int(per_row @ np.arange(len(per_row))) / count
    mean_column = int(per_column @ np.arange(len(per_column))) / count
    # Distances to all pixels of a large region take milliseconds, and the nearest one is usually
    # next to the centroid. The box grows until no pixel outside can be nearer.
    reach = 2
    while True:
        rows_from = max(int(mean_row) - reach, 0)
        columns_from = max(int(mean_column) - reach, 0)
        box = mask[
            rows_from : int(mean_row) + reach + 2, columns_from : int(mean_column) + reach + 2
        ]
        rows, columns = np.nonzero(box)
        rows += rows_from
        columns += columns_from
        squared = (rows - mean_row) ** 2 + (columns - mean_column) ** 2
        is_whole = box.shape == mask.shape
        if len(rows) and (is_whole or float(squared.min()) < reach**2):
            break
        reach *= 2
    nearest = int(squared.argmin())
    row_window, column_window = raster.amodal.window
    row = float(rows[nearest] + row_window.start) + 0.5
    column = float(columns[nearest] + column_window.start) + 0.5
    return row, column


def _as_position(point: NDArray[Any]) -> tuple[float, float]:
    return float(point[0]), float(point[1])


# Overlap of a front region with the region behind, as a share of the filled concavity. Anything
# below is inaccurate drawing, not an occlusion.
_INACCURATE_OVERLAP = 0.05
