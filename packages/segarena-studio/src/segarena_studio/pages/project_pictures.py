"""Pictures of a project: upload, and import from a folder on the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, read_uploads
from segarena_studio.annotation.access import find_project, find_task
from segarena_studio.annotation.picture_import import (
    ImportResult,
    add_files,
    add_folder,
    check_folder,
)
from segarena_studio.annotation.pictures import remove_picture
from segarena_studio.pages.form_errors import answer_in_form, rejected_in_form
from segarena_studio.pages.projects import log_action, rejected_settings, settings_page
from segarena_studio.pages.review import rejected_review

router = APIRouter(include_in_schema=False)
MOST_FILES = 200
"""Maximum number of files in one form; the page's script sends each file in a form of its own."""


@router.post("/studio/projects/{project_id:int}/pictures")
@require_role("participant")
async def upload(request: Request, project_id: int) -> Response:
    """Add uploaded pictures."""
    await run_in_threadpool(_check_lead, request, project_id)
    most = int(site_of(request).settings.limits.body_mb * 2**20)
    _, files = await read_uploads(request, most, MOST_FILES)

    def add() -> Response:
        return _add(request, project_id, lambda: add_files(site_of(request), project_id, files))

    return await run_in_threadpool(
        answer_in_form,
        request,
        "pictures",
        {},
        add,
        lambda error: rejected_settings(request, error, project_id),
    )


@router.post("/studio/projects/{project_id:int}/folder")
@require_role("participant")
@rejected_in_form("folder", rejected_settings)
def take_folder(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Add the pictures in a server folder, which must be below a folder in the settings."""
    _check_lead(request, project_id)
    site = site_of(request)
    named = Path(form.get("folder", "").strip())
    folder = check_folder(named, site.settings.roots)
    return _add(request, project_id, lambda: add_folder(site, project_id, folder))


@router.post("/studio/tasks/{task_id:int}/remove-picture")
@require_role("participant")
@rejected_in_form("remove-picture", rejected_review)
def remove_task_picture(
    request: Request,
    task_id: int,
    form: Form,
) -> Response:
    """Remove the picture of a task from its project, unless somebody has begun to annotate it."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        found = find_task(session, task_id, visitor.person_id, needed="lead", for_change=True)
        remove_picture(session, site.folder.photographs, found.picture)
        log_action(session, request, "picture removed", found.project)
    return RedirectResponse(f"/studio/projects/{found.project.id}", 303)


def _check_lead(request: Request, project_id: int) -> None:
    """Raise `Refusal` before reading a large upload from somebody who may not add pictures."""
    with site_of(request).database.reading() as session:
        find_project(session, project_id, visitor_of(request).person_id, needed="lead")


def _add(
    request: Request,
    project_id: int,
    add: Callable[[], ImportResult],
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    added = add()
    with site.database.writing() as session:
        project, _ = find_project(session, project_id, visitor.person_id, needed="lead")
        if added.new:
            log_action(session, request, "pictures added", project, str(added.new))
    # The page sends files one by one and expects the result as JSON, not as a page.
    if request.headers.get("accept", "") == "application/json":
        return JSONResponse(msgspec.to_builtins(added))
    if not (added.new or added.known):
        raise InvalidInput(added.refused[0] if added.refused else "expected pictures, got none")
    return settings_page(request, project_id, added=added)
