"""JSON API of the editor: drafts, pictures, saving, finishing, comments.

Saving accepts invalid scenes, so that no work is lost; only finishing checks them.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import read_page_json
from segarena_server.site import Site
from segarena_studio.annotation.access import TaskAccess, find_task
from segarena_studio.annotation.assignment import select_open_tasks
from segarena_studio.annotation.drafts import (
    MOST_BYTES,
    NewestDraft,
    SaveRequest,
    check_save,
    diff_to_revision,
    expand_patch,
    find_last_edit,
    read_newest_draft,
    read_revision,
    read_undo_history,
    save_draft,
)
from segarena_studio.annotation.high_bit_depth_pictures import (
    display_png,
    is_deep,
    read_deep_picture,
)
from segarena_studio.annotation.packed_scene import pack_scene
from segarena_studio.annotation.preview import preview_jpeg
from segarena_studio.annotation.projects import read_labels, read_segmenters
from segarena_studio.annotation.region_attributes import parse_attributes
from segarena_studio.annotation.review import (
    add_comment,
    find_last_return,
    finish_task,
    list_comments,
    reopen_task,
    resolve_comment,
)
from segarena_studio.annotation.scene_check_cache import CheckCache, check_cache_of
from segarena_studio.annotation.scene_checks import CheckResult, Finding
from segarena_studio.annotation.scene_document import Document, read_document
from segarena_studio.annotation.tracks import EMPTY, save_frame
from segarena_studio.assistance.offered_segmenters import assistants_of
from segarena_studio.orm_models import Comment, Picture, Task

router = APIRouter(include_in_schema=False)
_NEIGHBOURS = 3
_PRIVATE_DAY = "private, max-age=86400"
_COMPRESSED_FROM = 16 * 1024
"""Minimum size in bytes of a response to be compressed; a drawing shrinks to two fifths."""
_CHECK_WAIT_S = 1.0
"""Longest time that a request waits for checks; pages then ask again, and show progress meanwhile."""


class FinishMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request to finish a task: the revision, and two confirmations by the annotator."""

    base: int
    is_complete: bool
    is_ordered: bool


class SceneMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scene to check."""

    scene: msgspec.Raw


class CommentMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A comment."""

    text: str
    at: tuple[float, float] | None = None
    region: str = ""


class ResolveMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request to mark a comment as resolved or unresolved."""

    is_done: bool


class ReopenMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reason for reopening a task."""

    text: str = ""


@router.get("/studio/tasks/{task_id:int}/draft")
@require_role("participant")
def give_draft(request: Request, task_id: int) -> Response:
    """Return everything that the editor needs to start.

    With `?base=N`, for a browser that has unsaved changes of revision N, `ancestor` is the patch
    from the newest revision back to N. If the newest revision came from a track, `edited` is the patch
    back to the one to which the undo history belongs. With `?packed=1`, the scene is in the shorter
    form of `packed_scene`.
    """
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor.person_id)
        newest = read_newest_draft(session, found.task)
        returned = find_last_return(session, found.task)
        # The undo history is personal, so reviewers get only the drawing.
        history = read_undo_history(session, found.task) if found.is_own else b"null"
        base = request.query_params.get("base", "")
        has_base = base.isdecimal() and len(base) < 10 and int(base) != newest.revision
        is_packed = request.query_params.get("packed", "") == "1"
        edited = find_last_edit(session, found.task) if found.is_own and found.is_open else None
        values = {
            **msgspec.structs.asdict(newest),
            "scene": pack_scene(newest.scene) if is_packed else newest.scene,
            "history": msgspec.Raw(history),
            "ancestor": diff_to_revision(session, found.task, int(base)) if has_base else None,
            "edited": diff_to_revision(session, found.task, edited) if edited else None,
            "is_open": found.is_open,
            "comments": [_comment(comment) for comment in list_comments(session, found.task)],
            "said": returned.text if returned else "",
            "labels": read_labels(found.project),
            "attributes": parse_attributes(found.project.attributes),
            "segmenters": assistants_of(site).among(read_segmenters(found.project)),
            "picture": _picture(found.picture),
            "project": {
                "id": found.project.id,
                "name": found.project.name,
                "guide": found.project.guide,
                "has_videos": found.project.has_videos,
            },
        }
    answer = compressed_json(request, values)
    if newest.revision and found.is_own and found.is_open:
        # A server that has restarted knows nothing of the drawing, which may be finished next.
        answer.background = BackgroundTask(_analyse_opened, site, found, newest.scene)
    return answer


def _analyse_opened(
    site: Site,
    found: TaskAccess,
    scene: msgspec.Raw,
) -> None:
    check_cache_of(site).analyse_ahead(
        found.task.id,
        read_document(scene),
        found.picture,
        site.now(),
    )


@router.put("/studio/tasks/{task_id:int}/draft")
@require_role("participant")
async def keep_draft(request: Request, task_id: int) -> Response:
    """Store a draft, whole or as a patch, if it is based on the newest one.

    Otherwise the response is 409 with the newest draft. If the save was a patch, the draft in the
    response is a patch of the same revision, if possible.
    """
    save = await read_page_json(request, SaveRequest, MOST_BYTES)
    return await run_in_threadpool(_keep, request, task_id, save)


def _keep(
    request: Request,
    task_id: int,
    save: SaveRequest,
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    whole = save
    if save.patch is not None:
        with site.database.reading() as session:
            found = find_task(session, task_id, visitor.person_id)
            if not found.is_own:
                raise http_errors.unknown()
            whole = expand_patch(session, found.task, save)
    # Decode before the transaction: decoding a large scene would block other writers.
    document = check_save(whole) if whole else None
    with site.database.writing() as session:
        found = find_task(session, task_id, visitor.person_id, for_change=True)
        if not found.is_own:
            raise http_errors.unknown()
        if not found.is_open:
            return _json({"state": found.task.state, "message": _why_closed(found)}, 423)
        revision = save_draft(session, found.task, whole or save, document, site.now())
        answer = _json({"revision": revision, "saved_at": found.task.saved_at})
    if revision is None:
        base = save.base if save.patch else None
        with site.database.reading() as session:
            found = find_task(session, task_id, visitor.person_id)
            return _conflict(read_newest_draft(session, found.task, base))
    if document is None:
        # The answer to this save was lost, and a newer save has followed.
        return answer
    answer.background = BackgroundTask(
        check_cache_of(site).analyse_ahead,
        task_id,
        document,
        found.picture,
        site.now(),
    )
    return answer


@router.post("/studio/tasks/{task_id:int}/check")
@require_role("participant")
async def check(request: Request, task_id: int) -> Response:
    """Check a scene; nothing is stored."""
    drawn = await read_page_json(request, SceneMessage, MOST_BYTES)
    return await run_in_threadpool(_check, request, task_id, drawn)


def _check(
    request: Request,
    task_id: int,
    drawn: SceneMessage,
) -> Response:
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id)
    document = read_document(drawn.scene)
    cache = check_cache_of(site_of(request))
    return _json(cache.analyse(task_id, document, found.picture).result)


@router.post("/studio/tasks/{task_id:int}/finalise")
@require_role("participant")
async def finalise(request: Request, task_id: int) -> Response:
    """Finish a task, if its scene passes the checks and both boxes are ticked.

    If the checks take longer than a second, the response is 202 with their progress, and the page
    asks again until it gets another response.
    """
    message = await read_page_json(request, FinishMessage)
    return await run_in_threadpool(_finalise, request, task_id, message)


def _finalise(
    request: Request,
    task_id: int,
    message: FinishMessage,
) -> Response:
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor.person_id)
        if not found.is_own:
            raise http_errors.unknown()
        if message.base != found.task.revision:
            return _conflict(read_newest_draft(session, found.task))
        drawn = read_revision(session, found.task)
    # Check outside the write transaction, because the checks rasterize every region.
    # The cache has the results of all regions that have not changed since the last check.
    cache = check_cache_of(site)
    result = _check_finish(message, drawn[0] if drawn else None, found, cache)
    if result is None:
        return _checking(cache, task_id)
    if result.faults:
        reason = f"not finished yet: {result.faults[0].message}"
        return _json({"error": "faults", "message": reason, **msgspec.structs.asdict(result)}, 422)
    with site.database.writing() as session:
        found = find_task(session, task_id, visitor.person_id, for_change=True)
        if message.base != found.task.revision:
            return _conflict(read_newest_draft(session, found.task))
        if not found.task.revision:
            # A frame without objects was never saved, but an export needs a revision.
            save_frame(session, found.task, EMPTY, site.now())
        finish_task(session, found, site.now())
    return _json({"state": found.task.state})


@router.get("/studio/tasks/{task_id:int}/checks")
@require_role("participant")
def watch_checks(request: Request, task_id: int) -> Response:
    """Respond with 200 once the newest drawing of a task has been checked, and until then with 202 and progress."""
    site = site_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id)
        drawn = read_revision(session, found.task)
    cache = check_cache_of(site)
    if drawn is None:
        return _json({"is_checked": True})
    analysis = cache.request_analysis(task_id, drawn[0], found.picture, _CHECK_WAIT_S)
    return _json({"is_checked": True}) if analysis else _checking(cache, task_id)


def _checking(cache: CheckCache, task_id: int) -> Response:
    progress = cache.progress_of(task_id)
    return _json(
        {"is_checked": False, "progress": progress._asdict() if progress else None},
        202,
    )


@router.post("/studio/tasks/{task_id:int}/reopen")
@require_role("participant")
async def open_again(request: Request, task_id: int) -> Response:
    """Reopen a task."""
    why = await read_page_json(request, ReopenMessage)

    def change(
        session: Session,
        found: TaskAccess,
        me: int,
        now: float,
    ) -> dict[str, Any]:
        reopen_task(session, found, me, why.text, now)
        return {"state": found.task.state}

    return await run_in_threadpool(_change, request, task_id, change)


@router.post("/studio/tasks/{task_id:int}/comments")
@require_role("participant")
async def comment(request: Request, task_id: int) -> Response:
    """Add a comment."""
    said = await read_page_json(request, CommentMessage)

    def change(
        session: Session,
        found: TaskAccess,
        me: int,
        now: float,
    ) -> dict[str, Any]:
        made = add_comment(session, found, me, said.text, said.at, said.region, now)
        return {
            "comments": [_comment(one) for one in list_comments(session, found.task)],
            "id": made.id,
        }

    return await run_in_threadpool(_change, request, task_id, change)


@router.get("/studio/tasks/{task_id:int}/comments")
@require_role("participant")
def give_comments(request: Request, task_id: int) -> Response:
    """Return the comments on a task, oldest first."""
    with site_of(request).database.reading() as session:
        found = find_task(session, task_id, visitor_of(request).person_id)
        return _json({"comments": [_comment(one) for one in list_comments(session, found.task)]})


@router.post("/studio/tasks/{task_id:int}/comments/{comment_id:int}/done")
@require_role("participant")
async def settle_comment(
    request: Request,
    task_id: int,
    comment_id: int,
) -> Response:
    """Mark a comment as resolved, or as unresolved again."""
    done = await read_page_json(request, ResolveMessage)

    def change(
        session: Session,
        found: TaskAccess,
        _: int,
        now: float,
    ) -> dict[str, Any]:
        resolve_comment(session, found, comment_id, is_done=done.is_done, now=now)
        return {"is_done": done.is_done}

    return await run_in_threadpool(_change, request, task_id, change)


def _change(
    request: Request,
    task_id: int,
    change: Callable[[Session, TaskAccess, int, float], dict[str, Any]],
) -> Response:
    """Change a task that the visitor may see, and respond with the result of `change`."""
    site = site_of(request)
    me = visitor_of(request).person_id or 0
    with site.database.writing() as session:
        access = find_task(session, task_id, me, for_change=True)
        return _json(change(session, access, me, site.now()))


@router.get("/studio/tasks/{task_id:int}/picture")
@require_role("participant")
def give_task_picture(request: Request, task_id: int) -> Response:
    """Return the picture of a task."""
    site = site_of(request)
    with site.database.reading() as session:
        picture = find_task(session, task_id, visitor_of(request).person_id).picture
    if not is_deep(picture.kind):
        return stored_file(request, picture.sha256, picture.kind)
    content = display_png(site.folder.photographs.fetch(picture.sha256), picture.sha256)
    return Response(content, media_type="image/png", headers={"cache-control": _PRIVATE_DAY})


@router.get("/studio/tasks/{task_id:int}/values")
@require_role("participant")
def give_values(request: Request, task_id: int) -> Response:
    """Return the pixels of a 16-bit picture, low byte first; a header gives levels, modality and inversion."""
    site = site_of(request)
    with site.database.reading() as session:
        picture = find_task(session, task_id, visitor_of(request).person_id).picture
    if not is_deep(picture.kind):
        raise http_errors.unknown()
    content = site.folder.photographs.fetch(picture.sha256).read_bytes()
    deep = read_deep_picture(picture.name, content)
    if deep is None:
        raise http_errors.unknown()
    levels = {
        **asdict(deep.levels),
        "modality": deep.modality,
        "is_inverted": deep.is_inverted,
    }
    headers = {
        "cache-control": _PRIVATE_DAY,
        "segarena-levels": msgspec.json.encode(levels).decode(),
    }
    body = deep.codes.astype("<u2").tobytes()
    if "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, 1, mtime=0)
        headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(body, media_type="application/octet-stream", headers=headers)


@router.get("/studio/tasks/{task_id:int}/preview")
@require_role("participant")
def give_preview(request: Request, task_id: int) -> Response:
    """Return a small version of the picture of a task, to be shown until the picture has arrived."""
    site = site_of(request)
    with site.database.reading() as session:
        picture = find_task(session, task_id, visitor_of(request).person_id).picture
    path = site.folder.photographs.fetch(picture.sha256)
    content = preview_jpeg(path, picture.sha256, picture.kind)
    return Response(content, media_type="image/jpeg", headers={"cache-control": _PRIVATE_DAY})


@router.get("/studio/tasks/{task_id:int}/thumbnail")
@require_role("participant")
def give_thumbnail(request: Request, task_id: int) -> Response:
    """Return a thumbnail of the picture of a task."""
    site = site_of(request)
    with site.database.reading() as session:
        picture = find_task(session, task_id, visitor_of(request).person_id).picture
    return stored_file(request, picture.thumbnail, "image/jpeg")


@router.get("/studio/tasks/{task_id:int}/neighbours")
@require_role("participant")
def give_neighbours(request: Request, task_id: int) -> Response:
    """Return the visitor's next three open tasks and the previous one, so that pages can prefetch their pictures."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor.person_id)
        own = list(session.scalars(select_open_tasks(found.project.id, visitor.person_id or 0)))
        places = [place for place, task in enumerate(own) if task.id == task_id]
        at = places[0] if places else -1
        following = own[at + 1 : at + 1 + _NEIGHBOURS]
        previous = own[max(0, at - 1) : max(0, at)]
        neighbours = {
            "next": [_neighbour(session, task) for task in following],
            "previous": [_neighbour(session, task) for task in previous],
        }
    return _json(neighbours)


def stored_file(
    request: Request,
    sha256: str,
    kind: str,
) -> Response:
    """Return a file of a project; browsers may cache it, as its content never changes."""
    path = site_of(request).folder.photographs.fetch(sha256)
    headers = {"cache-control": _PRIVATE_DAY, "etag": f'"{sha256[:32]}"'}
    return FileResponse(path, media_type=kind, headers=headers)


def _check_finish(
    message: FinishMessage,
    document: Document | None,
    found: TaskAccess,
    cache: CheckCache,
) -> CheckResult | None:
    """Return the result of the checks of a scene, including unticked boxes; None while the checks run."""
    has_videos = found.project.has_videos
    if document is None and has_videos:
        document = read_document(EMPTY)
    if document is None:
        return CheckResult(
            faults=(
                Finding(kind="empty", message="expected regions, found none; annotate the image"),
            )
        )
    analysis = cache.request_analysis(found.task.id, document, found.picture, _CHECK_WAIT_S)
    if analysis is None:
        return None
    result = analysis.result
    boxes = [
        (message.is_complete, "complete", "confirm that everything in the picture is segmented"),
        (message.is_ordered, "ordered", "confirm that the depth order is right"),
    ]
    # Objects enter and leave a video, so some of its frames have none.
    faults = [fault for fault in result.faults if not (has_videos and fault.kind == "empty")]
    for is_ticked, kind, request_text in boxes:
        if not is_ticked:
            faults.append(Finding(kind=kind, message=request_text))
    return CheckResult(faults=tuple(faults), remarks=result.remarks)


def _why_closed(found: TaskAccess) -> str:
    if found.project.state != "open":
        return "the project is closed; its lead can open it"
    return f"this task is {found.task.state}: nothing was saved; reopen it to continue"


def _conflict(newest: NewestDraft) -> Response:
    return _json(newest, 409)


def _neighbour(session: Session, task: Task) -> dict[str, Any]:
    picture = session.get_one(Picture, task.picture_id)
    return {"task": task.id, "picture": f"/studio/tasks/{task.id}/picture", **_picture(picture)}


def _picture(picture: Picture) -> dict[str, Any]:
    return {"name": picture.name, "width": picture.width, "height": picture.height}


def _comment(comment: Comment) -> dict[str, Any]:
    at: list[float] | None = None
    # A comment without a position is about the whole picture.
    if comment.x is not None and comment.y is not None:
        at = [comment.x, comment.y]
    return {
        "id": comment.id,
        "text": comment.text,
        "by": comment.person.name if comment.person else "",
        "at": at,
        "region": comment.region,
        "made_at": comment.made_at,
        "is_done": comment.done_at is not None,
    }


def compressed_json(request: Request, value: Any) -> Response:
    """Return JSON, compressed if it is large and the browser accepts gzip; a header has its uncompressed length."""
    body = msgspec.json.encode(value)
    headers = {"cache-control": "no-store", "x-uncompressed-length": str(len(body))}
    is_accepted = "gzip" in request.headers.get("accept-encoding", "")
    if is_accepted and len(body) >= _COMPRESSED_FROM:
        body = gzip.compress(body, 3, mtime=0)
        headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
    return Response(body, media_type="application/json", headers=headers)


def _json(value: Any, status: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(
        msgspec.json.encode(value),
        status,
        media_type="application/json",
        headers=headers,
    )
