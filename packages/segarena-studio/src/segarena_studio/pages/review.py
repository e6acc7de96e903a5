"""Review page of a task: the picture with the drawing, problems, comments, and the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidMask
from segarena.systems.scenes.checks.quality import region_centre
from segarena.systems.scenes.model.rasters import RegionRaster, rasterise
from segarena.systems.scenes.model.scene import Scene
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http import http_errors
from segarena_server.http.request_body import Form
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess, find_task, has_role
from segarena_studio.annotation.agreement import compare_pending
from segarena_studio.annotation.assignment import is_assignable
from segarena_studio.annotation.drafts import read_revision
from segarena_studio.annotation.progress import find_next_review
from segarena_studio.annotation.projects import list_members
from segarena_studio.annotation.review import (
    approve_task,
    find_last_return,
    list_comments,
    list_decisions,
    reopen_task,
    return_task,
    take_for_review,
)
from segarena_studio.annotation.revision_diff import list_changes
from segarena_studio.annotation.scene_checks import check_document
from segarena_studio.annotation.scene_document import Document, document_to_scene
from segarena_studio.annotation.time_tracking import read_region_times
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)
_COLOURS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionView:
    """A region on the page.

    Attributes:
        id: in the document.
        order: position from the front, from 1.
        name: "" for none.
        path: SVG path data, in pixels of the picture.
        colour: CSS class, the same in every revision.
        hidden: occluded share; None if unknown.
        points: number of corners.
        spent_s: seconds spent on it; None if not measured.
        is_stuff: whether it is stuff.
        at: (x, y) of its number; None without pixels.
        is_same: in a comparison, whether the outline has not changed.
    """

    id: str
    order: int
    name: str
    path: str
    colour: str
    hidden: float | None = None
    points: int = 0
    spent_s: float | None = None
    is_stuff: bool = False
    at: tuple[float, float] | None = None
    is_same: bool = False


@router.get("/studio/tasks/{task_id:int}/look")
@require_role("participant")
def show_task(request: Request, task_id: int) -> Response:
    """Show a drawing to its annotator, and to reviewers and leads, who may judge it."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor.person_id)
        values = _task_values(session, found)
    document = values.pop("document")
    values["regions"] = _regions(document, found) if document else []
    values["looked"] = check_document(document, found.picture) if document else None
    return studio_page(request, "review.html", title=found.picture.name, **values)


@router.post("/studio/tasks/{task_id:int}/review")
@require_role("participant")
def judge(request: Request, task_id: int, form: Form) -> Response:
    """Take a task for review, approve it, return it, or reopen it."""
    site = site_of(request)
    visitor = visitor_of(request)
    me = visitor.person_id or 0
    text = form.get("text", "")
    now = site.now()
    with site.database.writing() as session:
        found = find_task(session, task_id, visitor.person_id, for_change=True)
        match form.get("do", ""):
            case "take":
                take_for_review(session, found, me, now)
            case "approve":
                _check_revision(found, form)
                approve_task(session, found, me, text, now)
            case "return":
                _check_revision(found, form)
                return_task(session, found, me, text, now)
            case "reopen":
                reopen_task(session, found, me, text, now)
            case _:
                raise http_errors.invalid("do: expected take, approve, return or reopen")
        is_judged = found.task.state in ("approved", "returned") and found.may_review
        if is_judged and form.get("next"):
            following = find_next_review(session, found.project, me)
        else:
            following = None
    shown_id = following.id if following else task_id
    comparison = BackgroundTask(compare_pending, site, found.project.id)
    return RedirectResponse(f"/studio/tasks/{shown_id}/look", 303, background=comparison)


def _check_revision(found: TaskAccess, form: dict[str, str]) -> None:
    """Raise `Refusal` if the drawing has changed since the reviewer opened the page."""
    if form.get("revision", "") != str(found.task.revision):
        raise http_errors.conflict("this drawing has changed since you opened it; reload the page")


def _task_values(session: Session, found: TaskAccess) -> dict[str, Any]:
    task = found.task
    newest = read_revision(session, task)
    returned = find_last_return(session, task)
    if returned and returned.revision != task.revision:
        old = read_revision(session, task, returned.revision)
    else:
        old = None
    is_lead = has_role(found.role, "lead")
    return {
        "found": found,
        "task": task,
        "picture": found.picture,
        "project": found.project,
        "role": found.role,
        "person": task.person,
        "document": newest[0] if newest else None,
        "old": _outlines(old[0], newest[0]) if old and newest else [],
        "changes": list_changes(old[0], newest[0]) if old and newest else [],
        "comments": [
            (number, one, one.person) for number, one in enumerate(list_comments(session, task), 1)
        ],
        "decisions": [(one, one.person) for one in list_decisions(session, task)],
        "members": list_members(session, found.project)
        if is_lead and is_assignable(session, task)
        else [],
        "open_states": OPEN_STATES,
    }


def _regions(document: Document, found: TaskAccess) -> list[RegionView]:
    picture = found.picture
    spent = read_region_times(found.task.spent)
    shape = picture.height, picture.width
    rasters = _rasters(document_to_scene(document, name=picture.name, shape=shape))
    return [
        RegionView(
            id=region.id,
            order=number,
            name=region.name,
            path=path,
            colour=region_colour(region.id),
            hidden=raster.occlusion if raster else None,
            points=len(region.ring),
            spent_s=spent[region.id].total_s if region.id in spent else None,
            is_stuff=bool(region.is_stuff),
            at=_number_at(raster) if raster else None,
        )
        for number, (region, path, raster) in enumerate(
            zip(document.regions, _paths(document), rasters, strict=True), 1
        )
    ]


def _number_at(raster: RegionRaster) -> tuple[float, float] | None:
    """Return (x, y) of a region's number, on its visible part if there is one."""
    at = region_centre(replace(raster, amodal=raster.visible)) or region_centre(raster)
    if at is None:
        return None
    row, column = at
    return column, row


def _rasters(scene: Scene) -> Sequence[RegionRaster | None]:
    """Rasterise the regions of a scene; None for each if they have too many pixels, which is an error."""
    try:
        return rasterise(scene).regions
    except InvalidMask:
        return [None] * len(scene.regions)


def _outlines(document: Document, now: Document) -> list[RegionView]:
    """Return the regions of an earlier revision."""
    known = {region.id: path for region, path in zip(now.regions, _paths(now), strict=True)}
    return [
        RegionView(
            id=region.id,
            order=number,
            name=region.name,
            path=path,
            colour=region_colour(region.id),
            is_same=known.get(region.id) == path,
        )
        for number, (region, path) in enumerate(
            zip(document.regions, _paths(document), strict=True), 1
        )
    ]


def _paths(document: Document) -> list[str]:
    """Return the outlines of a document as SVG path data."""
    found: list[str] = []
    for region in document.regions:
        corners = " ".join(
            f"{document.points[at][0]:.1f},{document.points[at][1]:.1f}" for at in region.ring
        )
        found.append(f"M{corners}Z" if corners else "")
    return found


def region_colour(region_id: str) -> str:
    """Return the CSS class of a region's colour, which does not depend on the order."""
    digits = "".join(letter for letter in region_id if letter.isdigit())
    number = int(digits[-6:]) if digits else len(region_id)
    return f"c{number % _COLOURS}"
