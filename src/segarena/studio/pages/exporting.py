"""What was drawn, to take along; and what was drawn elsewhere, to begin with."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import mkdtemp

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from segarena.server import refusals
from segarena.server.bodies import read_uploads
from segarena.server.visitors import needs, site_of, visitor_of
from segarena.studio.drawing.access import find_project
from segarena.studio.drawing.exporting import CHOICES, Wanted, archive_name, export_archive
from segarena.studio.drawing.progress import work_in
from segarena.studio.drawing.starting import read_start, start_from
from segarena.studio.pages.projects import note_about, settings_page
from segarena.studio.pages.rendering import studio_page
from segarena.systems.scenes.files.formats import FORMATS

router = APIRouter(include_in_schema=False)
MOST_START_BYTES = 256 * 2**20
_making = threading.Lock()
"""An export of a large project takes all of a core: one at a time."""


@router.get("/studio/projects/{project_id:int}/export")
@needs("participant")
def show_export(request: Request, project_id: int) -> Response:
    """Show what can be taken along."""
    site, visitor = site_of(request), visitor_of(request)
    with site.database.reading() as session:
        project, role = find_project(session, project_id, visitor.person_id, needed="reviewer")
        people = [work.name for work in work_in(session, project)]
    return studio_page(
        request, "project_export.html", title=f"Export of {project.name}", project=project, role=role,
        formats=FORMATS, choices=CHOICES, people=people,
    )  # fmt: skip


@router.get("/studio/projects/{project_id:int}/export.zip")
@needs("participant")
def give_export(
    request: Request,
    project_id: int,
    to: str = "coco-amodal",
    which: str = "finished",
    annotator: str = "",
    nameless: str = "",
    photographs: str = "",
) -> Response:
    """Give what was drawn as a zip."""
    site, visitor = site_of(request), visitor_of(request)
    wanted = Wanted(
        file_format=to, which=which, annotator=annotator, is_nameless=bool(nameless), with_photographs=bool(photographs)
    )
    wanted.check()
    with site.database.reading() as session:
        project, _ = find_project(session, project_id, visitor.person_id, needed="reviewer")
    if not _making.acquire(blocking=False):  # who waited here would keep a thread from all others
        raise refusals.busy("another export is being made; try again in a minute", 60.0)
    archive = Path(mkdtemp(prefix="segarena-")) / archive_name(project, wanted)
    try:
        export_archive(site, project_id, archive, wanted)
        with site.database.writing() as session:
            note_about(session, request, "project exported", project, to)
    except BaseException:
        _drop(archive)
        raise
    finally:
        _making.release()
    done = BackgroundTask(_drop, archive)
    return FileResponse(archive, media_type="application/zip", filename=archive.name, background=done)


@router.post("/studio/projects/{project_id:int}/start")
@needs("participant")
async def start(request: Request, project_id: int) -> Response:
    """Begin clean tasks with what a file holds."""
    site, visitor = site_of(request), visitor_of(request)

    def check() -> None:
        with site.database.reading() as session:
            find_project(session, project_id, visitor.person_id, needed="lead")

    await run_in_threadpool(check)
    fields, files = await read_uploads(request, MOST_START_BYTES, 1)

    def begin() -> Response:
        scenes = read_start(*files[0])
        started = start_from(site, project_id, scenes, fields.get("annotator", "").strip())
        with site.database.writing() as session:
            project, _ = find_project(session, project_id, visitor.person_id, needed="lead")
            note_about(session, request, "tasks begun", project, str(started.tasks))
        return settings_page(request, project_id, started=started)

    return await run_in_threadpool(begin)


def _drop(archive: Path) -> None:
    archive.unlink(missing_ok=True)
    archive.parent.rmdir()
