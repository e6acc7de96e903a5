"""Access rules for projects and tasks; without permission, the response is the same as for a missing page."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server import http_errors
from segarena_studio.orm_models import MEMBER_ROLES, Member, Picture, Project, Task

OPEN_STATES = ("clean", "in progress", "returned")
"""Task states in which the annotator may draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAccess:
    """A task, and what one person may do with it.

    Attributes:
        task: the task.
        picture: the picture to annotate.
        project: the project of the task.
        role: the person's role in the project.
        is_own: whether the person is the annotator of the task.
    """

    task: Task
    picture: Picture
    project: Project
    role: str
    is_own: bool

    @property
    def is_open(self) -> bool:
        """Whether this person may draw on the task."""
        return self.is_own and self.task.state in OPEN_STATES and self.project.state == "open"

    @property
    def may_review(self) -> bool:
        """Whether this person may judge the task.

        Nobody may judge their own work, except a lead, who may be the only member.
        """
        return has_role(self.role, "lead") or (has_role(self.role, "reviewer") and not self.is_own)


def has_role(role: str, needed: str) -> bool:
    """Return whether a member's role includes the rights of another role."""
    # The roles are ordered: each one includes the rights of those before it.
    return MEMBER_ROLES.index(role) >= MEMBER_ROLES.index(needed)


def find_project(
    session: Session,
    project_id: int,
    person_id: int | None,
    *,
    needed: str = "annotator",
    for_change: bool = False,
) -> tuple[Project, str]:
    """Return a project and the role of a person in it.

    Args:
        session: database session; a write session if `for_change` is set.
        project_id: number of the project.
        person_id: the person who requests access.
        needed: the lowest role that is allowed.
        for_change: whether to lock the project against concurrent changes.

    Raises:
        Refusal: the project does not exist, or the person is not a member or has a role below
            `needed`.
    """
    query = select(Project, Member.role).join(Member, Member.project_id == Project.id)
    query = query.where(Project.id == project_id, Member.person_id == person_id)
    if for_change:
        query = query.with_for_update(of=Project)
    row = session.execute(query).one_or_none()
    # Missing and forbidden projects get the same response: a 403 would reveal that a project
    # exists.
    if row is None:
        raise http_errors.unknown()
    project, role = row
    if not has_role(role, needed):
        raise http_errors.unknown()
    return project, role


def find_task(
    session: Session,
    task_id: int,
    person_id: int | None,
    *,
    needed: str = "annotator",
    for_change: bool = False,
) -> TaskAccess:
    """Return a task: annotators can access their own tasks, reviewers and leads all tasks of the project.

    Args:
        session: database session; a write session if `for_change` is set.
        task_id: number of the task.
        person_id: the person who requests access.
        needed: the lowest role in the project that is allowed.
        for_change: whether to lock the task against concurrent changes.

    Raises:
        Refusal: the task does not exist, or the person may not access it.
    """
    query = (
        select(Task, Picture, Project, Member.role)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Project, Project.id == Task.project_id)
        .join(Member, Member.project_id == Task.project_id)
        .where(Task.id == task_id, Member.person_id == person_id)
    )
    if for_change:
        query = query.with_for_update(of=Task)
    row = session.execute(query).one_or_none()
    if row is None:
        raise http_errors.unknown()
    task, picture, project, role = row
    is_own = task.person_id == person_id
    # Annotators must not see each other's drawings, because copying would inflate their agreement.
    may_see = is_own or has_role(role, "reviewer")
    if not may_see or not has_role(role, needed):
        raise http_errors.unknown()
    return TaskAccess(
        task=task,
        picture=picture,
        project=project,
        role=role,
        is_own=is_own,
    )
