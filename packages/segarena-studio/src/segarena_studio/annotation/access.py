"""Access rules of projects and tasks; without permission the answer is as for a missing page."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.http import http_errors
from segarena_studio.orm_models import MEMBER_ROLES, Member, Picture, Project, Task

OPEN_STATES = ("clean", "in progress", "returned")
"""Task states in which the annotator may draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAccess:
    """A task together with what one person may do with it.

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

        Nobody judges their own work, except a lead, who may be the only member.
        """
        return has_role(self.role, "lead") or (has_role(self.role, "reviewer") and not self.is_own)


def has_role(role: str, needed: str) -> bool:
    """Tell whether a member's role includes the rights of another role."""
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
        session: reads; writes with `for_change`.
        project_id: number of the project.
        person_id: who asks.
        needed: the lowest role that is allowed.
        for_change: whether to lock the project against other changes.

    Raises:
        Refusal: no such project, not a member, or a role below `needed`.
    """
    query = select(Project, Member.role).join(Member, Member.project_id == Project.id)
    query = query.where(Project.id == project_id, Member.person_id == person_id)
    if for_change:
        query = query.with_for_update(of=Project)
    row = session.execute(query).one_or_none()
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
    """Return a task: annotators find their own tasks, reviewers and leads every task of the project.

    Args:
        session: reads; writes with `for_change`.
        task_id: number of the task.
        person_id: who asks.
        needed: the lowest role in the project that is allowed.
        for_change: whether to lock the task against other changes.

    Raises:
        Refusal: no such task, or the person may not see it.
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
    may_see = is_own or has_role(role, "reviewer")
    if not may_see or not has_role(role, needed):
        raise http_errors.unknown()
    return TaskAccess(task=task, picture=picture, project=project, role=role, is_own=is_own)
