"""Review page of a task: the picture with the drawing, problems, comments, and the decision."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.db.orm_models import Person
from segarena_server.http.request_body import Form
from segarena_studio.annotation.access import OPEN_STATES, TaskAccess, find_task, has_role
from segarena_studio.annotation.agreement import compare_pending
from segarena_studio.annotation.assignment import is_assignable, is_takeable
from segarena_studio.annotation.drafts import read_revision
from segarena_studio.annotation.progress import find_next_review
from segarena_studio.annotation.projects import list_members
from segarena_studio.annotation.region_attributes import describe_values
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
from segarena_studio.annotation.scene_check_cache import SceneAnalysis, check_cache_of
from segarena_studio.annotation.scene_document import Document
from segarena_studio.annotation.time_tracking import read_region_times
from segarena_studio.orm_models import Comment, Task
from segarena_studio.pages.form_errors import FormError, rejected_in_form
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)
_CHECK_WAIT_S = 0.5
"""Longest time that the page waits for the checks; after that, it shows their progress."""
_COLOURS = 24
"""Number of the colours --o0, --o1, … in page.css."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionOutline:
    """A region on the page.

    Attributes:
        id: id of the region in the document.
        order: position in the depth order, from 1 at the front.
        name: name of the region; "" if it has none.
        path: SVG path data, in pixels of the picture.
        colour: CSS class, the same in every revision.
        hidden: occluded share; None if unknown.
        points: number of corners.
        spent_s: seconds spent on the region; None if not measured.
        attributes: values of the project's attributes, as text.
        propagation: "proposed" or "accepted" if the outline was propagated from another frame; else "".
        is_stuff: whether the region is stuff (ground, sky, water) rather than a thing.
        at: (x, y) at which its number is drawn; None if the region has no pixels.
        is_same: in a comparison, whether the outline is unchanged.
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
    attributes: str = ""
    propagation: str = ""
    at: tuple[float, float] | None = None
    is_same: bool = False


@router.get("/studio/tasks/{task_id:int}/look")
@require_role("participant")
def show_task(request: Request, task_id: int) -> Response:
    """Show a drawing to its annotator, and to reviewers and leads, who may judge it."""
    return review_page(request, task_id)


def rejected_review(
    request: Request,
    error: FormError,
    task_id: int,
) -> Response:
    """Return the review page with the error in one of its forms."""
    return review_page(request, task_id, error)


def review_page(
    request: Request,
    task_id: int,
    error: FormError | None = None,
) -> Response:
    """Return the review page, with the error in one of its forms."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        found = find_task(session, task_id, visitor.person_id)
        values = _task_values(session, found)
        values["is_takeable"] = is_takeable(session, found, visitor.person_id or 0)
        is_judged = found.may_review and found.task.state in ("approved", "returned")
        values["is_judged"] = is_judged and found.project.is_reviewed
        values["following"] = find_next_review(session, found.project, visitor.person_id or 0)
    document = values.pop("document")
    analysis: SceneAnalysis | None = None
    if document:
        # Usually cached: the drawing was analysed when the task was finished.
        analysis = check_cache_of(site).request_analysis(
            task_id,
            document,
            found.picture,
            _CHECK_WAIT_S,
        )
    values["regions"] = _regions(document, found, analysis) if document else []
    values["region_of"] = {region.id: region for region in values["regions"]}
    values["looked"] = analysis.result if analysis else None
    values["is_checking"] = document is not None and analysis is None
    return studio_page(
        request,
        "review.html",
        title=f"Error: {found.picture.name}" if error else found.picture.name,
        status=error.status if error else 200,
        error=error,
        **values,
    )


@router.post("/studio/tasks/{task_id:int}/review")
@require_role("participant")
@rejected_in_form("decision", rejected_review)
def judge(
    request: Request,
    task_id: int,
    form: Form,
) -> Response:
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
    # There are no changes to show while the returned revision is still the newest.
    if returned and returned.revision != task.revision:
        old = read_revision(session, task, returned.revision)
    else:
        old = None
    # Only leads reassign tasks, so other roles need no list of members.
    members: list[tuple[Person, str]] = []
    if has_role(found.role, "lead") and is_assignable(session, task):
        members = list_members(session, found.project)
    comments: list[tuple[int, Comment, Person | None]] = []
    for number, one in enumerate(list_comments(session, task), 1):
        comments.append((number, one, one.person))
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
        "comments": comments,
        "decisions": [(one, one.person) for one in list_decisions(session, task)],
        "members": members,
        "others": _count_other_drawings(session, found),
        "open_states": OPEN_STATES,
    }


def _count_other_drawings(session: Session, found: TaskAccess) -> int:
    """Return the number of other drawings of the picture; 0 for annotators, who may not see them."""
    task = found.task
    if not has_role(found.role, "reviewer") or not task.revision:
        return 0
    others = select(func.count(Task.id)).where(
        Task.picture_id == task.picture_id,
        Task.id != task.id,
        Task.revision > 0,
    )
    return session.scalar(others) or 0


def _regions(
    document: Document,
    found: TaskAccess,
    analysis: SceneAnalysis | None,
) -> list[RegionOutline]:
    """Return the regions of the newest revision; their hidden shares are unknown until its analysis is finished."""
    unknown = [None] * len(document.regions)
    spent = read_region_times(found.task.spent)
    views: list[RegionOutline] = []
    outlines = zip(
        document.regions,
        _paths(document),
        analysis.occlusions if analysis else unknown,
        analysis.numbers_at if analysis else unknown,
        strict=True,
    )
    for order, (region, path, occlusion, number_at) in enumerate(outlines, 1):
        views.append(
            RegionOutline(
                id=region.id,
                order=order,
                name=region.name,
                path=path,
                colour=region_colour(region.id),
                hidden=occlusion,
                points=len(region.ring),
                spent_s=spent[region.id].total_s if region.id in spent else None,
                is_stuff=bool(region.is_stuff),
                attributes=describe_values(region.attributes),
                propagation=region.propagation,
                at=number_at,
            )
        )
    return views


def _outlines(document: Document, now: Document) -> list[RegionOutline]:
    """Return the regions of an earlier revision; mark those whose outlines have not changed since."""
    known: dict[str, str] = {}
    for region, path in zip(now.regions, _paths(now), strict=True):
        known[region.id] = path
    views: list[RegionOutline] = []
    outlines = zip(document.regions, _paths(document), strict=True)
    for order, (region, path) in enumerate(outlines, 1):
        views.append(
            RegionOutline(
                id=region.id,
                order=order,
                name=region.name,
                path=path,
                colour=region_colour(region.id),
                is_same=known.get(region.id) == path,
            )
        )
    return views


def _paths(document: Document) -> list[str]:
    """Return the outlines of a document as SVG path data."""
    found: list[str] = []
    for region in document.regions:
        path = ""
        for ring in region.rings:
            # One decimal is enough: a tenth of a pixel is invisible, and a page has thousands of
            # corners.
            corners = " ".join(
                f"{document.points[at][0]:.1f},{document.points[at][1]:.1f}" for at in ring
            )
            path += f"M{corners}Z" if corners else ""
        found.append(path)
    return found


def region_colour(region_id: str) -> str:
    """Return the CSS class of a region's colour, which is the same in the editor (region-colours.js)."""
    # Derive the colour from the id, so that it stays the same when regions are reordered.
    digits = re.search(r"[0-9]+$", region_id)
    if digits:
        number = max(0, int(digits[0]) - 1)
    else:
        number = 7
        for letter in region_id:
            number = (31 * number + ord(letter)) % 9973
    return f"o{number % _COLOURS}"
