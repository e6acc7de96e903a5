"""What one person drew on one image: regions with names, in depth order, whose polygons share their vertices.

A scene never changes; `reordered`, `renamed`, `moved` and their like return another one that keeps all the rest.
Regions lie in depth order, front first. A polygon is a ring of indices into `Scene.vertices`: where two regions
share a border, both rings name the same vertices, so that a border moved is moved for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from segarena.arrays.coco_rle import Rle
from segarena.errors import InvalidInput
from segarena.files.limits import check_pixels
from segarena.systems.scenes.checks.defects import Defect, Severity
from segarena.systems.scenes.model.polygon_fill import FillRule
from segarena.systems.scenes.model.polygons import Points, as_points

Vertex: TypeAlias = tuple[float, float]
"""(row, column), continuous: pixel (r, c) is the square from (r, c) to (r + 1, c + 1)."""

Ring: TypeAlias = tuple[int, ...]
"""A closed polygon as indices of vertices; the first is not repeated."""

Edge: TypeAlias = tuple[int, int]
"""A side of a polygon as the indices of its two vertices, the lower one first."""

Attributes: TypeAlias = Mapping[str, Any]

_NOTHING_STATED: dict[str, Any] = dict.fromkeys(
    ("visible_mask", "hidden_mask", "stated_area_px", "stated_occlusion")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """The image that was annotated.

    Attributes:
        id: as the file names it ("100007"), or the stem of the file name.
        shape: (H, W) in pixels.
        file_name: of the photograph; "" when unknown.
        attributes: whatever else its file says about it.
    """

    id: str
    shape: tuple[int, int]
    file_name: str = ""
    attributes: Attributes = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse sizes that no image has."""
        if min(self.shape) < 1:
            raise InvalidInput(
                f"image {self.id}: expected at least one pixel, got {self.shape[0]} x {self.shape[1]}, rows by columns"
            )
        check_pixels(self.shape[0] * self.shape[1], f"image {self.id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """One region: its full extent, hidden parts included.

    Attributes:
        id: unique in its scene; stays when the order changes.
        name: as the annotator wrote it.
        rings: its polygons, nearly always one; several are a union.
        is_stuff: whether it is stuff (grass) and no thing (dog); None if unknown.
        mask: its full extent, when it was given as a mask and not as polygons.
        visible_mask: the visible part as its file states it; None when not stated. What follows from the depth
            order is in `segarena.systems.scenes.model.rasters`.
        hidden_mask: the hidden part, likewise.
        stated_area_px: pixels of the full extent as its file states them.
        stated_occlusion: hidden share of the full extent, 0 to 1, as its file states it.
        attributes: whatever else its file says about it.
    """

    id: str
    name: str = ""
    rings: tuple[Ring, ...] = ()
    is_stuff: bool | None = None
    mask: Rle | None = None
    visible_mask: Rle | None = None
    hidden_mask: Rle | None = None
    stated_area_px: float | None = None
    stated_occlusion: float | None = None
    attributes: Attributes = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything one annotator drew on one image.

    Attributes:
        image: what was annotated.
        regions: front first.
        vertices: of all polygons; one that several rings name is shared.
        annotator: who; "" when unknown.
        has_depth: whether the order of the regions is a depth order. Files with one record per object state visible
            masks instead.
        stated_pairs: pairs of region ids (in front, behind) that the file states besides the order; None when it
            states nothing about pairs.
        fill_rule: decides which pixels lie in a polygon.
        attributes: whatever else its file says about it.

    Raises:
        InvalidInput: region ids that are not distinct, or rings that name vertices which are not there.
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
        """Check what the rest relies on."""
        ids = {region.id for region in self.regions}
        if len(ids) != len(self.regions):
            raise InvalidInput(f"{self.title}: expected distinct region ids, got one twice")
        for region in self.regions:
            for ring in region.rings:
                if ring and not 0 <= min(ring) <= max(ring) < len(self.vertices):
                    raise InvalidInput(
                        f"{self.title}, region {region.id}: a ring names vertices that are not there"
                    )

    @property
    def title(self) -> str:
        """How messages name it: the image, and the annotator when known."""
        return f"image {self.image.id}" + (
            f", annotator {self.annotator}" if self.annotator else ""
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(H, W) of the image."""
        return self.image.shape

    @property
    def tells_hidden(self) -> bool:
        """Whether it says what is hidden: by a depth order, or by masks of any region."""
        return self.has_depth or any(one.visible_mask or one.hidden_mask for one in self.regions)

    def defect(
        self,
        kind: str,
        message: str,
        *regions: Region,
        severity: Severity = "error",
        place: tuple[float, float] | None = None,
    ) -> Defect:
        """Return a defect of this scene that is about some of its regions."""
        ids = tuple(region.id for region in regions)
        return Defect(kind, message, severity, self.image.id, self.annotator, ids, place)

    def place(self, region_id: str) -> int:
        """Return where a region lies in the order, 0 for the front; raises `InvalidInput` when it is not there."""
        for place, region in enumerate(self.regions):
            if region.id == region_id:
                return place
        raise InvalidInput(f"{self.title}: expected the id of a region, got {region_id!r}")

    def region(self, region_id: str) -> Region:
        """Return the region of this id; raises `InvalidInput` when it is not there."""
        return self.regions[self.place(region_id)]

    def polygons(self, region: Region) -> tuple[Points, ...]:
        """Return the polygons of a region, each float64 (N, 2), rows and columns."""
        return tuple(as_points([self.vertices[index] for index in ring]) for ring in region.rings)

    def replaced(self, region: Region) -> Scene:
        """Return the scene with the region of the same id replaced."""
        place = self.place(region.id)
        return replace(self, regions=(*self.regions[:place], region, *self.regions[place + 1 :]))

    def renamed(self, region_id: str, name: str) -> Scene:
        """Return the scene with another name for a region."""
        return self.replaced(replace(self.region(region_id), name=name))

    def reordered(self, region_ids: Sequence[str]) -> Scene:
        """Return the scene with its regions in this order, front first; stated masks and pairs are dropped.

        Raises:
            InvalidInput: not the ids of all regions, each once.
        """
        if sorted(region_ids) != sorted(region.id for region in self.regions):
            raise InvalidInput(
                f"{self.title}: expected every region id once, got {list(region_ids)}"
            )
        return self._redrawn(tuple(self.region(region_id) for region_id in region_ids))

    def moved(self, region_id: str, place: int) -> Scene:
        """Return the scene with one region at another place in the order, 0 for the front."""
        ids = [region.id for region in self.regions if region.id != region_id]
        ids.insert(place, self.region(region_id).id)
        return self.reordered(ids)

    def without(self, region_id: str) -> Scene:
        """Return the scene without a region; its vertices stay."""
        place = self.place(region_id)
        return self._redrawn(self.regions[:place] + self.regions[place + 1 :])

    def with_region(self, region: Region, polygons: Iterable[Any], *, place: int = 0) -> Scene:
        """Return the scene with one region more, its rings made from `polygons`, (N, 2), at a place in the order."""
        rings, vertices = self._rings(polygons)
        regions = (*self.regions[:place], replace(region, rings=rings), *self.regions[place:])
        return self._redrawn(regions, vertices)

    def redrawn(self, region_id: str, polygons: Iterable[Any]) -> Scene:
        """Return the scene with other polygons, each (N, 2), for a region."""
        rings, vertices = self._rings(polygons)
        region = replace(self.region(region_id), rings=rings, mask=None)
        return self._redrawn(
            tuple(region if one.id == region_id else one for one in self.regions), vertices
        )

    def with_vertex_at(self, index: int, vertex: Vertex) -> Scene:
        """Return the scene with one vertex elsewhere, for all regions that share it."""
        return self._redrawn(
            self.regions, (*self.vertices[:index], vertex, *self.vertices[index + 1 :])
        )

    def shared_edges(self) -> dict[Edge, tuple[str, ...]]:
        """Return the sides that several regions have in common, with the ids of those regions, front first."""
        owners: dict[Edge, dict[str, None]] = {}
        for region in self.regions:
            for edge in chain(*map(ring_edges, region.rings)):
                owners.setdefault(edge, {})[region.id] = None
        return {edge: tuple(ids) for edge, ids in owners.items() if len(ids) > 1}

    def _rings(self, polygons: Iterable[Any]) -> tuple[tuple[Ring, ...], tuple[Vertex, ...]]:
        """Return polygons as rings, and the vertices of the scene with those that are new."""
        vertices = list(self.vertices)
        known = dict[Vertex, int]()
        for index, vertex in enumerate(vertices):
            known.setdefault(vertex, index)  # of equal ones, which files may have, the first
        return _rings(polygons, vertices, known), tuple(vertices)

    def _redrawn(
        self, regions: tuple[Region, ...], vertices: tuple[Vertex, ...] | None = None
    ) -> Scene:
        # What a file stated about visibility was about the scene as it was.
        fresh = tuple(replace(region, **_NOTHING_STATED) for region in regions)
        kept = self.vertices if vertices is None else vertices
        return replace(
            self, regions=fresh if self.has_depth else regions, vertices=kept, stated_pairs=None
        )


def make_scene(
    image: ImageRecord, drawn: Iterable[tuple[Region, Iterable[Any]]], **facts: Any
) -> Scene:
    """Return a scene from regions, front first, with their polygons; vertices of equal coordinates become shared.

    Polygons are (N, 2), rows and columns; `facts` are further attributes of `Scene`.

    Raises:
        InvalidInput: polygons that are not finite (N, 2), or what `Scene` refuses.
    """
    regions: list[Region] = []
    vertices: list[Vertex] = []
    known: dict[Vertex, int] = {}
    for region, polygons in drawn:
        regions.append(replace(region, rings=_rings(polygons, vertices, known)))
    return Scene(image=image, regions=tuple(regions), vertices=tuple(vertices), **facts)


def ring_edges(ring: Ring) -> list[Edge]:
    """Return the sides of a ring in its order."""
    return [(min(pair), max(pair)) for pair in zip(ring, (*ring[1:], *ring[:1]), strict=True)]


def _rings(
    polygons: Iterable[Any], vertices: list[Vertex], known: dict[Vertex, int]
) -> tuple[Ring, ...]:
    """Return polygons as rings; vertices that are not `known` by their coordinates yet are added to both."""
    rings: list[Ring] = []
    for points in polygons:
        ring: list[int] = []
        # Minus zero is zero: two borders that meet there are shared.
        for row, column in np.add(as_points(points), 0.0).tolist():
            index = known.setdefault((row, column), len(vertices))
            if index == len(vertices):
                vertices.append((row, column))
            ring.append(index)
        rings.append(tuple(ring))
    return tuple(rings)


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSet:
    """The scenes of a file.

    Attributes:
        scenes: in the order of the file; several of one image are of several annotators.
        defects: what was wrong with the file, besides what `checks/quality.py` finds in the scenes.
        attributes: whatever else the file says at its top.
    """

    scenes: tuple[Scene, ...] = ()
    defects: tuple[Defect, ...] = ()
    attributes: Attributes = field(default_factory=dict[str, Any])

    def by_image(self) -> dict[str, tuple[Scene, ...]]:
        """Return the scenes of each image, by its id."""
        found: dict[str, tuple[Scene, ...]] = {}
        for scene in self.scenes:
            found[scene.image.id] = (*found.get(scene.image.id, ()), scene)
        return found
