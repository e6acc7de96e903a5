"""Tracks: objects with the same region id in the frames of a video.

In a project of videos, the pictures of a folder are the frames of a video, sorted by name. A region
is a proposal as long as nobody has accepted or corrected its propagated outline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.access import OPEN_STATES
from segarena_studio.annotation.drafts import TRACK_ID, add_revision
from segarena_studio.annotation.pictures import video_of
from segarena_studio.annotation.propagation import RegionPolygons
from segarena_studio.annotation.scene_document import Document, DrawnRegion, read_document
from segarena_studio.orm_models import Draft, Picture, Task

EMPTY = b'{"version":1,"points":[],"regions":[],"next_id":1}'
"""The document of a frame that nobody has begun."""

TrackState = Literal["drawn", "accepted", "proposed"]


class VideoFrame(NamedTuple):
    """A frame of a video: the task, its picture, and the newest document, compressed, or None before the first save."""

    task: Task
    picture: Picture
    scene: bytes | None

    @property
    def text(self) -> bytes:
        """The newest document as JSON."""
        return EMPTY if self.scene is None else decompress_body(self.scene)

    @property
    def document(self) -> Document:
        """The newest document."""
        return read_document(self.text)


class FrameTracks(msgspec.Struct, frozen=True, kw_only=True):
    """A frame on the timeline of the editor.

    Attributes:
        task: number of its task.
        name: name of the picture.
        state: state of the task.
        revision: number of its newest revision; 0 before the first.
        tracks: how each region of the frame was made, by region id.
    """

    task: int
    name: str
    state: str
    revision: int
    tracks: dict[str, TrackState]


def list_frames(session: Session, task: Task) -> list[VideoFrame]:
    """Return, in order, the frames of a task's video that are assigned to the task's annotator."""
    return _frames(session, task, _select_frames(task))


def lock_frames(session: Session, task: Task) -> list[VideoFrame]:
    """Return the frames of `list_frames`, locked against other changes until the transaction ends."""
    # By id, so that two transactions lock them in the same order.
    locked = select(Task.id).where(Task.project_id == task.project_id)
    own = locked.where(Task.person_id == task.person_id).order_by(Task.id)
    session.execute(own.with_for_update(of=Task))
    fresh = _select_frames(task).execution_options(populate_existing=True)
    return _frames(session, task, fresh)


def _select_frames(task: Task) -> Select[Task, Picture, bytes]:
    return (
        select(Task, Picture, Draft.scene)
        .join(Picture, Picture.id == Task.picture_id)
        .outerjoin(Draft, (Draft.task_id == Task.id) & (Draft.revision == Task.revision))
        .where(Task.project_id == task.project_id, Task.person_id == task.person_id)
        .where(Picture.name.startswith(video_of(task.picture.name), autoescape=True))
        .order_by(Picture.name)
    )


def _frames(
    session: Session,
    task: Task,
    query: Select[Task, Picture, bytes],
) -> list[VideoFrame]:
    video = video_of(task.picture.name)
    frames = [VideoFrame(*row) for row in session.execute(query)]
    # The query also finds the pictures of subfolders.
    return [frame for frame in frames if video_of(frame.picture.name) == video]


def list_tracks(frames: Sequence[VideoFrame]) -> list[FrameTracks]:
    """Return the frames for the timeline."""
    return [
        FrameTracks(
            task=frame.task.id,
            name=frame.picture.name,
            state=frame.task.state,
            revision=frame.task.revision,
            tracks={region.id: track_state(region) for region in frame.document.regions},
        )
        for frame in frames
    ]


def track_state(region: DrawnRegion) -> TrackState:
    """Return whether a region was drawn, proposed or accepted."""
    return region.propagation or "drawn"


def is_key(frame: VideoFrame, region_id: str) -> bool:
    """Return whether a person drew or accepted a region in a frame."""
    regions = {region.id: region for region in frame.document.regions}
    return region_id in regions and regions[region_id].propagation != "proposed"


def outlines_of(document: Document, region: DrawnRegion) -> RegionPolygons:
    """Return the outlines of a region, (x, y)."""
    return tuple(tuple(document.points[index] for index in ring) for ring in region.rings if ring)


def propose_region(
    text: bytes,
    source: bytes,
    region_id: str,
    outlines: RegionPolygons,
) -> bytes | None:
    """Return a document with a proposal for a region; None if nothing changes.

    A region that a person drew or accepted stays as it is. Without outlines, an earlier proposal is
    removed. Name, kind, attributes and depth of a new region are those of the source.

    Args:
        text: document of the frame.
        source: document of the key frame.
        region_id: id of the region in both.
        outlines: outlines in the frame.
    """
    document = msgspec.json.decode(text)
    regions: list[dict[str, Any]] = document["regions"]
    origin: list[dict[str, Any]] = msgspec.json.decode(source)["regions"]
    places = {region["id"]: place for place, region in enumerate(regions)}
    place = places.get(region_id)
    if place is None:
        if not outlines:
            return None
        place = _place_in(places, [region["id"] for region in origin], region_id)
        drawn = next(region for region in origin if region["id"] == region_id)
    else:
        drawn = regions.pop(place)
        if drawn.get("propagation") != "proposed":
            return None
    if outlines:
        region = {
            "id": region_id,
            "ring": [],
            "name": drawn["name"],
            "is_stuff": drawn["is_stuff"],
            "is_hidden": False,
            "is_locked": False,
            "propagation": "proposed",
        }
        if drawn.get("attributes"):
            region["attributes"] = drawn["attributes"]
        _set_outlines(document, region, outlines)
        regions.insert(place, region)
    return msgspec.json.encode(document)


def _place_in(
    places: Mapping[str, int],
    order: Sequence[str],
    region_id: str,
) -> int:
    """Return the index of a new region: behind the nearest region in front of it in the key frame, or 0."""
    for before in reversed(order[: order.index(region_id)]):
        if before in places:
            return places[before] + 1
    return 0


def _set_outlines(
    document: dict[str, Any],
    region: dict[str, Any],
    outlines: RegionPolygons,
) -> None:
    """Set the outlines of a region; new points replace unused points first, as in the editor."""
    points: list[Any] = document["points"]
    used: set[int] = set(document.get("open", ()))
    for other in document["regions"]:
        used.update(other["ring"])
    free = [index for index in range(len(points)) if index not in used]
    ring: list[int] = []
    starts: list[int] = []
    for outline in outlines:
        if ring:
            starts.append(len(ring))
        for point in outline:
            index = free.pop(0) if free else len(points)
            points[index : index + 1] = [point]
            ring.append(index)
    region["ring"] = ring
    if starts:
        region["starts"] = starts


def settle_proposals(text: bytes, region_id: str, *, is_accepted: bool) -> bytes | None:
    """Return a document in which the proposal for a region is accepted or removed; None if there is none."""
    document = msgspec.json.decode(text)
    for place, region in enumerate(document["regions"]):
        if region["id"] == region_id and region.get("propagation") == "proposed":
            if is_accepted:
                region["propagation"] = "accepted"
            else:
                del document["regions"][place]
            return msgspec.json.encode(document)
    return None


def settle_track(
    session: Session,
    task: Task,
    region_id: str,
    now: float,
    *,
    is_accepted: bool,
) -> int:
    """Accept or remove all proposals for a region in the other frames of a video; return the number of frames.

    Finished frames stay as they are. The frame of the task itself is left to the editor, which can undo
    the change.
    """
    count = 0
    for frame in lock_frames(session, task):
        if frame.task.id == task.id or frame.task.state not in OPEN_STATES:
            continue
        text = settle_proposals(frame.text, region_id, is_accepted=is_accepted)
        if text is not None:
            save_frame(session, frame.task, text, now)
            count += 1
    return count


def save_frame(
    session: Session,
    task: Task,
    text: bytes,
    now: float,
) -> None:
    """Add a revision that did not come from an editor.

    Raises:
        InvalidInput: the document has become too large.
    """
    document = read_document(text)
    client_id = f"{TRACK_ID}{task.revision + 1}"
    add_revision(session, task, text, document, now, client_id=client_id)


def check_sizes(frames: Sequence[VideoFrame]) -> None:
    """Raise `InvalidInput` unless all frames have the same size."""
    first = frames[0].picture
    for frame in frames:
        picture = frame.picture
        if (picture.width, picture.height) != (first.width, first.height):
            raise InvalidInput(
                f"expected frames of one size, got {first.name} with {first.width} x {first.height} and "
                f"{picture.name} with {picture.width} x {picture.height} pixels; put them in different folders"
            )
