"""JSON API of the editor for videos: frames, propagation, acceptance of proposals."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import read_page_json
from segarena_studio.annotation.access import TaskAccess, find_task
from segarena_studio.annotation.propagation_job import (
    PropagationRequest,
    cancel_propagation,
    propagation_status,
    request_propagation,
)
from segarena_studio.annotation.tracks import list_frames, list_tracks, settle_track
from segarena_studio.pages.editor_api import compressed_json

router = APIRouter(include_in_schema=False)


class SettleMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request to accept or to remove the proposals for a region in the other frames of a video."""

    region: str
    action: Literal["accept", "remove"]


@router.get("/studio/tasks/{task_id:int}/frames")
@require_role("participant")
def give_frames(request: Request, task_id: int) -> Response:
    """Return the frames of a task's video, with their tracks; none in a project without videos."""
    with site_of(request).database.reading() as session:
        found = _find_own(session, request, task_id)
        frames = list_frames(session, found.task) if found.project.has_videos else []
        return compressed_json(request, {"frames": list_tracks(frames)})


@router.get("/studio/tasks/{task_id:int}/propagation")
@require_role("participant")
def give_status(request: Request, task_id: int) -> Response:
    """Return the state of the visitor's last propagation in the project."""
    with site_of(request).database.reading() as session:
        return _status(session, _find_own(session, request, task_id))


@router.post("/studio/tasks/{task_id:int}/propagation")
@require_role("participant")
async def propagate_regions(request: Request, task_id: int) -> Response:
    """Enqueue the propagation of regions of this frame."""
    wanted = await read_page_json(request, PropagationRequest)
    return await run_in_threadpool(_propagate, request, task_id, wanted)


def _propagate(
    request: Request,
    task_id: int,
    wanted: PropagationRequest,
) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        found = _find_own(session, request, task_id)
        request_propagation(session, site, found, wanted)
        answer = _status(session, found)
    site.hurry()
    return answer


@router.post("/studio/tasks/{task_id:int}/propagation/cancel")
@require_role("participant")
async def cancel(request: Request, task_id: int) -> Response:
    """Cancel the visitor's propagation."""
    await read_page_json(request, dict[str, Any])
    return await run_in_threadpool(_cancel, request, task_id)


def _cancel(request: Request, task_id: int) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        found = _find_own(session, request, task_id)
        cancel_propagation(session, found, site.now())
        return _status(session, found)


@router.post("/studio/tasks/{task_id:int}/track")
@require_role("participant")
async def settle(request: Request, task_id: int) -> Response:
    """Accept or remove the proposals for a region in the other frames of the video."""
    message = await read_page_json(request, SettleMessage)
    return await run_in_threadpool(_settle, request, task_id, message)


def _settle(
    request: Request,
    task_id: int,
    message: SettleMessage,
) -> Response:
    site = site_of(request)
    with site.database.writing() as session:
        found = _find_own(session, request, task_id)
        if found.project.state != "open":
            raise http_errors.conflict("the project is closed; its lead can open it")
        count = settle_track(
            session,
            found.task,
            message.region,
            site.now(),
            is_accepted=message.action == "accept",
        )
    return compressed_json(request, {"frames": count})


def _status(session: Session, found: TaskAccess) -> Response:
    content = msgspec.json.encode(propagation_status(session, found))
    return Response(content, media_type="application/json", headers={"cache-control": "no-store"})


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
