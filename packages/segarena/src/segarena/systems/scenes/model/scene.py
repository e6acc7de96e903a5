"""Model of a scene: the named regions that one annotator drew on one image, in depth order, with shared vertices.

A scene is immutable; `reordered`, `renamed`, `moved` and similar methods return a modified copy.
Regions are in depth order, front first. A polygon is a ring of indices into `Scene.vertices`. Where
two regions share a border, both rings refer to the same vertices, so moving a shared vertex changes
both regions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.arrays.polygon_fill import FillRule
from segarena.arrays.polygon_points import Points, as_points
from segarena.errors import InvalidInput
from segarena.files.limits import check_pixels
from segarena.systems.scenes.model.defects import Defect, Severity

Vertex: TypeAlias = tuple[float, float]
"""(row, column), continuous: pixel (r, c) is the square from (r, c) to (r + 1, c + 1)."""

Ring: TypeAlias = tuple[int, ...]
"""A closed polygon as vertex indices; the first index is not repeated at the end."""

Edge: TypeAlias = tuple[int, int]
"""An edge of a polygon as its two vertex indices, lower index first."""

Attributes: TypeAlias = Mapping[str, Any]

_NOTHING_STATED: dict[str, Any] = {
    "visible_mask": None,
    "hidden_mask": None,
    "stated_area_px": None,
    "stated_occlusion": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """The annotated image.

    Attributes:
        id: id in the file ("100007"), or the stem of the file name.
        shape: (H, W) in pixels.
        file_name: file name of the photograph; "" if unknown.
        attributes: additional keys of the image's record in the file.
    """

    id: str
    shape: tuple[int, int]
    file_name: str = ""
    attributes: Attributes = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Reject invalid image sizes."""
        if min(self.shape) < 1:
            raise InvalidInput(
                f"image {self.id}: expected at least one pixel, got {self.shape[0]} x {self.shape[1]}, rows by columns"
            )
        check_pixels(self.shape[0] * self.shape[1], f"image {self.id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region in its full extent, including hidden parts.

    Attributes:
        id: unique in its scene; does not change with the order.
        name: name as the annotator wrote it.
        rings: polygons of the region, usually one; several form a union, unless it has holes.
        has_holes: whether rings within rings are holes: the extent is then inside an odd number of
            rings, which must not cross.
        is_stuff: True for stuff (grass), False for a thing (dog), None if unknown.
        mask: full extent if the file has a mask instead of polygons.
        visible_mask: visible part in the file; None if the file has none.
            `segarena.systems.scenes.model.rasters` derives the visible part from the depth order.
        hidden_mask: hidden part in the file; None if the file has none.
        stated_area_px: number of pixels of the full extent according to the file.
        stated_occlusion: hidden share of the full extent, 0 to 1, according to the file.
        attributes: additional keys of the region's record in the file.
    """

    id: str
    name: str = ""
    rings: tuple[Ring, ...] = ()
    has_holes: bool = False
    is_stuff: bool | None = None
    mask: Rle | None = None
    visible_mask: Rle | None = None
    hidden_mask: Rle | None = None
    stated_area_px: float | None = None
    stated_occlusion: float | None = None
    attributes: Attributes = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """All regions that one annotator drew on one image.

    Attributes:
        image: the annotated image.
        regions: regions, front first.
        vertices: vertices of all polygons; a vertex in several rings is shared.
        annotator: name of the annotator; "" if unknown.
        has_depth: whether the order of the regions is a depth order. Files with one record per
            object have visible masks instead.
        stated_pairs: pairs of region ids (in front, behind) that the file lists besides the order;
            None if it lists no pairs.
        fill_rule: rule that decides which pixels are inside a polygon.
        attributes: additional keys of the annotation in the file.

    Raises:
        InvalidInput: two regions have the same id, or a ring refers to a vertex that does not exist.
    """

    image: ImageRecord
    regions: tuple[Region, ...] = ()
    vertices: tuple[Vertex, ...] = ()
    annotator: str = ""
    has_depth: bool = True
    stated_pairs: tuple[tuple[str, str], ...] | None = None
    fill_rule: FillRule = "pixel-centre"
    attributes: Attributes = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Check the region ids and the vertex indices."""
        ids = {region.id for region in self.regions}
        if len(ids) != len(self.regions):
            raise InvalidInput(f"{self.title}: expected distinct region ids, got one twice")
        for region in self.regions:
            for ring in region.rings:
                if not ring:
                    continue
                is_valid = min(ring) >= 0 and max(ring) < len(self.vertices)
                if not is_valid:
                    raise InvalidInput(
                        f"{self.title}, region {region.id}: a ring refers to vertices that do not exist"
                    )

    @property
    def title(self) -> str:
        """Name of the scene in messages: the image, and the annotator if it is known."""
        title = f"image {self.image.id}"
        if self.annotator:
            title += f", annotator {self.annotator}"
        return title

    @property
    def shape(self) -> tuple[int, int]:
        """(H, W) of the image."""
        return self.image.shape

    @property
    def tells_hidden(self) -> bool:
        """Whether hidden parts are known, from a depth order or from masks of at least one region."""
        if self.has_depth:
            return True
        return any(region.visible_mask or region.hidden_mask for region in self.regions)

    def defect(
        self,
        kind: str,
        message: str,
        *regions: Region,
        severity: Severity = "error",
        place: tuple[float, float] | None = None,
    ) -> Defect:
        """Return a defect of this scene that affects the given regions."""
        return Defect(
            kind=kind,
            message=message,
            severity=severity,
            image=self.image.id,
            annotator=self.annotator,
            regions=tuple(region.id for region in regions),
            place=place,
        )

    def place(self, region_id: str) -> int:
        """Return the index of a region in the order, 0 for the front; raise `InvalidInput` for an unknown id."""
        for index, region in enumerate(self.regions):
            if region.id == region_id:
                return index
        raise InvalidInput(f"{self.title}: expected the id of a region, got {region_id!r}")

    def region(self, region_id: str) -> Region:
        """Return the region with this id; raise `InvalidInput` for an unknown id."""
        return self.regions[self.place(region_id)]

    def polygons(self, region: Region) -> tuple[Points, ...]:
        """Return the polygons of a region, each float64 (N, 2), rows and columns."""
        polygons: list[Points] = []
        for ring in region.rings:
            vertices = [self.vertices[index] for index in ring]
            polygons.append(as_points(vertices))
        return tuple(polygons)

    def replaced(self, region: Region) -> Scene:
        """Return a copy of the scene in which this region replaces the region with the same id."""
        regions = list(self.regions)
        regions[self.place(region.id)] = region
        return replace(self, regions=tuple(regions))

    def renamed(self, region_id: str, name: str) -> Scene:
        """Return a copy of the scene in which a region has another name."""
        return self.replaced(replace(self.region(region_id), name=name))

    def reordered(self, region_ids: Sequence[str]) -> Scene:
        """Return a copy of the scene with its regions in this order, front first.

        Visible and hidden masks, stated areas and occlusions, and pairs from the file are dropped,
        because they describe the old order. A scene without a depth order loses only the pairs.

        Raises:
            InvalidInput: `region_ids` does not contain every region id exactly once.
        """
        if sorted(region_ids) != sorted(region.id for region in self.regions):
            raise InvalidInput(
                f"{self.title}: expected every region id once, got {list(region_ids)}"
            )
        return self._with_regions(tuple(self.region(region_id) for region_id in region_ids))

    def moved(self, region_id: str, place: int) -> Scene:
        """Return a copy of the scene with one region moved to index `place` of the order, 0 for the front."""
        ids = [region.id for region in self.regions if region.id != region_id]
        region = self.region(region_id)
        ids.insert(place, region.id)
        return self.reordered(ids)

    def without(self, region_id: str) -> Scene:
        """Return a copy of the scene without one region; its vertices are kept."""
        index = self.place(region_id)
        return self._with_regions(self.regions[:index] + self.regions[index + 1 :])

    def with_region(
        self,
        region: Region,
        polygons: Iterable[Any],
        *,
        place: int = 0,
    ) -> Scene:
        """Return a copy of the scene with a new region of `polygons`, (N, 2) each, at index `place`."""
        rings, vertices = self._add_rings(polygons)
        regions = list(self.regions)
        regions.insert(place, replace(region, rings=rings))
        return self._with_regions(tuple(regions), vertices)

    def redrawn(self, region_id: str, polygons: Iterable[Any]) -> Scene:
        """Return a copy of the scene in which `polygons`, (N, 2) each, replace those of a region."""
        rings, vertices = self._add_rings(polygons)
        regions = list(self.regions)
        index = self.place(region_id)
        regions[index] = replace(regions[index], rings=rings, mask=None)
        return self._with_regions(tuple(regions), vertices)

    def with_vertex_at(self, index: int, vertex: Vertex) -> Scene:
        """Return a copy of the scene with one vertex moved, in all regions that share it."""
        vertices = (*self.vertices[:index], vertex, *self.vertices[index + 1 :])
        return self._with_regions(self.regions, vertices)

    def shared_edges(self) -> dict[Edge, tuple[str, ...]]:
        """Return the edges that several regions share, each with the ids of its regions, front first."""
        # The dict serves as an ordered set, because several rings of a region may contain the same
        # edge.
        owners: dict[Edge, dict[str, None]] = {}
        for region in self.regions:
            for ring in region.rings:
                for edge in ring_edges(ring):
                    ids = owners.setdefault(edge, {})
                    ids[region.id] = None
        shared: dict[Edge, tuple[str, ...]] = {}
        for edge, ids in owners.items():
            if len(ids) > 1:
                shared[edge] = tuple(ids)
        return shared

    def _add_rings(self, polygons: Iterable[Any]) -> tuple[tuple[Ring, ...], tuple[Vertex, ...]]:
        """Convert polygons to rings; return them with the vertices of the scene, extended by new ones."""
        vertices = list(self.vertices)
        known = dict[Vertex, int]()
        for index, vertex in enumerate(vertices):
            known.setdefault(vertex, index)  # files may repeat a vertex; the first one counts
        rings = _make_rings(polygons, vertices, known)
        return rings, tuple(vertices)

    def _with_regions(
        self, regions: tuple[Region, ...], vertices: tuple[Vertex, ...] | None = None
    ) -> Scene:
        if self.has_depth:
            # Visibility that the file states describes the scene before the change.
            regions = tuple(replace(region, **_NOTHING_STATED) for region in regions)
        if vertices is None:
            vertices = self.vertices
        return replace(self, regions=regions, vertices=vertices, stated_pairs=None)


def make_scene(
    image: ImageRecord,
    outlined: Iterable[tuple[Region, Iterable[Any]]],
    **attributes: Any,
) -> Scene:
    """Build a scene from regions, front first, with their polygons; vertices with equal coordinates become shared.

    Args:
        image: the annotated image.
        outlined: (region, polygons) pairs; polygons are (N, 2), rows and columns.
        attributes: other attributes of `Scene`, by name.

    Raises:
        InvalidInput: polygons are not finite (N, 2), or `Scene` rejects them.
    """
    regions: list[Region] = []
    vertices: list[Vertex] = []
    known: dict[Vertex, int] = {}
    for region, polygons in outlined:
        rings = _make_rings(polygons, vertices, known)
        regions.append(replace(region, rings=rings))
    return Scene(
        image=image,
        regions=tuple(regions),
        vertices=tuple(vertices),
        **attributes,
    )


def ring_edges(ring: Ring) -> list[Edge]:
    """Return the edges of a ring, in ring order."""
    ends = (*ring[1:], *ring[:1])
    return [(min(pair), max(pair)) for pair in zip(ring, ends, strict=True)]


def _make_rings(
    polygons: Iterable[Any],
    vertices: list[Vertex],
    known: dict[Vertex, int],
) -> tuple[Ring, ...]:
    """Convert polygons to rings; add vertices with new coordinates to `vertices` and `known`."""
    rings: list[Ring] = []
    for points in polygons:
        ring: list[int] = []
        # Adding 0.0 turns minus zero into zero, so that both become the same vertex.
        coordinates = np.add(as_points(points), 0.0)
        for row, column in coordinates.tolist():
            index = known.setdefault((row, column), len(vertices))
            if index == len(vertices):
                vertices.append((row, column))
            ring.append(index)
        rings.append(tuple(ring))
    return tuple(rings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSet:
    """The scenes in a file.

    Attributes:
        scenes: scenes in file order; several scenes of one image come from several annotators.
        defects: defects of the file itself; `checks/single_annotation_checks.py` finds the defects of scenes.
        attributes: additional top-level keys of the file.
    """

    scenes: tuple[Scene, ...] = ()
    defects: tuple[Defect, ...] = ()
    attributes: Attributes = field(default_factory=dict[str, Any])

    def by_image(self) -> dict[str, tuple[Scene, ...]]:
        """Group the scenes by image id."""
        groups: dict[str, tuple[Scene, ...]] = {}
        for scene in self.scenes:
            group = groups.get(scene.image.id, ())
            groups[scene.image.id] = (*group, scene)
        return groups
