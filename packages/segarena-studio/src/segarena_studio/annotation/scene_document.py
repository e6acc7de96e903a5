"""Scene document of the editor: validated on arrival, stored unchanged, and converted to a `Scene`.

`{"version": 1, "points": [[x, y], ...], "regions": [{"id", "ring", "name", "is_stuff", ...}, ...],
"next_id": 8}`, regions front to back. Coordinates are (x, y) in pixels of the displayed picture and
may lie outside it; a point that two rings reference is one shared vertex. A region of several
outlines has them one after the other in its ring, and `starts` with the places in the ring at which
the second and later ones begin; documents from before there were holes and parts have no `starts`.
Outlines do not cross, and inside is what an odd number of them contain. In the frames of a video,
regions with the same id are one track, and `propagation` marks those that a segmenter propagated
from another frame. Additional fields of the editor are preserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.arrays.polygon_points import Points
from segarena.errors import InvalidInput
from segarena.systems.scenes.model.polygons import (
    are_holes,
    clip_to_frame,
    first_meeting,
    without_repeats,
)
from segarena.systems.scenes.model.scene import ImageRecord, Region, Ring, Scene, make_scene

MOST_BYTES = 4 * 2**20
"""Size limit of one document."""
MOST_REGIONS = 2000
MOST_OUTLINES = 500
"""Limit of one region."""
MOST_POINTS = 100_000
"""Limit of one document; published scenes have some dozens of regions and a few thousand points."""
DECIMALS = 2
"""Decimals of exported coordinates: two regions that are clipped at the frame must get identical corners."""
_FARTHEST_PX = 1e6

_Name = Annotated[str, msgspec.Meta(max_length=200)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
_Coordinate = Annotated[float, msgspec.Meta(ge=-_FARTHEST_PX, le=_FARTHEST_PX)]
_AttributeName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_AttributeText = Annotated[str, msgspec.Meta(max_length=2000)]
_Attributes = Annotated[dict[_AttributeName, bool | _AttributeText], msgspec.Meta(max_length=100)]
_Index = Annotated[int, msgspec.Meta(ge=0)]


class DrawnRegion(msgspec.Struct, frozen=True, kw_only=True):
    """A region of a document."""

    id: _Id
    ring: tuple[_Index, ...]
    starts: tuple[_Index, ...] = ()
    """Places in the ring at which further outlines begin."""
    name: _Name = ""
    is_stuff: bool | None = None
    attributes: _Attributes = {}
    """Values of the project's attributes, by name; absent if none are set."""
    propagation: Literal["", "proposed", "accepted"] = ""
    """Whether the outline was propagated from another frame of a video, and whether a person accepted it."""

    @property
    def rings(self) -> tuple[tuple[int, ...], ...]:
        """The outlines, as indices of points."""
        bounds = (0, *self.starts, len(self.ring))
        return tuple(self.ring[first:end] for first, end in pairwise(bounds))


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a document that the server reads."""

    version: Literal[1]
    points: tuple[tuple[_Coordinate, _Coordinate], ...]
    regions: tuple[DrawnRegion, ...]
    open: tuple[_Index, ...] = ()
    """The ring that is still being drawn."""

    @property
    def corners(self) -> int:
        """Number of vertices of all rings; a shared vertex counts for each ring."""
        return sum(len(region.ring) for region in self.regions)


def read_document(text: bytes | msgspec.Raw) -> Document:
    """Decode a document from JSON.

    Raises:
        InvalidInput: the document exceeds 4 MiB, has too many regions, outlines or points, is not
            valid JSON of this form, repeats a region id, or has a ring that refers to a missing
            point or whose outlines do not begin in order.
    """
    size = len(bytes(text))
    if size > MOST_BYTES:
        raise InvalidInput(f"scene: expected at most {MOST_BYTES:,} bytes, got {size:,}")
    try:
        document = msgspec.json.decode(text, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        # Messages of msgspec begin with a capital letter; here they continue a sentence.
        reason = str(error)
        raise InvalidInput(f"scene: {reason[:1].lower()}{reason[1:]}") from error
    regions = len(document.regions)
    # Count shared points once per ring, because the cost of clipping grows with them.
    points = max(len(document.points), document.corners)
    if regions > MOST_REGIONS or points > MOST_POINTS:
        raise InvalidInput(
            f"scene: expected at most {MOST_REGIONS:,} regions with {MOST_POINTS:,} points, "
            f"got {regions:,} with {points:,}"
        )
    if len({region.id for region in document.regions}) < regions:
        raise InvalidInput("scene: expected distinct region ids, got one twice")
    for region in document.regions:
        if region.ring and max(region.ring) >= len(document.points):
            raise InvalidInput(
                f"scene: region {region.id} refers to point {max(region.ring)}, which does not exist"
            )
        if len(region.starts) >= MOST_OUTLINES:
            raise InvalidInput(
                f"scene: region {region.id}: expected at most {MOST_OUTLINES} outlines, "
                f"got {len(region.starts) + 1:,}"
            )
        bounds = (0, *region.starts, len(region.ring))
        if region.starts and any(first >= end for first, end in pairwise(bounds)):
            raise InvalidInput(
                f"scene: region {region.id}: expected outlines that begin within the ring, in order, "
                f"got {region.starts}"
            )
    return document


def without_proposals(document: Document) -> Document:
    """Return a document without the regions that were propagated and not accepted."""
    regions = tuple(region for region in document.regions if region.propagation != "proposed")
    return msgspec.structs.replace(document, regions=regions)


def encode_document(scene: Scene, id_prefix: str = "r") -> bytes:
    """Encode a scene of polygons; a region whose polygons overlap becomes several adjacent regions.

    The ids of regions are the prefix and a number from 1.
    """
    points: list[tuple[float, float]] = [(column, row) for row, column in scene.vertices]
    regions: list[dict[str, object]] = []
    for region in scene.regions:
        for rings in _separate_outlines(scene, region):
            made: dict[str, object] = {
                "id": f"{id_prefix}{len(regions) + 1}",
                "ring": tuple(chain.from_iterable(rings)),
                "name": region.name,
                "is_stuff": bool(region.is_stuff),
                "is_hidden": False,
                "is_locked": False,
            }
            if len(rings) > 1:
                made["starts"] = tuple(accumulate(len(ring) for ring in rings[:-1]))
            regions.append(made)
    document = {"version": 1, "points": points, "regions": regions, "next_id": len(regions) + 1}
    return msgspec.json.encode(document)


def _separate_outlines(scene: Scene, region: Region) -> list[list[Ring]]:
    """Group the rings of a region, so that each group can be the outlines of one region of a document."""
    rings = [ring for ring in region.rings if ring]
    if len(rings) < 2:
        return [rings] if rings else []
    if len(rings) > MOST_OUTLINES:
        return [[ring] for ring in rings]
    outlines = scene.polygons(replace(region, rings=tuple(rings)))
    is_union = not region.has_holes and any(are_holes(outlines))
    if is_union or first_meeting(outlines, scene.shape) is not None:
        return [[ring] for ring in rings]
    return [rings]


def document_to_scene(
    document: Document,
    *,
    name: str,
    shape: tuple[int, int],
    annotator: str = "",
    image_id: str = "",
) -> Scene:
    """Convert a document to a scene, clipped to the frame and filled by COCO's rule as in exports.

    Args:
        document: coordinates may lie anywhere.
        name: file name of the picture.
        shape: (H, W) of the picture.
        annotator: name of the annotator.
        image_id: id of the picture in exports; "" for its file name.
    """
    # Documents store (x, y), scenes (row, column).
    positions = np.array(document.points, dtype=np.float64).reshape(-1, 2)
    points = positions[:, ::-1]
    image = ImageRecord(
        id=image_id or name,
        shape=shape,
        file_name=name,
    )
    regions: list[tuple[Region, list[Points]]] = []
    for drawn in document.regions:
        outlines = clip_outlines(points, drawn, shape)
        region = Region(
            id=drawn.id,
            name=drawn.name,
            has_holes=have_holes(outlines, shape),
            is_stuff=drawn.is_stuff,
            attributes={"attributes": dict(drawn.attributes)} if drawn.attributes else {},
        )
        regions.append((region, outlines))
    return make_scene(image, regions, annotator=annotator, fill_rule="coco")


def have_holes(outlines: Sequence[Points], shape: tuple[int, int]) -> bool:
    """Return whether the extent of outlines may differ from their union: one lies in another, or two meet."""
    if len(outlines) < 2:
        return False
    return any(are_holes(outlines)) or first_meeting(outlines, shape) is not None


def clip_outlines(
    points: NDArray[np.float64],
    region: DrawnRegion,
    shape: tuple[int, int],
) -> list[Points]:
    """Clip the outlines of a region to the frame; each float64 (N, 2), rows and columns.

    Outlines outside the frame are left out.
    """
    clipped: list[Points] = []
    for indices in region.rings:
        ring = points[list(indices)].reshape(-1, 2)
        inside = ((ring >= 0) & (ring <= shape)).all()
        # Most outlines lie inside the frame, and clipping is slow.
        cut = ring if inside else clip_to_frame(ring, shape)
        outline = without_repeats(np.round(cut, DECIMALS))
        if len(outline):
            clipped.append(outline)
    return clipped
