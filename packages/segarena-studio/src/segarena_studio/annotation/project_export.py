"""Export of a project: all formats of `segarena amodal`, times and counts, optional photographs.

Scenes that pass the studio's checks also pass `segarena amodal check-annotations`, and the statistics of
`segarena amodal` can be computed on them.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from segarena.errors import InvalidInput
from segarena.files.atomic_write import atomic_path, write_atomic
from segarena.files.spreadsheets import escape_formula
from segarena.reports.wording import count_text
from segarena.systems.scenes.files.formats import FORMATS, format_losses, write_scenes
from segarena.systems.scenes.model.scene import Scene, SceneSet
from segarena_server.db.datetimes import utc_datetime
from segarena_server.site import Site
from segarena_server.storage.content_store import ContentStore
from segarena_studio.annotation.export_contents import (
    ExportContents,
    ExportedTask,
    ExportOptions,
    collect_export,
)
from segarena_studio.annotation.exported_photographs import ExportedPhotograph, list_photographs
from segarena_studio.annotation.pictures import video_of
from segarena_studio.annotation.time_tracking import read_region_times
from segarena_studio.orm_models import Project

ENDINGS = {
    "coco-amodal": ".json",
    "coco": ".json",
    "coco-modal": ".json",
    "rle": ".json",
    "csv": ".csv",
}
"""Suffixes of the formats that consist of a single file; other formats are folders."""

TRACKS = ("video", "frame", "picture", "annotator", "track", "name", "origin")
TIMES = ("picture", "annotator", "state", "region", "name", "points", "total_s", "active_s")


_FILE_MODE = 0o644

StepContext = Callable[[str], AbstractContextManager[object]]
"""Function that returns the context in which a step runs, from the description of the step."""


def export_project(
    site: Site,
    project_id: int,
    out: Path,
    wanted: ExportOptions,
) -> list[str]:
    """Write a folder with the drawings of a project; return a list of details that the format cannot represent.

    OUT/scenes.json (or .csv, or scenes/)   the drawings
    OUT/times.csv                           points and seconds of each region
    OUT/tracks.csv                          the frames of each track, in a project of videos
    OUT/images/                             the photographs, on request
    OUT/README.txt                          a description of these files

    Raises:
        InvalidInput: the format or the choice of tasks is unknown, there are no drawings, or `out`
            is not empty.
        StoreError: the files cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: expected a new or empty folder; choose another one")
    with site.database.reading() as session:
        contents = collect_export(session, session.get_one(Project, project_id), wanted, site.now())
    photographs = _photographs(contents, site.folder.photographs)
    with atomic_path(out) as part:
        losses = _write(contents, photographs, part)
        for photograph in photographs:
            content = photograph.read(site.folder.photographs)
            write_atomic(part / "images" / photograph.name, content)
    return losses


def export_archive(
    contents: ExportContents,
    storage: ContentStore,
    archive: Path,
    watch: StepContext = lambda _: nullcontext(),
) -> None:
    """Write the contents of an export as a zip archive.

    Raises:
        StoreError: the archive cannot be written.
    """
    photographs = _photographs(contents, storage)
    with TemporaryDirectory(prefix="segarena-") as scratch:
        folder = Path(scratch) / "export"
        _write(contents, photographs, folder, watch)
        with (
            atomic_path(archive) as part,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    packed.write(path, path.relative_to(folder))
            for number, photograph in enumerate(photographs, 1):
                with watch(f"photograph {number} of {len(photographs)}"):
                    _pack(photograph, storage, packed)


def _photographs(contents: ExportContents, storage: ContentStore) -> list[ExportedPhotograph]:
    if not contents.wanted.with_photographs:
        return []
    return list_photographs(contents.drawn, storage)


def _pack(
    photograph: ExportedPhotograph,
    storage: ContentStore,
    packed: zipfile.ZipFile,
) -> None:
    name = f"images/{photograph.name}"
    # Photographs are already compressed.
    if not photograph.is_turned:
        packed.write(storage.fetch(photograph.sha256), name, zipfile.ZIP_STORED)
        return
    # A fixed time, so that an unchanged project gives an unchanged archive.
    entry = zipfile.ZipInfo(name)
    entry.external_attr = _FILE_MODE << 16
    packed.writestr(entry, photograph.read(storage), zipfile.ZIP_STORED)


def _write(
    contents: ExportContents,
    photographs: Sequence[ExportedPhotograph],
    folder: Path,
    watch: StepContext = lambda _: nullcontext(),
) -> list[str]:
    """Write everything except the photographs; return a list of details that the format cannot represent."""
    file_format = contents.wanted.file_format
    # The drawings must refer to the photographs by their names in the export.
    names = {photograph.picture: photograph.name for photograph in photographs}
    drawn: list[ExportedTask] = []
    for task in contents.drawn:
        drawn.append(replace(task, picture=names.get(task.picture, task.picture)))
    contents = replace(contents, drawn=tuple(drawn))
    scenes: list[Scene] = []
    for number, task in enumerate(contents.drawn, 1):
        with watch(f"drawing {number} of {len(contents.drawn)}"):
            scenes.append(task.scene())
    scene_set = SceneSet(scenes=tuple(scenes))
    losses = format_losses(scene_set, file_format)
    folder.mkdir(parents=True)
    write_scenes(scene_set, folder / f"scenes{ENDINGS.get(file_format, '')}", file_format)
    write_atomic(folder / "times.csv", _times_csv(contents, scenes))
    if any(task.frame for task in contents.drawn):
        write_atomic(folder / "tracks.csv", _tracks_csv(contents, scenes))
    write_atomic(folder / "README.txt", _readme(contents, scenes, losses, photographs))
    return losses


def _times_csv(contents: ExportContents, scenes: Sequence[Scene]) -> str:
    """Return the times of each region as CSV; all deleted regions of a task share one row."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TIMES)
    for task, scene in zip(contents.drawn, scenes, strict=True):
        times = read_region_times(task.spent)
        # People choose these names, and a spreadsheet would evaluate a name that begins with "=".
        head = (escape_formula(task.picture), escape_formula(task.annotator), task.state)
        for region in scene.regions:
            # The remaining times belong to deleted regions.
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


def _tracks_csv(contents: ExportContents, scenes: Sequence[Scene]) -> str:
    """Return a row for each region of each frame: which object it is, and whether it was propagated."""
    rows: list[list[object]] = []
    for task, scene in zip(contents.drawn, scenes, strict=True):
        for region in scene.regions:
            origin = "drawn"
            if "propagation" in region.attributes:
                origin = "propagated and accepted"
            row: list[object] = [
                escape_formula(video_of(task.picture)),
                task.frame,
                escape_formula(task.picture),
                escape_formula(task.annotator),
                region.id,
                escape_formula(region.name),
                origin,
            ]
            rows.append(row)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TRACKS)
    writer.writerows(rows)
    return text.getvalue()


def _readme(
    contents: ExportContents,
    scenes: Sequence[Scene],
    losses: Sequence[str],
    photographs: Sequence[ExportedPhotograph],
) -> str:
    wanted = contents.wanted
    images = len({task.picture_id for task in contents.drawn})
    regions = sum(len(scene.regions) for scene in scenes)
    file_name = f"scenes{ENDINGS.get(wanted.file_format, '/')}"
    lines = [
        f"{contents.title}: {count_text(len(scenes), 'annotation')} of {count_text(images, 'image')}, "
        f"{count_text(regions, 'region')}; {wanted.which} tasks, "
        f"{utc_datetime(contents.now):%Y-%m-%d %H:%M} UTC.",
        "",
        f"{file_name}: {FORMATS[wanted.file_format].title}.",
        "times.csv: points and seconds of each region; active is the part during which the window was in front.",
    ]
    if any(task.frame for task in contents.drawn):
        lines.append(
            "tracks.csv: the track of each region, which is the same in all frames of a video, and whether the region "
            "was drawn, or propagated by a segmenter and accepted by the annotator."
        )
        left_out = sum(len(task.read().regions) for task in contents.drawn) - regions
        if left_out:
            lines.append(f"{left_out} proposals that nobody has accepted are left out.")
    if wanted.with_photographs:
        lines.append(
            "images/: the photographs, upright; those that EXIF rotated, and those that browsers cannot show, are PNG."
        )
    lines.append(
        "All coordinates are those of upright photographs, rotated by their EXIF orientation."
    )
    for photograph in photographs:
        if photograph.is_deep:
            lines.append(
                f"images/{photograph.name} is the unchanged file of a 16-bit picture; coordinates are those of "
                "its stored pixels (of the first page, if it has several)."
            )
        if photograph.name != photograph.picture:
            lines.append(f"images/{photograph.name} was {photograph.picture} in the project.")
    lines += [f"The format cannot represent {loss}." for loss in losses]
    lines += [
        "",
        "Regions are cut at the frame of their picture. "
        f"Check with: segarena amodal check-annotations {file_name.rstrip('/')}",
        "",
    ]
    return "\n".join(lines)
