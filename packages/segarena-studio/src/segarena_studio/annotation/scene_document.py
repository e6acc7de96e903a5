"""The scene document that the editor saves: checked when it comes, kept as it came, read as a `Scene`.

`{"version": 1, "points": [[x, y], ...], "regions": [{"id", "ring", "name", "is_stuff", ...}, ...], "next_id": 8}`,
regions front to back. Coordinates are (x, y) in pixels of the picture as it is shown, and may lie outside of it; a
point that two rings name is one shared vertex. What else the editor keeps in a document stays in it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from segarena.errors import InvalidInput
from segarena.systems.scenes.model.polygons import Points, clip_to_frame, without_repeats
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene, make_scene

MOST_BYTES = 4 * 2**20
"""Of one document."""
MOST_REGIONS = 2000
MOST_POINTS = 100_000
"""Of one document; a scene of the papers has some dozens, and a few thousand."""
DECIMALS = 2
"""Of coordinates in what leaves the studio; where two regions are cut at the frame, both get the same corner."""
_FARTHEST_PX = 1e6

_Name = Annotated[str, msgspec.Meta(max_length=200)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
_Coordinate = Annotated[float, msgspec.Meta(ge=-_FARTHEST_PX, le=_FARTHEST_PX)]
_Index = Annotated[int, msgspec.Meta(ge=0)]


class DrawnRegion(msgspec.Struct, frozen=True, kw_only=True):
    """A region of a document."""

    id: _Id
    ring: tuple[_Index, ...]
    name: _Name = ""
    is_stuff: bool | None = None


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document, as far as the server goes by it."""

    version: Literal[1]
    points: tuple[tuple[_Coordinate, _Coordinate], ...]
    regions: tuple[DrawnRegion, ...]
    open: tuple[_Index, ...] = ()
    """The ring that is being drawn and not closed yet."""

    @property
    def corners(self) -> int:
        """The vertices of all rings; a shared one counts for each."""
        return sum(len(region.ring) for region in self.regions)


def read_document(text: bytes | msgspec.Raw) -> Document:
    """Return a document from JSON.

    Raises:
        InvalidInput: more than 4 MiB, regions or points than there may be, no JSON of this kind, two regions of one id,
            or a ring that names no point.
    """
    size = len(bytes(text))
    if size > MOST_BYTES:
        raise InvalidInput(f"scene: expected at most {MOST_BYTES:,} bytes, got {size:,}")
    try:
        document = msgspec.json.decode(text, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"scene: {str(error)[:1].lower()}{str(error)[1:]}") from error
    if (
        len(document.regions) > MOST_REGIONS
        or max(len(document.points), document.corners) > MOST_POINTS
    ):
        counts = f"{len(document.regions):,} with {max(len(document.points), document.corners):,}"
        raise InvalidInput(
            f"scene: expected at most {MOST_REGIONS:,} regions with {MOST_POINTS:,} points, got {counts}"
        )
    if len({region.id for region in document.regions}) < len(document.regions):
        raise InvalidInput("scene: expected distinct region ids, got one twice")
    for region in document.regions:
        if region.ring and max(region.ring) >= len(document.points):
            raise InvalidInput(
                f"scene: region {region.id} names point {max(region.ring)}, which is not there"
            )
    return document


def encode_document(scene: Scene) -> bytes:
    """Return a scene of polygons as a document; a region of several polygons becomes several regions in its place."""
    points: list[tuple[float, float]] = [(column, row) for row, column in scene.vertices]
    regions: list[dict[str, object]] = []
    for region in scene.regions:
        for ring in region.rings:
            told = {
                "name": region.name,
                "is_stuff": bool(region.is_stuff),
                "is_hidden": False,
                "is_locked": False,
            }
            regions.append({"id": f"r{len(regions) + 1}", "ring": ring, **told})
    return msgspec.json.encode(
        {"version": 1, "points": points, "regions": regions, "next_id": len(regions) + 1},
    )


def document_to_scene(
    document: Document,
    *,
    name: str,
    shape: tuple[int, int],
    annotator: str = "",
    image_id: str = "",
) -> Scene:
    """Return what a document draws on a picture, cut at its frame, in pixels by COCO's rule as exports have it.

    Args:
        document: with coordinates anywhere.
        name: of the picture's file.
        shape: (H, W) of the picture.
        annotator: who drew it.
        image_id: of the picture in what leaves the studio; "" for its name.
    """
    points = np.array(document.points, dtype=np.float64).reshape(-1, 2)[:, ::-1]
    image = ImageRecord(id=image_id or name, shape=shape, file_name=name)
    drawn = [
        (
            Region(id=region.id, name=region.name, is_stuff=region.is_stuff),
            [ring for ring in [clip_outline(points, region, shape)] if len(ring)],
        )
        for region in document.regions
    ]
    return make_scene(image, drawn, annotator=annotator, fill_rule="coco")


def clip_outline(
    points: NDArray[np.float64], region: DrawnRegion, shape: tuple[int, int]
) -> Points:
    """Return the outline of a region as far as it lies in the frame, float64 (N, 2), rows and columns."""
    ring = points[list(region.ring)].reshape(-1, 2)
    inside = ((ring >= 0) & (ring <= shape)).all()
    cut = ring if inside else clip_to_frame(ring, shape)
    return without_repeats(np.round(cut, DECIMALS))
