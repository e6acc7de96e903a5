"""What was drawn, as files: every format of `segarena amodal`, times and counts, and the photographs if wanted.

What passed the checks of the studio passes `segarena amodal check`, and the statistics run on it.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena.files.spreadsheets import plain_cell
from segarena.files.whole import whole_path, write_whole
from segarena.server.moments import moment_of
from segarena.server.packing import unpack
from segarena.server.site import Site
from segarena.server.tables import Person
from segarena.studio.drawing.documents import read_document, scene_of
from segarena.studio.drawing.times import spent_on
from segarena.studio.tables import STATES, Draft, Picture, Project, Task
from segarena.systems.scenes.files.formats import FORMATS, losses, write_scenes
from segarena.systems.scenes.model.scene import Scene, SceneSet

ENDINGS = {"coco-amodal": ".json", "coco": ".json", "coco-modal": ".json", "rle": ".json", "csv": ".csv"}
"""Of formats that are one file; the others are folders."""

CHOICES = {
    "approved": ("approved",),
    "finished": ("finished", "in review", "approved"),
    "begun": tuple(state for state in STATES if state != "clean"),
}
"""Which tasks go out: what a reviewer approved, what annotators finished, or all that was begun."""

TIMES = ("picture", "annotator", "state", "region", "name", "points", "total_s", "active_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
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
class Drawn:
    """A task that goes out: what was drawn, and of what."""

    scene: Scene
    task: Task
    picture: Picture


def drawn_of(session: Session, project: Project, wanted: Wanted) -> Iterator[Drawn]:
    """Yield what was drawn in a project, by picture and annotator.

    Pictures have the number that they have in the studio as their id, so that later exports fit to earlier ones.
    """
    asked = (
        select(Task, Picture, Draft, Person)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Draft, (Draft.task_id == Task.id) & (Draft.revision == Task.revision))
        .outerjoin(Person, Person.id == Task.person_id)
        .where(Task.project_id == project.id, Task.state.in_(CHOICES[wanted.which]))
        .order_by(Picture.name, Task.id)
        .execution_options(yield_per=50)
    )
    for task, picture, draft, person in session.execute(asked):
        name = person.name if person else ""
        if wanted.annotator and name != wanted.annotator:
            continue
        annotator = f"annotator {task.person_id}" if wanted.is_nameless else name
        document = read_document(unpack(draft.scene))
        shape = picture.height, picture.width
        scene = scene_of(document, name=picture.name, shape=shape, annotator=annotator, image_id=str(picture.id))
        yield Drawn(scene=scene, task=task, picture=picture)


def export(site: Site, project_id: int, out: Path, wanted: Wanted) -> list[str]:
    """Write a folder with what was drawn in a project; return what the format cannot carry, a line each.

    OUT/scenes.json (or .csv, or scenes/)   what was drawn
    OUT/times.csv                           points and seconds of each region
    OUT/images/                             the photographs, if wanted
    OUT/README.txt                          what this is

    Raises:
        InvalidInput: there is no such format or choice, nothing that was drawn, or something in `out`.
        StoreError: it cannot be written.
    """
    wanted.check()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: expected a place where nothing is; name another one")
    with site.database.reading() as session:
        project = session.get_one(Project, project_id)
        drawn = list(drawn_of(session, project, wanted))
    if not drawn:
        raise InvalidInput(f"project {project.name}: expected tasks that are {wanted.which}, found none")
    scenes = SceneSet(scenes=tuple(one.scene for one in drawn))
    lost = losses(scenes, wanted.file_format)
    with whole_path(out) as part:
        part.mkdir(parents=True)
        write_scenes(scenes, part / f"scenes{ENDINGS.get(wanted.file_format, '')}", wanted.file_format)
        write_whole(part / "times.csv", _times(drawn))
        write_whole(part / "README.txt", _readme(project, wanted, drawn, lost, site.now()))
        if wanted.with_photographs:
            for picture in {one.picture.id: one.picture for one in drawn}.values():
                write_whole(part / "images" / picture.name, site.folder.photographs.read(picture.sha256))
    return lost


def export_archive(site: Site, project_id: int, archive: Path, wanted: Wanted) -> None:
    """Write the same as a zip.

    Raises:
        InvalidInput: as `export`.
        StoreError: it cannot be written.
    """
    with TemporaryDirectory(prefix="segarena-") as scratch:
        folder = Path(scratch) / "export"
        export(site, project_id, folder, wanted)
        with whole_path(archive) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    packed.write(path, path.relative_to(folder))


def _times(drawn: Sequence[Drawn]) -> str:
    """Return the times of each region as CSV; those that were deleted are in one row of each task."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TIMES)
    for one in drawn:
        spent = spent_on(one.task)
        head = (plain_cell(one.picture.name), plain_cell(one.scene.annotator), one.task.state)
        for region in one.scene.regions:
            took = spent.pop(region.id, None)
            points = sum(len(ring) for ring in region.rings)
            seconds = (f"{took.total_s:.1f}", f"{took.active_s:.1f}") if took else ("", "")
            writer.writerow([*head, region.id, plain_cell(region.name), points, *seconds])
        if spent:
            total, active = (sum(getattr(took, name) for took in spent.values()) for name in ("total_s", "active_s"))
            writer.writerow([*head, "", "(deleted regions)", 0, f"{total:.1f}", f"{active:.1f}"])
    return text.getvalue()


def _readme(project: Project, wanted: Wanted, drawn: Sequence[Drawn], lost: Sequence[str], now: float) -> str:
    images = len({one.picture.id for one in drawn})
    regions = sum(len(one.scene.regions) for one in drawn)
    lines = [
        f"{project.name}: {len(drawn)} annotations of {images} images, {regions} regions; {wanted.which} tasks, "
        f"{moment_of(now):%Y-%m-%d %H:%M} UTC.",
        "",
        f"scenes{ENDINGS.get(wanted.file_format, '/')}: {FORMATS[wanted.file_format].title}.",
        "times.csv: points and seconds of each region; active is with the window in front.",
        *(["images/: the photographs."] if wanted.with_photographs else []),
        *(f"The format cannot carry {one}." for one in lost),
        "",
        "Regions are cut at the frame of their picture. Check with: segarena amodal check scenes.json",
        "",
    ]
    return "\n".join(lines)


def archive_name(project: Project, wanted: Wanted) -> str:
    """Return what a download is called, of characters that every system takes."""
    stem = "".join(one if one.isascii() and one.isalnum() else "-" for one in project.name).strip("-") or "project"
    return str(PurePosixPath(f"{stem[:60]}-{wanted.file_format}.zip"))
