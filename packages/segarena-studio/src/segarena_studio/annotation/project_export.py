"""Export of a project: all formats of `segarena amodal`, times and counts, optional photographs.

Scenes that pass the checks of the studio pass `segarena amodal check`, and the statistics run on
them.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from segarena.errors import InvalidInput
from segarena.files.atomic_write import atomic_path, write_atomic
from segarena.files.spreadsheets import escape_formula
from segarena.systems.scenes.files.formats import FORMATS, format_losses, write_scenes
from segarena.systems.scenes.model.scene import Scene, SceneSet
from segarena_server.db.datetimes import utc_datetime
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_studio.annotation.export_contents import ExportContents, ExportOptions, collect_export
from segarena_studio.annotation.time_tracking import read_region_times
from segarena_studio.orm_models import Project

ENDINGS = {
    "coco-amodal": ".json",
    "coco": ".json",
    "coco-modal": ".json",
    "rle": ".json",
    "csv": ".csv",
}
"""Suffixes of formats that are one file; the others are folders."""

TIMES = ("picture", "annotator", "state", "region", "name", "points", "total_s", "active_s")


StepContext = Callable[[str], AbstractContextManager[object]]
"""Returns the context in which a step runs, from the description of the step."""


def export_project(site: Site, project_id: int, out: Path, wanted: ExportOptions) -> list[str]:
    """Write a folder with the drawings of a project; return what the format cannot represent.

    OUT/scenes.json (or .csv, or scenes/)   the drawings
    OUT/times.csv                           points and seconds of each region
    OUT/images/                             the photographs, on request
    OUT/README.txt                          a description of these files

    Raises:
        InvalidInput: unknown format or choice, no drawings, or `out` is not empty.
        StoreError: the files cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: expected a new or empty folder; choose another one")
    with site.database.reading() as session:
        contents = collect_export(session, session.get_one(Project, project_id), wanted, site.now())
    with atomic_path(out) as part:
        losses = _write(contents, part)
        for name, one in contents.photographs.items():
            write_atomic(part / "images" / name, site.folder.photographs.read(one.sha256))
    return losses


def export_archive(
    contents: ExportContents,
    photographs: ContentStore,
    archive: Path,
    watch: StepContext = lambda _: nullcontext(),
) -> None:
    """Write the same as a zip archive.

    Raises:
        StoreError: the archive cannot be written.
    """
    with TemporaryDirectory(prefix="segarena-") as scratch:
        folder = Path(scratch) / "export"
        _write(contents, folder, watch)
        with (
            atomic_path(archive) as part,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    packed.write(path, path.relative_to(folder))
            for number, (name, one) in enumerate(contents.photographs.items(), 1):
                with watch(f"photograph {number} of {len(contents.photographs)}"):
                    packed.write(
                        photographs.fetch(one.sha256), f"images/{name}", zipfile.ZIP_STORED
                    )


def _write(
    contents: ExportContents, folder: Path, watch: StepContext = lambda _: nullcontext()
) -> list[str]:
    """Write everything but the photographs; return what the format cannot represent."""
    file_format = contents.wanted.file_format
    scenes: list[Scene] = []
    for number, task in enumerate(contents.drawn, 1):
        with watch(f"drawing {number} of {len(contents.drawn)}"):
            scenes.append(task.scene())
    scene_set = SceneSet(scenes=tuple(scenes))
    losses = format_losses(scene_set, file_format)
    folder.mkdir(parents=True)
    write_scenes(scene_set, folder / f"scenes{ENDINGS.get(file_format, '')}", file_format)
    write_atomic(folder / "times.csv", _times_csv(contents, scenes))
    write_atomic(folder / "README.txt", _readme(contents, scenes, losses))
    return losses


def _times_csv(contents: ExportContents, scenes: Sequence[Scene]) -> str:
    """Return the times of each region as CSV; deleted regions share one row per task."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TIMES)
    for task, scene in zip(contents.drawn, scenes, strict=True):
        times = read_region_times(task.spent)
        head = (escape_formula(task.picture), escape_formula(task.annotator), task.state)
        for region in scene.regions:
            time = times.pop(region.id, None)
            points = sum(len(ring) for ring in region.rings)
            seconds = (f"{time.total_s:.1f}", f"{time.active_s:.1f}") if time else ("", "")
            writer.writerow([*head, region.id, escape_formula(region.name), points, *seconds])
        if times:
            total_s = sum(time.total_s for time in times.values())
            active_s = sum(time.active_s for time in times.values())
            deleted = ["", "(deleted regions)", 0, f"{total_s:.1f}", f"{active_s:.1f}"]
            writer.writerow([*head, *deleted])
    return text.getvalue()


def _readme(contents: ExportContents, scenes: Sequence[Scene], losses: Sequence[str]) -> str:
    wanted = contents.wanted
    images = len({task.picture_id for task in contents.drawn})
    regions = sum(len(scene.regions) for scene in scenes)
    file_name = f"scenes{ENDINGS.get(wanted.file_format, '/')}"
    lines = [
        f"{contents.title}: {len(scenes)} annotations of {images} images, {regions} regions; {wanted.which} tasks, "
        f"{utc_datetime(contents.now):%Y-%m-%d %H:%M} UTC.",
        "",
        f"{file_name}: {FORMATS[wanted.file_format].title}.",
        "times.csv: points and seconds of each region; active is with the window in front.",
    ]
    if wanted.with_photographs:
        lines.append("images/: the photographs.")
    lines += [f"The format cannot represent {loss}." for loss in losses]
    lines += [
        "",
        "Regions are cut at the frame of their picture. Check with: segarena amodal check scenes.json",
        "",
    ]
    return "\n".join(lines)
