"""Export of drawings, and import of earlier annotations."""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import mkdtemp

from fastapi import APIRouter, Request
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, RedirectResponse, Response

from segarena.errors import StoreError, StoreUnavailable
from segarena.systems.scenes.files.formats import FORMATS
from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, read_uploads
from segarena_server.site import Site
from segarena_studio.annotation.access import find_project
from segarena_studio.annotation.export_contents import (
    CHOICES,
    ExportContents,
    ExportOptions,
    archive_name,
    collect_export,
)
from segarena_studio.annotation.export_job import find_export, is_quick, request_export
from segarena_studio.annotation.prior_annotations import read_annotations, start_tasks
from segarena_studio.annotation.progress import measure_work
from segarena_studio.annotation.project_export import export_archive
from segarena_studio.pages.form_errors import FormError, answer_in_form, rejected_in_form
from segarena_studio.pages.projects import (
    log_action,
    page_title,
    rejected_settings,
    settings_page,
)
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)
MOST_START_BYTES = 256 * 2**20
# An export uses a whole core, so run only one at a time within requests.
_making = threading.Lock()


@router.get("/studio/projects/{project_id:int}/export")
@require_role("participant")
def show_export(request: Request, project_id: int) -> Response:
    """Show the export form, and the state of the visitor's last large export."""
    return export_page(request, project_id)


def rejected_export(
    request: Request,
    error: FormError,
    project_id: int,
) -> Response:
    """Return the export page with the error in its form."""
    return export_page(request, project_id, error)


def export_page(
    request: Request,
    project_id: int,
    error: FormError | None = None,
) -> Response:
    """Return the export page; with an error, its form has the values that were sent."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        project, role = find_project(session, project_id, visitor.person_id, needed="reviewer")
        people = [work.name for work in measure_work(session, project)]
        job, made = find_export(session, project_id, visitor.person_id or 0) or (None, None)
    answer = studio_page(
        request,
        "project_export.html",
        title=page_title(f"Export of {project.name}", error),
        status=error.status if error else 200,
        error=error,
        project=project,
        role=role,
        formats=FORMATS,
        choices=CHOICES,
        people=people,
        job=job,
        made=made,
    )
    # A reload would drop what was typed.
    if error is None and job is not None and job.state in ("waiting", "leased"):
        answer.headers["refresh"] = "2"
    return answer


@router.post("/studio/projects/{project_id:int}/export")
@require_role("participant")
@rejected_in_form("export", rejected_export)
def make_export(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Return the drawings as a zip; a job makes a large export, or one requested during another."""
    site = site_of(request)
    visitor = visitor_of(request)
    wanted = ExportOptions(
        file_format=form.get("to", "coco-amodal"),
        which=form.get("which", "finished"),
        annotator=form.get("annotator", ""),
        is_nameless=form.get("nameless") == "yes",
        with_photographs=form.get("photographs") == "yes",
    )
    with site.database.reading() as session:
        project, _ = find_project(session, project_id, visitor.person_id, needed="reviewer")
        contents = collect_export(session, project, wanted, site.now())
    # Do not block: waiting here would occupy a server thread.
    if is_quick(contents) and _making.acquire(blocking=False):
        try:
            answer = _at_once(site, contents)
        finally:
            _making.release()
    else:
        answer = RedirectResponse(f"/studio/projects/{project_id}/export", 303)
    with site.database.writing() as session:
        if isinstance(answer, RedirectResponse):
            request_export(session, site, project_id, visitor.person_id or 0, wanted)
        log_action(session, request, "project exported", project, wanted.file_format)
    site.hurry()
    return answer


@router.get("/studio/projects/{project_id:int}/export.zip")
@require_role("participant")
def give_export(request: Request, project_id: int) -> Response:
    """Return the visitor's last large export."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        find_project(session, project_id, visitor.person_id, needed="reviewer")
        _, made = find_export(session, project_id, visitor.person_id or 0) or (None, None)
    if made is None:
        raise http_errors.unknown()
    try:
        path = site.folder.exports.fetch(made.sha256)
    except StoreUnavailable:
        raise
    # Backups do not include exports, so a restored site has the job without its file.
    except StoreError as error:
        raise http_errors.closed("this export was deleted; request it again") from error
    return FileResponse(path, media_type="application/zip", filename=made.name)


def _at_once(site: Site, contents: ExportContents) -> FileResponse:
    archive = Path(mkdtemp(prefix="segarena-")) / archive_name(contents.title, contents.wanted)
    try:
        export_archive(contents, site.folder.photographs, archive)
    # Runs even if the process is stopped: nothing else would delete the archive.
    except BaseException:
        _drop(archive)
        raise
    done = BackgroundTask(_drop, archive)
    return FileResponse(
        archive,
        media_type="application/zip",
        filename=archive.name,
        background=done,
    )


@router.post("/studio/projects/{project_id:int}/start")
@require_role("participant")
async def start(request: Request, project_id: int) -> Response:
    """Start clean tasks from the annotations in an uploaded file."""
    site = site_of(request)
    visitor = visitor_of(request)

    def check() -> None:
        with site.database.reading() as session:
            find_project(session, project_id, visitor.person_id, needed="lead")

    await run_in_threadpool(check)
    fields, files = await read_uploads(request, MOST_START_BYTES, 1)

    def begin() -> Response:
        scenes = read_annotations(*files[0])
        started = start_tasks(site, project_id, scenes, fields.get("annotator", "").strip())
        with site.database.writing() as session:
            project, _ = find_project(session, project_id, visitor.person_id, needed="lead")
            log_action(session, request, "tasks begun", project, str(started.tasks))
        return settings_page(request, project_id, started=started)

    return await run_in_threadpool(
        answer_in_form,
        request,
        "start",
        fields,
        begin,
        lambda error: rejected_settings(request, error, project_id),
    )


def _drop(archive: Path) -> None:
    archive.unlink(missing_ok=True)
    # The folder was created for this archive alone.
    archive.parent.rmdir()
