"""Pages of projects: list, creation, progress, people, settings."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.responses import RedirectResponse, Response

from segarena.errors import InvalidInput
from segarena_server import http_errors
from segarena_server.audit_log import record_event
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, LargeForm, number_in
from segarena_server.site import Site
from segarena_studio.annotation.access import find_project, has_role
from segarena_studio.annotation.agreement import (
    agreement_by_annotator,
    agreement_by_picture,
    agreement_table,
    compare_pending,
    find_pending_pairs,
    read_agreement,
)
from segarena_studio.annotation.assignment import (
    count_free_tasks,
    list_abandoned_tasks,
    next_task,
    select_open_tasks,
)
from segarena_studio.annotation.progress import (
    count_states,
    count_tasks_by_state,
    list_pictures,
    measure_work,
)
from segarena_studio.annotation.projects import (
    ProjectRules,
    change_project,
    create_project,
    list_members,
    list_projects_of,
    read_rules,
    read_segmenters,
    remove_project,
)
from segarena_studio.annotation.waiting_tasks import count_waiting, list_returned_tasks
from segarena_studio.assistance.offered_segmenters import assistants_of
from segarena_studio.orm_models import MEMBER_ROLES, STATES, Project
from segarena_studio.pages.form_errors import FormError, page_title, rejected_in_form
from segarena_studio.pages.rendering import studio_page

router = APIRouter(include_in_schema=False)
ON_A_PAGE = 48
"""Number of pictures on a page."""
_MOST_PAGES = 10**6
PROJECTS_ON_A_PAGE = 24
"""Number of projects on a page of the list."""


@router.get("/studio/projects")
@require_role("participant")
def list_projects(
    request: Request,
    text: str = "",
    role: str = "",
    state: str = "",
    view: str = "",
    page: int = 1,
) -> Response:
    """List the visitor's projects, each with the work that waits for the visitor, as cards or as a table."""
    site = site_of(request)
    visitor = visitor_of(request)
    me = visitor.person_id or 0
    asked = {
        "text": " ".join(text.split())[:100],
        "role": role if role in MEMBER_ROLES else "",
        "state": state if state in ("open", "closed") else "",
    }
    with site.database.reading() as session:
        found = list_projects_of(session, me, **asked, most=PROJECTS_ON_A_PAGE, page=page)
        counts = count_tasks_by_state(session, [project.id for project, _ in found.rows])
        waiting = count_waiting(session, found.rows, me)
        returned = list_returned_tasks(session, me)
    shown = [
        (project, role, counts[project.id], waiting[project.id]) for project, role in found.rows
    ]
    return studio_page(
        request,
        "projects.html",
        title="Projects",
        projects=shown,
        found=found,
        asked=asked,
        query=urlencode({**asked, "view": _view(view)}),
        view=_view(view),
        roles=MEMBER_ROLES,
        states=STATES,
        returned=returned,
    )


def _view(view: str) -> str:
    """Return how a list is shown: "table", or "" for cards."""
    return "table" if view == "table" else ""


@router.get("/studio/projects/new")
@require_role("organiser")
def show_new_project(request: Request) -> Response:
    """Show the form of a new project."""
    return new_page(request)


def new_page(request: Request, error: FormError | None = None) -> Response:
    """Return the page of a new project; with an error, its form has the typed values."""
    offered = list_segmenters(site_of(request))
    return studio_page(
        request,
        "project_new.html",
        title=page_title("New project", error),
        status=error.status if error else 200,
        rules=_typed_rules(error.values) if error else ProjectRules(name=""),
        offered=offered,
        chosen=_typed_segmenters(offered, error.values) if error else offered,
        error=error,
    )


@router.post("/studio/projects/new")
@require_role("organiser")
@rejected_in_form("rules", new_page)
def make_project(request: Request, form: LargeForm) -> Response:
    """Create a project."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        project = create_project(session, _rules(site, form), visitor.person_id or 0, site.now())
        log_action(session, request, "project made", project)
    return RedirectResponse(f"/studio/projects/{project.id}/settings#pictures", 303)


@router.get("/studio/projects/{project_id:int}")
@require_role("participant")
def show_project(
    request: Request,
    project_id: int,
    state: str = "",
    person: str = "",
    text: str = "",
    view: str = "",
    page: int = 1,
) -> Response:
    """Show the progress of a project: annotators see their own tasks, reviewers and leads all tasks."""
    site = site_of(request)
    visitor = visitor_of(request)
    me = visitor.person_id or 0
    # Larger numbers would overflow the integers that databases use for OFFSET.
    page = min(max(1, page), _MOST_PAGES)
    state = state if state in STATES else ""
    chosen = number_in(person)
    with site.database.reading() as session:
        project, role = find_project(session, project_id, me)
        sees_all = has_role(role, "reviewer")
        how: dict[str, Any] = {
            "state": state,
            "text": text[:100],
            # Annotators see only their own tasks, whatever the address requests.
            "of_person": chosen if sees_all else None,
        }
        shown, count = list_pictures(
            session,
            project,
            person_id=None if sees_all else me,
            most=ON_A_PAGE,
            begin=ON_A_PAGE * (page - 1),
            **how,
        )
        values: dict[str, Any] = {
            "counts": count_states(session, project.id) if sees_all else None,
            "own": list(session.scalars(select_open_tasks(project.id, me))),
            "free": count_free_tasks(session, project, me),
            "members": list_members(session, project) if sees_all else [],
            "returned": list_returned_tasks(session, me, project.id),
        }
        measured = read_agreement(session, project.id) if sees_all else ()
        is_behind = sees_all and bool(find_pending_pairs(session, project.id, 1))
    query = urlencode(
        {
            "state": state,
            "person": person if chosen else "",
            "text": text[:100],
            "view": _view(view),
        }
    )
    values |= {
        "view": _view(view),
        "is_filtered": bool(state or chosen or text[:100]),
        "project": project,
        "role": role,
        "sees_all": sees_all,
        "me": me,
        "is_behind": is_behind,
        "states": STATES,
    }
    values |= {"shown": shown, "count": count, "asked": how, "query": query}
    values |= {"agreement": agreement_table(measured), "agreed": agreement_by_picture(measured)}
    values |= {"number": page, "pages": max(1, math.ceil(count / ON_A_PAGE))}
    answer = studio_page(request, "project.html", title=project.name, **values)
    if is_behind:
        # Run after the response, so that the visitor need not wait.
        answer.background = BackgroundTask(compare_pending, site, project_id)
    return answer


@router.post("/studio/projects/{project_id:int}/next")
@require_role("participant")
def go_on(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Redirect to the visitor's next task, or to the project if there is none."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        project, _ = find_project(session, project_id, visitor.person_id)
        task = next_task(
            session,
            project,
            visitor.person_id or 0,
            besides=number_in(form.get("besides", "")),
        )
    address = f"/studio/projects/{project_id}?done=1"
    if task:
        address = f"/studio/tasks/{task.id}"
    return RedirectResponse(address, 303)


@router.get("/studio/projects/{project_id:int}/people")
@require_role("participant")
def show_people(
    request: Request,
    project_id: int,
    since: str = "",
    until: str = "",
) -> Response:
    """Show everybody's work and times; annotators see only their own."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        project, role = find_project(session, project_id, visitor.person_id)
        work = measure_work(
            session,
            project,
            since=parse_day(since),
            until=parse_day(until, after=1),
        )
        measured = read_agreement(session, project.id)
    sees_all = has_role(role, "reviewer")
    shown = [one for one in work if sees_all or one.person_id == visitor.person_id]
    days = {"since": since if parse_day(since) else "", "until": until if parse_day(until) else ""}
    values: dict[str, Any] = {
        "project": project,
        "role": role,
        "work": shown,
        "states": STATES,
        **days,
    }
    values["agreed"] = agreement_by_annotator(measured) if sees_all else {}
    return studio_page(request, "people.html", title=f"People of {project.name}", **values)


@router.get("/studio/projects/{project_id:int}/settings")
@require_role("participant")
def show_settings(request: Request, project_id: int) -> Response:
    """Show the settings of a project to its lead."""
    return settings_page(request, project_id)


def rejected_settings(
    request: Request,
    error: FormError,
    project_id: int,
) -> Response:
    """Return the settings page with the error in one of its forms."""
    return settings_page(request, project_id, error=error)


@router.post("/studio/projects/{project_id:int}/settings")
@require_role("participant")
@rejected_in_form("rules", rejected_settings)
def change_settings(
    request: Request,
    project_id: int,
    form: LargeForm,
) -> Response:
    """Change the settings."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        change_project(session, project, _rules(site, form))
        log_action(session, request, "project changed", project)
    return RedirectResponse(f"/studio/projects/{project_id}/settings", 303)


@router.post("/studio/projects/{project_id:int}/state")
@require_role("participant")
@rejected_in_form("state", rejected_settings)
def change_state(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Open or close a project."""
    site = site_of(request)
    visitor = visitor_of(request)
    state = form.get("state", "")
    if state not in ("open", "closed"):
        raise http_errors.invalid("state: expected open or closed")
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        project.state = state
        log_action(session, request, f"project {state}", project)
    return RedirectResponse(f"/studio/projects/{project_id}/settings", 303)


@router.post("/studio/projects/{project_id:int}/remove")
@require_role("participant")
@rejected_in_form("remove", rejected_settings)
def remove(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Delete a project with all drawings, after its name was typed as a confirmation."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        # Typing the name prevents deletion by an accidental click; nothing can be restored.
        if " ".join(form.get("name", "").split()) != project.name:
            raise InvalidInput(f"to delete the project, type its name: {project.name}")
        log_action(session, request, "project removed", project, project.name)
        remove_project(session, site.folder, project)
    return RedirectResponse("/studio/projects", 303)


def settings_page(
    request: Request,
    project_id: int,
    *,
    error: FormError | None = None,
    **results: Any,
) -> Response:
    """Return the settings page, with the results of an action or the error in a form."""
    site = site_of(request)
    offered = list_segmenters(site)
    visitor = visitor_of(request)
    with site.database.reading() as session:
        project, role = find_project(session, project_id, visitor.person_id, needed="lead")
        page_values: dict[str, Any] = {
            "members": list_members(session, project),
            "counts": count_states(session, project.id),
            "free": count_free_tasks(session, project, 0),
            "left_behind": list_abandoned_tasks(session, project.id),
            "chosen": assistants_of(site).among(read_segmenters(project)),
            "dealt": "",
            "added": None,
            "started": None,
            "invited": None,
            "letters": [],
            "rules": read_rules(project),
            **results,
        }
    if error and error.form == "rules":
        page_values["rules"] = _typed_rules(error.values)
        page_values["chosen"] = _typed_segmenters(offered, error.values)
    return studio_page(
        request,
        "project_settings.html",
        title=page_title(f"Settings of {project.name}", error),
        status=error.status if error else 200,
        project=project,
        role=role,
        offered=offered,
        roots=site.settings.roots,
        error=error,
        **page_values,
    )


def list_segmenters(site: Site) -> tuple[str, ...]:
    """Return the segmenters that may answer prompts in the editor."""
    return tuple(assistants_of(site).segmenters)


def log_action(
    session: Session,
    request: Request,
    action: str,
    project: Project,
    more: str = "",
) -> None:
    """Write an action on a project to the audit log."""
    visitor = visitor_of(request)
    now = site_of(request).now()
    about = f"project {project.id}"
    if more:
        about += f": {more}"
    record_event(session, now, action, about, person_id=visitor.person_id, address=visitor.address)


def parse_day(text: str, *, after: int = 0) -> float | None:
    """Return the time at which a day begins in UTC, shifted by some days; None for an invalid date."""
    try:
        day = datetime.date.fromisoformat(text) + datetime.timedelta(days=after)
        return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _typed_rules(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings as typed, for the fields of the form; they may be invalid."""
    return {
        "name": values.get("name", ""),
        "guide": values.get("guide", ""),
        "labels": values.get("labels", "").splitlines(),
        "attributes": values.get("attributes", ""),
        "has_videos": values.get("has_videos", "") == "yes",
        "annotators": values.get("annotators", ""),
        "is_free": values.get("is_free", "") == "yes",
        "is_reviewed": values.get("is_reviewed", "") == "yes",
        "seed": values.get("seed", ""),
    }


def _typed_segmenters(offered: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in offered if values.get(f"segmenter:{name}"))


def _rules(site: Site, form: dict[str, str]) -> ProjectRules:
    seed_text = form.get("seed", "").strip()
    annotators = number_in(form.get("annotators", "1"))
    seed = number_in(seed_text)
    if annotators is None or (seed_text and seed is None):
        raise InvalidInput(
            "annotators of a picture and seed: expected whole numbers of at most nine digits"
        )
    return ProjectRules(
        name=form.get("name", ""),
        # Browsers send lines that end in \r\n.
        guide=form.get("guide", "").replace("\r\n", "\n"),
        labels=tuple(form.get("labels", "").splitlines()),
        attributes=form.get("attributes", ""),
        segmenters=tuple(name for name in list_segmenters(site) if form.get(f"segmenter:{name}")),
        has_videos=form.get("has_videos", "") == "yes",
        annotators=annotators,
        is_free=form.get("is_free", "") == "yes",
        is_reviewed=form.get("is_reviewed", "") == "yes",
        seed=seed,
    )
