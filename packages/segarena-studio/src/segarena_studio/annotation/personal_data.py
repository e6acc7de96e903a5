"""Personal data of annotators: the copy that they can download, and deletion together with their account.

When an account is deleted, its drawings, comments, counts and total times stay with the project,
under a number; the activity log and the undo history are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.extensions.site_sections import PersonalDataSource
from segarena_server.site import Site
from segarena_server.storage.compression import decompress_body
from segarena_server.storage.data_folder import DataFolder
from segarena_studio.annotation.assignment import release_clean_tasks
from segarena_studio.annotation.drafts import read_newest_draft
from segarena_studio.annotation.projects import remove_project
from segarena_studio.orm_models import Comment, Decision, LogSegment, Member, Picture, Project, Task

_OF_TASK = (
    "id",
    "state",
    "saved_at",
    "finished_at",
    "regions",
    "points",
    "annotation_ms",
    "total_ms",
    "active_ms",
)


def about(session: Session, person_id: int) -> dict[str, Any]:
    """Return projects, tasks, comments and decisions of a person."""
    members = (
        select(Project.name, Member.role, Member.made_at)
        .join(Member, Member.project_id == Project.id)
        .where(Member.person_id == person_id)
        .order_by(Project.id)
    )
    comments = select(Comment).where(Comment.person_id == person_id).order_by(Comment.id)
    decisions = select(Decision).where(Decision.person_id == person_id).order_by(Decision.id)
    return {
        "projects": [
            {"name": name, "role": role, "since": since}
            for name, role, since in session.execute(members)
        ],
        "tasks": _tasks(session, person_id),
        "comments": [
            _columns(comment, "task_id", "text", "x", "y", "made_at")
            for comment in session.scalars(comments)
        ],
        "decisions": [
            _columns(decision, "task_id", "kind", "text", "made_at")
            for decision in session.scalars(decisions)
        ],
    }


def _tasks(session: Session, person_id: int) -> list[dict[str, Any]]:
    query = (
        select(Task, Picture.name, Project.name)
        .join(Picture, Picture.id == Task.picture_id)
        .join(Project, Project.id == Task.project_id)
        .where(Task.person_id == person_id)
        .order_by(Task.id)
    )
    rows = session.execute(query)
    return [
        {**_columns(task, *_OF_TASK), "picture": picture, "project": project}
        for task, picture, project in rows
    ]


def files(site: Site, person_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield the scenes that a person drew, each with its activity log."""
    with site.database.reading() as session:
        begun = select(Task.id).where(Task.person_id == person_id, Task.revision > 0)
        numbers = list(session.scalars(begun))
    # Yield one at a time, so that not all drawings are in memory at once.
    for number in numbers:
        with site.database.reading() as session:
            task = session.get_one(Task, number)
            scene = read_newest_draft(session, task).scene
            rows = session.scalars(
                select(LogSegment).where(LogSegment.task_id == number).order_by(LogSegment.revision)
            )
            log = [msgspec.Raw(decompress_body(row.entries)) for row in rows]
        yield f"{number}.json", msgspec.json.encode({"scene": scene, "log": log})


def forget(
    session: Session,
    folder: DataFolder,
    person_id: int,
    now: float,
) -> None:
    """Remove a person from all projects; delete projects without other members, including their photographs.

    Raises:
        InvalidInput: the person is the only lead of a project that has other members.
    """
    del now
    connection = session.connection()
    for member in session.scalars(select(Member).where(Member.person_id == person_id)):
        project = session.get_one(Project, member.project_id)
        others = select(func.count(Member.person_id)).where(
            Member.project_id == project.id, Member.person_id != person_id
        )
        # Nobody could open a project without members.
        if not session.scalar(others):
            remove_project(session, folder, project)
            continue
        if member.role == "lead" and not session.scalar(others.where(Member.role == "lead")):
            raise InvalidInput(
                f"project {project.name!r} has no other lead: make somebody else a lead first"
            )
        release_clean_tasks(session, project.id, person_id)
        session.flush()
        connection.execute(
            delete(Member).where(Member.project_id == project.id, Member.person_id == person_id)
        )
    own = select(Task.id).where(Task.person_id == person_id)
    connection.execute(delete(LogSegment).where(LogSegment.task_id.in_(own)))
    connection.execute(
        update(Task).where(Task.person_id == person_id).values(history=None, logged_ms=None)
    )


def _columns(row: object, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


KEPT = PersonalDataSource(
    about=about,
    files=files,
    forget=forget,
)
