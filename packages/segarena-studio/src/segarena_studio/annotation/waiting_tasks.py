"""Tasks that wait for a person: to be drawn, to be corrected after a return, or to be reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from segarena_server.extensions.site_sections import SectionNotice
from segarena_server.site import Site
from segarena_studio.annotation.access import OPEN_STATES, has_role
from segarena_studio.annotation.assignment import count_free_tasks
from segarena_studio.annotation.invitations import find_pending_invitation
from segarena_studio.orm_models import Comment, Decision, Member, Picture, Project, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingTasks:
    """Numbers of tasks in one project that wait for a person; all are 0 in a closed project.

    Attributes:
        own: unfinished tasks of the person, including the returned ones.
        returned: own tasks that a reviewer returned.
        free: further tasks that the person could take.
        review: finished tasks of other people that the person may review.
    """

    own: int = 0
    returned: int = 0
    free: int = 0
    review: int = 0

    @property
    def to_draw(self) -> int:
        """Number of pictures that the person can annotate."""
        return self.own + self.free


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedTask:
    """A task that a reviewer returned to its annotator.

    Attributes:
        task: the task.
        picture: name of the picture.
        project: name of the project.
        reason: explanation of the reviewer; "" without one.
        comments: number of unresolved comments.
    """

    task: Task
    picture: str
    project: str
    reason: str
    comments: int


def count_waiting(
    session: Session,
    projects: Sequence[tuple[Project, str]],
    person_id: int,
) -> dict[int, WaitingTasks]:
    """Return how many tasks of each kind wait for a person, by project id.

    Args:
        session: read session.
        projects: projects of the person, with the person's role in each.
        person_id: the person.
    """
    ids = [project.id for project, _ in projects]
    own: dict[int, int] = {}
    returned: dict[int, int] = {}
    for project_id, state, count in session.execute(
        select(Task.project_id, Task.state, func.count(Task.id))
        .where(Task.project_id.in_(ids), Task.person_id == person_id)
        .where(Task.state.in_(OPEN_STATES))
        .group_by(Task.project_id, Task.state)
    ):
        own[project_id] = own.get(project_id, 0) + count
        if state == "returned":
            returned[project_id] = count
    finished_by_others = (
        select(Task.project_id, func.count(Task.id))
        # `!=` would exclude tasks without an annotator, because comparisons with NULL are not true
        # in SQL.
        .where(Task.project_id.in_(ids), Task.person_id.is_distinct_from(person_id))
        .where(Task.state == "finished")
        .group_by(Task.project_id)
    )
    finished = {row[0]: row[1] for row in session.execute(finished_by_others)}
    waiting: dict[int, WaitingTasks] = {}
    for project, role in projects:
        if project.state != "open":
            waiting[project.id] = WaitingTasks()
            continue
        reviews = project.is_reviewed and has_role(role, "reviewer")
        waiting[project.id] = WaitingTasks(
            own=own.get(project.id, 0),
            returned=returned.get(project.id, 0),
            free=count_free_tasks(session, project, person_id),
            review=finished.get(project.id, 0) if reviews else 0,
        )
    return waiting


def find_work_page(site: Site, person_id: int) -> str:
    """Return the path of the page on which a person's annotation work waits, or "" if none waits.

    An invitation that created the account comes first. Otherwise it is the project's page, or the list of projects
    if several have work. Free tasks are work for annotators only, because reviewers and leads rarely draw.
    """
    query = (
        select(Project, Member.role)
        .join(Member, Member.project_id == Project.id)
        .where(Member.person_id == person_id, Project.state == "open")
        .order_by(Project.id)
    )
    with site.database.reading() as session:
        if find_pending_invitation(session, site, person_id) is not None:
            return "/studio/join"
        projects = [(project, role) for project, role in session.execute(query)]
        waiting = count_waiting(session, projects, person_id)
    found: list[int] = []
    for project, role in projects:
        here = waiting[project.id]
        if here.own or here.review or (here.free and role == "annotator"):
            found.append(project.id)
    if not found:
        return ""
    return f"/studio/projects/{found[0]}" if len(found) == 1 else "/studio/projects"


def find_returned_notice(session: Session, person_id: int) -> SectionNotice | None:
    """Return the number of tasks that were returned to a person, for the navigation; None if there are none."""
    returned = _select_returned(person_id).with_only_columns(func.count(Task.id)).order_by(None)
    count = session.scalar(returned) or 0
    if not count:
        return None
    return SectionNotice(
        count=count,
        text=f"{count} {'picture' if count == 1 else 'pictures'} returned to you",
    )


def list_returned_tasks(
    session: Session,
    person_id: int,
    project_id: int | None = None,
    most: int = 50,
) -> list[ReturnedTask]:
    """Return the tasks that were returned to a person, in the order of their projects.

    Args:
        session: read session.
        person_id: the annotator.
        project_id: return only tasks of this project; None returns those of all projects.
        most: maximum number of tasks.
    """
    comments = (
        select(func.count(Comment.id))
        .where(Comment.task_id == Task.id, Comment.done_at.is_(None))
        .scalar_subquery()
    )
    newest_return = (
        select(Decision.text)
        .where(Decision.task_id == Task.id, Decision.kind.in_(("returned", "reopened")))
        .order_by(Decision.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    query = _select_returned(person_id).with_only_columns(
        Task, Picture.name, Project.name, newest_return, comments
    )
    if project_id is not None:
        query = query.where(Task.project_id == project_id)
    tasks: list[ReturnedTask] = []
    for task, picture, project, reason, count in session.execute(query.limit(most)):
        tasks.append(
            ReturnedTask(
                task=task,
                picture=picture,
                project=project,
                reason=reason or "",
                comments=count,
            )
        )
    return tasks


def _select_returned(person_id: int) -> Select[Task]:
    """Select a person's returned tasks in open projects that the person has not left."""
    return (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Project, Project.id == Task.project_id)
        .join(Member, Member.project_id == Task.project_id)
        .where(Task.person_id == person_id, Member.person_id == person_id)
        .where(Task.state == "returned", Project.state == "open")
        .order_by(Project.id, Picture.place, Picture.name, Task.id)
    )
