"""Members of a project and assignment of tasks, for its leads."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from segarena_server import http_errors
from segarena_server.auth.permissions import require_role, site_of, visitor_of
from segarena_server.http.request_body import Form, LargeForm, number_in
from segarena_studio.annotation.access import find_project, find_task
from segarena_studio.annotation.assignment import assign_task, deal_tasks, release_begun_tasks
from segarena_studio.annotation.projects import list_members, remove_member, set_member
from segarena_studio.pages.form_errors import rejected_in_form
from segarena_studio.pages.projects import log_action, rejected_settings, settings_page
from segarena_studio.pages.review import rejected_review

router = APIRouter(include_in_schema=False)


@router.post("/studio/projects/{project_id:int}/members")
@require_role("participant")
@rejected_in_form("people", rejected_settings)
def put(
    request: Request,
    project_id: int,
    form: Form,
) -> Response:
    """Add or remove a member, change a role, or free the tasks that somebody left unfinished."""
    site = site_of(request)
    visitor = visitor_of(request)
    person = number_in(form.get("person", ""))
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        if form.get("do") == "remove" and person is not None:
            remove_member(session, project, person)
        elif form.get("do") == "free" and person is not None:
            release_begun_tasks(session, project.id, person)
        else:
            set_member(
                session,
                project,
                form.get("name", ""),
                form.get("role", "annotator"),
                site.now(),
            )
        log_action(session, request, "project members", project)
    return RedirectResponse(f"/studio/projects/{project_id}/settings#people", 303)


@router.post("/studio/projects/{project_id:int}/deal")
@require_role("participant")
@rejected_in_form("deal", rejected_settings)
def deal_out(
    request: Request,
    project_id: int,
    form: LargeForm,
) -> Response:
    """Distribute the free tasks among the chosen members."""
    site = site_of(request)
    visitor = visitor_of(request)
    chosen = {number_in(name.removeprefix("to:")) for name in form if name.startswith("to:")}
    with site.database.writing() as session:
        project, _ = find_project(
            session,
            project_id,
            visitor.person_id,
            needed="lead",
            for_change=True,
        )
        # Accept only members, because the form could name anybody.
        people = [person.id for person, _ in list_members(session, project) if person.id in chosen]
        if not people:
            raise http_errors.invalid("expected at least one chosen member; choose who gets tasks")
        left = deal_tasks(session, project, people)
        log_action(session, request, "tasks dealt", project)
    result = "All tasks are assigned."
    if left:
        remaining = "1 task remains" if left == 1 else f"{left} tasks remain"
        result = f"{remaining}, because the chosen members already have these pictures. Choose more members."
    return settings_page(request, project_id, dealt=result)


@router.post("/studio/tasks/{task_id:int}/give")
@require_role("participant")
@rejected_in_form("give", rejected_review)
def give_task(
    request: Request,
    task_id: int,
    form: Form,
) -> Response:
    """Assign a clean task, or one whose annotator has left, to a member, or free it."""
    site = site_of(request)
    visitor = visitor_of(request)
    with site.database.writing() as session:
        found = find_task(session, task_id, visitor.person_id, needed="lead", for_change=True)
        was_begun = found.task.state != "clean"
        assign_task(session, found.task, number_in(form.get("to", "")))
        if was_begun:
            log_action(session, request, "task handed on", found.project, f"task {task_id}")
    return RedirectResponse(f"/studio/tasks/{task_id}/look", 303)
