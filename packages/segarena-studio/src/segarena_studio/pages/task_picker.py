"""Requests of the editor's picture picker: an annotator's other tasks, their drawings, and free tasks to take."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, number_in
from segarena_studio.annotation.access import TaskAccess, find_project, find_task
from segarena_studio.annotation.assignment import list_takeable_tasks, take_task
from segarena_studio.annotation.drafts import read_newest_draft
from segarena_studio.orm_models import Picture, Task
from segarena_studio.pages.editor_api import stored_file

router = APIRouter(include_in_schema=False)


@router.get("/studio/tasks/{task_id:int}/tasks")
@require_role("participant")
def give_tasks(request: Request, task_id: int) -> Response:
    """Return the annotator's tasks in the project of a task, and the free tasks that they could take."""
    with site_of(request).database.reading() as session:
        found = _find_own(session, request, task_id)
        me = found.task.person_id or 0
        query = (
            select(Task)
            .join(Picture, Picture.id == Task.picture_id)
            .where(Task.project_id == found.project.id, Task.person_id == me)
            .order_by(Picture.place, Picture.name, Task.id)
        )
        own = [_entry(task) for task in session.scalars(query)]
        free = [_entry(task) for task in list_takeable_tasks(session, found.project, me)]
    return _json({"own": own, "free": free})


@router.get("/studio/tasks/{task_id:int}/tasks/{other_id:int}/scene")
@require_role("participant")
def give_own_scene(
    request: Request,
    task_id: int,
    other_id: int,
) -> Response:
    """Return the newest drawing of another task of the same annotator and project, to copy regions from."""
    with site_of(request).database.reading() as session:
        found = _find_own(session, request, task_id)
        other = _find_own(session, request, other_id)
        if other.project.id != found.project.id:
            raise http_errors.unknown()
        newest = read_newest_draft(session, other.task)
        size = {"width": other.picture.width, "height": other.picture.height}
    return _json({"scene": newest.scene, **size})


@router.get("/studio/tasks/{task_id:int}/tasks/{other_id:int}/thumbnail")
@require_role("participant")
def give_free_thumbnail(
    request: Request,
    task_id: int,
    other_id: int,
) -> Response:
    """Return the thumbnail of a free task that the annotator could take."""
    with site_of(request).database.reading() as session:
        found = _find_own(session, request, task_id)
        free = list_takeable_tasks(session, found.project, found.task.person_id or 0)
        thumbnails = [task.picture.thumbnail for task in free if task.id == other_id]
    if not thumbnails:
        raise http_errors.unknown()
    return stored_file(request, thumbnails[0], "image/jpeg")


@router.post("/studio/projects/{project_id:int}/take")
@require_role("participant")
def take(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Assign a free task to the visitor and redirect to it; if it is no longer free, to the project."""
    visitor = visitor_of(request)
    with site_of(request).database.writing() as session:
        project, _ = find_project(session, project_id, visitor.person_id)
        task_id = number_in(form.get("task", ""))
        task = take_task(session, project, visitor.person_id or 0, task_id)
    address = f"/studio/tasks/{task.id}" if task else f"/studio/projects/{project_id}"
    return RedirectResponse(address, 303)


def _find_own(
    session: Session,
    request: Request,
    task_id: int,
) -> TaskAccess:
    """Return a task of the visitor; other people's tasks look like missing ones, even to reviewers."""
    found = find_task(session, task_id, visitor_of(request).person_id)
    if not found.is_own:
        raise http_errors.unknown()
    return found


def _entry(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.picture.name,
        "state": task.state,
        "regions": task.regions,
        "saved_at": task.saved_at,
    }


def _json(value: Any) -> Response:
    content = msgspec.json.encode(value)
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})
