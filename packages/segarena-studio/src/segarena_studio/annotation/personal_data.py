"""What is kept about somebody who draws, to take along, and what of it goes with their account.

What they drew stays with the project, and so do comments, counts and sums of times, under a number; the log of what
they did when, and what they could undo, go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from segarena.errors import InvalidInput
from segarena_server.extensions.site_sections import Kept
from segarena_server.site import Site
from segarena_server.storage.compression import unpack
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
    """Return projects, tasks, comments and decisions of somebody."""
    asked = select(Project.name, Member.role, Member.made_at).join(
        Member, Member.project_id == Project.id
    )
    members = session.execute(asked.where(Member.person_id == person_id).order_by(Project.id))
    tasks = select(Task, Picture.name, Project.name).join(Picture, Picture.id == Task.picture_id)
    tasks = tasks.join(Project, Project.id == Task.project_id).where(Task.person_id == person_id)
    comments = select(Comment).where(Comment.person_id == person_id).order_by(Comment.id)
    decisions = select(Decision).where(Decision.person_id == person_id).order_by(Decision.id)
    return {
        "projects": [{"name": row[0], "role": row[1], "since": row[2]} for row in members],
        "tasks": [
            {name: getattr(row[0], name) for name in _OF_TASK}
            | {"picture": row[1], "project": row[2]}
            for row in session.execute(tasks.order_by(Task.id))
        ],
        "comments": [
            _columns(one, "task_id", "text", "x", "y", "made_at")
            for one in session.scalars(comments)
        ],
        "decisions": [
            _columns(one, "task_id", "kind", "text", "made_at")
            for one in session.scalars(decisions)
        ],
    }


def files(site: Site, person_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield the scenes that somebody drew, each with the log of what they did."""
    with site.database.reading() as session:
        numbers = list(
            session.scalars(select(Task.id).where(Task.person_id == person_id, Task.revision > 0))
        )
    for number in numbers:
        with site.database.reading() as session:
            task = session.get_one(Task, number)
            scene = read_newest_draft(session, task).scene
            rows = session.scalars(
                select(LogSegment).where(LogSegment.task_id == number).order_by(LogSegment.revision)
            )
            log = [msgspec.Raw(unpack(row.entries)) for row in rows]
        yield f"{number}.json", msgspec.json.encode({"scene": scene, "log": log})


def forget(session: Session, folder: DataFolder, person_id: int, now: float) -> None:
    """Take somebody out of all projects; one in which nobody else is goes with them, and so do its photographs.

    Raises:
        InvalidInput: they alone lead a project in which others are.
    """
    del now
    connection = session.connection()
    for member in session.scalars(select(Member).where(Member.person_id == person_id)):
        project = session.get_one(Project, member.project_id)
        others = select(func.count(Member.person_id)).where(
            Member.project_id == project.id, Member.person_id != person_id
        )
        if not session.scalar(others):
            remove_project(session, folder, project)
            continue
        if member.role == "lead" and not session.scalar(others.where(Member.role == "lead")):
            raise InvalidInput(
                f"project {project.name!r} is led by nobody else: make somebody else a lead there first"
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


KEPT = Kept(about=about, files=files, forget=forget)
