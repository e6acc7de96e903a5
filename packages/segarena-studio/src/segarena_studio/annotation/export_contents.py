"""Contents of an export: the options, and the selected tasks with their stored drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.systems.scenes.files.formats import FORMATS
from segarena.systems.scenes.model.scene import Region, Scene
from segarena_server.db.orm_models import Person
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.pictures import video_of
from segarena_studio.annotation.scene_document import (
    Document,
    document_to_scene,
    read_document,
    without_proposals,
)
from segarena_studio.orm_models import STATES, Draft, Picture, Project, Task

CHOICES = {
    "approved": ("approved",),
    "finished": ("finished", "in review", "approved"),
    "begun": tuple(state for state in STATES if state != "clean"),
}
"""Exported tasks: those that a reviewer approved, those that annotators finished, or all that were begun.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """Options of an export.

    Attributes:
        file_format: one of `FORMATS`.
        which: one of `CHOICES`.
        annotator: export only drawings of this account; "" for all.
        is_nameless: whether annotators are identified by numbers instead of names.
        with_photographs: whether to include the photographs.
    """

    file_format: str = "coco-amodal"
    which: str = "finished"
    annotator: str = ""
    is_nameless: bool = False
    with_photographs: bool = False

    def check(self) -> None:
        """Raise `InvalidInput` for an unknown format or choice of tasks."""
        if self.file_format not in FORMATS:
            raise InvalidInput(f"format {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.which not in CHOICES:
            raise InvalidInput(f"which {self.which!r}: expected one of {', '.join(CHOICES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTask:
    """One task in an export, in a form that can be sent to the process that writes the files.

    Attributes:
        picture_id, picture, shape: number, name and (H, W) of the picture.
        sha256, kind, bytes: hash, media type and size of the photograph.
        annotator: name or number of the annotator in the export.
        state: state of the task.
        document: the drawing, compressed.
        spent: milliseconds spent on each region, as JSON.
        frame: number of the picture among the frames of its video, from 1; 0 in a project without
            videos.
    """

    picture_id: int
    picture: str
    shape: tuple[int, int]
    sha256: str
    kind: str
    bytes: int
    annotator: str
    state: str
    document: bytes
    spent: str
    frame: int = 0

    def read(self) -> Document:
        """Return the drawing, including proposals that nobody has accepted."""
        return read_document(decompress_body(self.document))

    def scene(self) -> Scene:
        """Return the drawing as a scene, without proposals that nobody has accepted.

        The id of an image is the number of the picture in the studio, so that later exports match
        earlier ones. Regions of a video's frame have the key `track_id`, and those that were
        propagated and accepted also have `propagation`.
        """
        document = without_proposals(self.read())
        scene = document_to_scene(
            document,
            name=self.picture,
            shape=self.shape,
            annotator=self.annotator,
            image_id=str(self.picture_id),
        )
        if not self.frame:
            return scene
        accepted = {one.id for one in document.regions if one.propagation == "accepted"}
        regions: list[Region] = []
        for region in scene.regions:
            keys: dict[str, Any] = {**region.attributes, "track_id": region.id}
            if region.id in accepted:
                keys["propagation"] = "accepted"
            regions.append(replace(region, attributes=keys))
        return replace(scene, regions=tuple(regions))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportContents:
    """Contents of an export: the project's title, the options, the tasks by picture and annotator, and the time."""

    title: str
    wanted: ExportOptions
    drawn: tuple[ExportedTask, ...]
    now: float

    @property
    def photographs(self) -> dict[str, ExportedTask]:
        """The photographs to include, by name."""
        return {one.picture: one for one in self.drawn} if self.wanted.with_photographs else {}

    @property
    def photograph_bytes(self) -> int:
        """Total size of the photographs to include."""
        return sum(one.bytes for one in self.photographs.values())


def collect_export(
    session: Session,
    project: Project,
    wanted: ExportOptions,
    now: float,
) -> ExportContents:
    """Collect the contents of an export.

    Raises:
        InvalidInput: the format or the choice of tasks is unknown, or there is no task to export.
    """
    wanted.check()
    drawn = tuple(_drawn(session, project, wanted))
    if not drawn:
        advice = "" if wanted.which == "begun" else "; choose begun to include unfinished ones"
        raise InvalidInput(
            f"project {project.name}: expected tasks that are {wanted.which}, found none{advice}"
        )
    return ExportContents(
        title=project.name,
        wanted=wanted,
        drawn=drawn,
        now=now,
    )


def _drawn(
    session: Session,
    project: Project,
    wanted: ExportOptions,
) -> Iterator[ExportedTask]:
    frames = _number_frames(session, project)
    query = (
        select(Task, Picture, Draft.scene, Person.name)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Draft, (Draft.task_id == Task.id) & (Draft.revision == Task.revision))
        .outerjoin(Person, Person.id == Task.person_id)
        .where(Task.project_id == project.id, Task.state.in_(CHOICES[wanted.which]))
        .order_by(Picture.name, Task.id)
        # Stream the drawings, each of which may take megabytes.
        .execution_options(yield_per=50)
    )
    for task, picture, document, name in session.execute(query):
        if wanted.annotator and name != wanted.annotator:
            continue
        # Use account numbers, which are stable across exports and have no meaning outside the
        # studio.
        label = f"annotator {task.person_id}" if wanted.is_nameless else name or ""
        yield ExportedTask(
            picture_id=picture.id,
            picture=picture.name,
            shape=(picture.height, picture.width),
            sha256=picture.sha256,
            kind=picture.kind,
            bytes=picture.bytes,
            annotator=label,
            state=task.state,
            document=document,
            spent=task.spent,
            frame=frames.get(picture.name, 0),
        )


def _number_frames(session: Session, project: Project) -> dict[str, int]:
    """Return the number of each picture among the frames of its video; empty without videos."""
    numbers: dict[str, int] = {}
    if not project.has_videos:
        return numbers
    counts: Counter[str] = Counter()
    names = select(Picture.name).where(Picture.project_id == project.id)
    for name in session.scalars(names.order_by(Picture.name)):
        counts[video_of(name)] += 1
        numbers[name] = counts[video_of(name)]
    return numbers


def archive_name(title: str, wanted: ExportOptions) -> str:
    """Return the file name of a download, in characters that every system accepts."""
    letters = [one if one.isascii() and one.isalnum() else "-" for one in title]
    stem = "".join(letters).strip("-") or "project"
    return f"{stem[:60]}-{wanted.file_format}.zip"
