"""What was drawn, as files: every format of `segarena amodal`, times and counts, and the photographs if wanted.

What passed the checks of the studio passes `segarena amodal check`, and the statistics run on it.
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
from segarena.files.atomic_write import whole_path, write_whole
from segarena.files.spreadsheets import plain_cell
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
"""Of formats that are one file; the others are folders."""

TIMES = ("picture", "annotator", "state", "region", "name", "points", "total_s", "active_s")


StepContext = Callable[[str], AbstractContextManager[object]]
"""What is entered for each step, with what that is."""


def export_project(site: Site, project_id: int, out: Path, wanted: ExportOptions) -> list[str]:
    """Write a folder with what was drawn in a project; return what the format cannot carry, a line each.

    OUT/scenes.json (or .csv, or scenes/)   what was drawn
    OUT/times.csv                           points and seconds of each region
    OUT/images/                             the photographs, if wanted
    OUT/README.txt                          what this is

    Raises:
        InvalidInput: there is no such format or choice, nothing that was drawn, or something in `out`.
        StoreError: it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out}: expected a place where nothing is; name another one")
    with site.database.reading() as session:
        told = collect_export(session, session.get_one(Project, project_id), wanted, site.now())
    with whole_path(out) as part:
        lost = _write(told, part)
        for name, one in told.photographs.items():
            write_whole(part / "images" / name, site.folder.photographs.read(one.sha256))
    return lost


def export_archive(
    told: ExportContents,
    photographs: ContentStore,
    archive: Path,
    watch: StepContext = lambda _: nullcontext(),
) -> None:
    """Write the same as a zip.

    Raises:
        StoreError: it cannot be written.
    """
    with TemporaryDirectory(prefix="segarena-") as scratch:
        folder = Path(scratch) / "export"
        _write(told, folder, watch)
        with (
            whole_path(archive) as part,
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed,
        ):
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    packed.write(path, path.relative_to(folder))
            for number, (name, one) in enumerate(told.photographs.items(), 1):
                with watch(f"photograph {number} of {len(told.photographs)}"):
                    packed.write(
                        photographs.fetch(one.sha256), f"images/{name}", zipfile.ZIP_STORED
                    )


def _write(
    told: ExportContents, folder: Path, watch: StepContext = lambda _: nullcontext()
) -> list[str]:
    """Write all but the photographs; return what the format cannot carry."""
    file_format = told.wanted.file_format
    found = list[Scene]()
    for number, one in enumerate(told.drawn, 1):
        with watch(f"drawing {number} of {len(told.drawn)}"):
            found.append(one.scene())
    scenes = SceneSet(scenes=tuple(found))
    lost = format_losses(scenes, file_format)
    folder.mkdir(parents=True)
    write_scenes(scenes, folder / f"scenes{ENDINGS.get(file_format, '')}", file_format)
    write_whole(folder / "times.csv", _times(told, found))
    write_whole(folder / "README.txt", _readme(told, found, lost))
    return lost


def _times(told: ExportContents, scenes: Sequence[Scene]) -> str:
    """Return the times of each region as CSV; those that were deleted are in one row of each task."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TIMES)
    for one, scene in zip(told.drawn, scenes, strict=True):
        spent = read_region_times(one.spent)
        head = (plain_cell(one.picture), plain_cell(one.annotator), one.state)
        for region in scene.regions:
            took = spent.pop(region.id, None)
            points = sum(len(ring) for ring in region.rings)
            seconds = (f"{took.total_s:.1f}", f"{took.active_s:.1f}") if took else ("", "")
            writer.writerow([*head, region.id, plain_cell(region.name), points, *seconds])
        if spent:
            total, active = (
                sum(getattr(took, name) for took in spent.values())
                for name in ("total_s", "active_s")
            )
            writer.writerow([*head, "", "(deleted regions)", 0, f"{total:.1f}", f"{active:.1f}"])
    return text.getvalue()


def _readme(told: ExportContents, scenes: Sequence[Scene], lost: Sequence[str]) -> str:
    wanted = told.wanted
    images = len({one.picture_id for one in told.drawn})
    regions = sum(len(scene.regions) for scene in scenes)
    lines = [
        f"{told.title}: {len(scenes)} annotations of {images} images, {regions} regions; {wanted.which} tasks, "
        f"{utc_datetime(told.now):%Y-%m-%d %H:%M} UTC.",
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
