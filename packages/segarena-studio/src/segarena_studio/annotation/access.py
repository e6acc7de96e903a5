"""Who may see and do what in a project. What is not theirs sounds like what is not there."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena_server.http import http_errors
from segarena_studio.orm_models import MEMBER_ROLES, Member, Picture, Project, Task

OPEN_STATES = ("clean", "in progress", "returned")
"""States in which an annotator may draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAccess:
    """A task that somebody may see.

    Attributes:
        task: the task.
        picture: what is annotated.
        project: where it belongs.
        role: of who asks, in the project.
        is_own: whether they annotate it.
    """

    task: Task
    picture: Picture
    project: Project
    role: str
    is_own: bool

    @property
    def is_open(self) -> bool:
        """Whether who asks may draw on it."""
        return self.is_own and self.task.state in OPEN_STATES and self.project.state == "open"

    @property
    def may_review(self) -> bool:
        """Whether who asks may judge it: nobody judges their own work, but for a lead, who may be alone."""
        return has_role(self.role, "lead") or (has_role(self.role, "reviewer") and not self.is_own)


def has_role(role: str, needed: str) -> bool:
    """Tell whether a member of one role may do what another may."""
    return MEMBER_ROLES.index(role) >= MEMBER_ROLES.index(needed)


def find_project(
    session: Session,
    project_id: int,
    person_id: int | None,
    *,
    needed: str = "annotator",
    for_change: bool = False,
) -> tuple[Project, str]:
    """Return a project and the role that somebody has there.

    Args:
        session: reads, or writes with `for_change`.
        project_id: which.
        person_id: who asks.
        needed: the least role.
        for_change: whether nobody else may change the project meanwhile.

    Raises:
        Refusal: there is none, or they are not in it, or not in this role.
    """
    asked = select(Project, Member.role).join(Member, Member.project_id == Project.id)
    asked = asked.where(Project.id == project_id, Member.person_id == person_id)
    row = session.execute(asked.with_for_update(of=Project) if for_change else asked).one_or_none()
    if row is None or not has_role(row[1], needed):
        raise http_errors.unknown()
    return row[0], row[1]


def find_task(
    session: Session,
    task_id: int,
    person_id: int | None,
    *,
    needed: str = "annotator",
    for_change: bool = False,
) -> TaskAccess:
    """Return a task that somebody may see: annotators their own, reviewers and leads all of the project.

    Args:
        session: reads, or writes with `for_change`.
        task_id: which.
        person_id: who asks.
        needed: the least role in the project.
        for_change: whether nobody else may change the task meanwhile.

    Raises:
        Refusal: there is none, or it is not theirs to see.
    """
    asked = (
        select(Task, Picture, Project, Member.role)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Project, Project.id == Task.project_id)
        .join(Member, Member.project_id == Task.project_id)
        .where(Task.id == task_id, Member.person_id == person_id)
    )
    row = session.execute(asked.with_for_update(of=Task) if for_change else asked).one_or_none()
    if row is None or not has_role(row[3], needed):
        raise http_errors.unknown()
    task, picture, project, role = row
    is_own = task.person_id == person_id
    if not is_own and not has_role(role, "reviewer"):
        raise http_errors.unknown()
    return TaskAccess(task=task, picture=picture, project=project, role=role, is_own=is_own)
