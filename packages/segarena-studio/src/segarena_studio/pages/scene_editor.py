"""Page of the scene editor."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_studio.annotation.access import find_task
from segarena_studio.annotation.high_bit_depth_pictures import is_deep
from segarena_studio.annotation.preview import LARGE_BYTES
from segarena_studio.annotation.projects import read_segmenters
from segarena_studio.annotation.propagation import VIDEO_SEGMENTERS
from segarena_studio.annotation.propagation_job import MOST_FRAMES
from segarena_studio.assistance.offered_segmenters import assistants_of
from segarena_studio.orm_models import Picture
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)


@router.get("/studio/tasks/{task_id:int}")
@require_role("participant")
def show_scene(request: Request, task_id: int) -> Response:
    """Show the editor of a task to its annotator; others are redirected to the review page."""
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id)
        if not found.is_own:
            return RedirectResponse(f"/studio/tasks/{task_id}/look", 303)
        project = found.project
        name = found.picture.name
        return studio_page(
            request,
            "scene.html",
            title=name,
            task=task_id,
            name=name,
            project=project.name,
            back=f"/studio/projects/{project.id}",
            **_picture_values(found.picture),
            is_open=found.is_open,
            state=found.task.state,
            has_videos=project.has_videos,
            has_assistants=bool(assistants_of(site_of(request)).among(read_segmenters(project))),
            video_segmenters=VIDEO_SEGMENTERS,
            most_frames=MOST_FRAMES,
        )


@router.get("/studio/tasks/{task_id:int}/view")
@require_role("participant")
def show_read_only(request: Request, task_id: int) -> Response:
    """Show a drawing read-only in the editor, to comment on positions.

    While the task is open, its annotator is redirected to the editor instead.
    """
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id)
        if found.is_own and found.is_open:
            return RedirectResponse(f"/studio/tasks/{task_id}", 303)
        return studio_page(
            request,
            "scene.html",
            title=found.picture.name,
            task=task_id,
            name=found.picture.name,
            project="Review",
            back=f"/studio/tasks/{task_id}/look",
            **_picture_values(found.picture),
            is_open=False,
            state="viewed",
            has_videos=False,
            has_assistants=False,
        )


def _picture_values(picture: Picture) -> dict[str, Any]:
    return {
        "width": picture.width,
        "height": picture.height,
        "has_preview": picture.bytes > LARGE_BYTES,
        "is_deep": is_deep(picture.kind),
    }
