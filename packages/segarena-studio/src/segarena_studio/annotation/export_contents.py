"""What goes out of a project: who wants what, and the tasks that this is about, as they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.systems.scenes.files.formats import FORMATS
from segarena.systems.scenes.model.scene import Scene
from segarena_server.db.orm_models import Person
from segarena_server.storage.compression import decompress_body
from segarena_studio.annotation.scene_document import document_to_scene, read_document
from segarena_studio.orm_models import STATES, Draft, Picture, Project, Task

CHOICES = {
    "approved": ("approved",),
    "finished": ("finished", "in review", "approved"),
    "begun": tuple(state for state in STATES if state != "clean"),
}
"""Which tasks go out: what a reviewer approved, what annotators finished, or all that was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What somebody wants to have.

    Attributes:
        file_format: one of `FORMATS`.
        which: one of `CHOICES`.
        annotator: only of this account; "" for all.
        is_nameless: whether annotators are numbered instead of named.
        with_photographs: whether the photographs come along.
    """

    file_format: str = "coco-amodal"
    which: str = "finished"
    annotator: str = ""
    is_nameless: bool = False
    with_photographs: bool = False

    def check(self) -> None:
        """Raise `InvalidInput` where there is no such format or choice."""
        if self.file_format not in FORMATS:
            raise InvalidInput(f"format {self.file_format!r}: expected one of {', '.join(FORMATS)}")
        if self.which not in CHOICES:
            raise InvalidInput(f"which {self.which!r}: expected one of {', '.join(CHOICES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTask:
    """A task that goes out; it travels to the process that writes it.

    Attributes:
        picture_id, picture, shape: of what, with its (H, W).
        sha256, bytes: of the photograph.
        annotator: as they are called in what goes out.
        state: of the task.
        document: what was drawn, packed.
        spent: milliseconds with each region, as JSON.
    """

    picture_id: int
    picture: str
    shape: tuple[int, int]
    sha256: str
    bytes: int
    annotator: str
    state: str
    document: bytes
    spent: str

    def scene(self) -> Scene:
        """Return what was drawn.

        Pictures have the number that they have in the studio as their id, so that later exports fit to earlier ones.
        """
        document = read_document(decompress_body(self.document))
        image_id = str(self.picture_id)
        return document_to_scene(
            document,
            name=self.picture,
            shape=self.shape,
            annotator=self.annotator,
            image_id=image_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportContents:
    """All that goes out: of a project, what somebody wants, by picture and annotator, at a time."""

    title: str
    wanted: ExportOptions
    drawn: tuple[ExportedTask, ...]
    now: float

    @property
    def photographs(self) -> dict[str, ExportedTask]:
        """The photographs that come along, by name."""
        return {one.picture: one for one in self.drawn} if self.wanted.with_photographs else {}

    @property
    def photograph_bytes(self) -> int:
        """How large these are."""
        return sum(one.bytes for one in self.photographs.values())


def collect_export(
    session: Session, project: Project, wanted: ExportOptions, now: float
) -> ExportContents:
    """Return what goes out of a project.

    Raises:
        InvalidInput: there is no such format or choice, or nothing that was drawn.
    """
    wanted.check()
    drawn = tuple(_drawn(session, project, wanted))
    if not drawn:
        raise InvalidInput(
            f"project {project.name}: expected tasks that are {wanted.which}, found none"
        )
    return ExportContents(title=project.name, wanted=wanted, drawn=drawn, now=now)


def _drawn(session: Session, project: Project, wanted: ExportOptions) -> Iterator[ExportedTask]:
    asked = (
        select(Task, Picture, Draft.scene, Person.name)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Draft, (Draft.task_id == Task.id) & (Draft.revision == Task.revision))
        .outerjoin(Person, Person.id == Task.person_id)
        .where(Task.project_id == project.id, Task.state.in_(CHOICES[wanted.which]))
        .order_by(Picture.name, Task.id)
        .execution_options(yield_per=50)
    )
    for task, picture, document, name in session.execute(asked):
        if wanted.annotator and name != wanted.annotator:
            continue
        yield ExportedTask(
            picture_id=picture.id,
            picture=picture.name,
            shape=(picture.height, picture.width),
            sha256=picture.sha256,
            bytes=picture.bytes,
            annotator=f"annotator {task.person_id}" if wanted.is_nameless else name or "",
            state=task.state,
            document=document,
            spent=task.spent,
        )


def archive_name(title: str, wanted: ExportOptions) -> str:
    """Return what a download is called, of characters that every system takes."""
    stem = (
        "".join(one if one.isascii() and one.isalnum() else "-" for one in title).strip("-")
        or "project"
    )
    return str(PurePosixPath(f"{stem[:60]}-{wanted.file_format}.zip"))
