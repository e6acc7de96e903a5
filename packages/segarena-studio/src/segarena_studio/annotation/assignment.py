"""Assignment of tasks: the next free one on request, or dealt out by a lead; balanced, by the seed.

Nobody annotates a picture twice. Pictures with the fewest annotators come first, so that every
picture is annotated once before any is annotated twice; ties follow the order of the project's
seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Select, delete, exists, func, select
from sqlalchemy.orm import Session, aliased

from segarena_server.db.orm_models import Person
from segarena_server.http import http_errors
from segarena_studio.annotation.access import OPEN_STATES
from segarena_studio.orm_models import LogSegment, Member, Picture, Project, Task

_ORDER = {"returned": 0, "in progress": 1, "clean": 2}
"""Priority of a person's own tasks: those that others wait for come first."""


def next_task(
    session: Session, project: Project, person_id: int, *, besides: int | None = None
) -> Task | None:
    """Return the task that a person annotates next and assign it to them; None when there is none.

    Args:
        session: writes.
        project: a project of which the person is a member.
        person_id: who asks.
        besides: a task that the person wants to leave for later.
    """
    if project.state != "open":
        return None
    # Lock the membership, so that two requests at once get the same task.
    session.get(Member, (project.id, person_id), with_for_update=True)
    own = [
        task
        for task in session.scalars(select_open_tasks(project.id, person_id))
        if task.id != besides
    ]
    if own:
        # `min` keeps the first of equal tasks, which is the first by the seed.
        return min(own, key=lambda task: _ORDER[task.state])
    if not project.is_free:
        return None
    free = _select_free_tasks(project.id, person_id).limit(1)
    task = session.scalar(free.with_for_update(of=Task, skip_locked=True))
    if task is not None:
        task.person_id = person_id
        session.flush()
    return task


def select_open_tasks(project_id: int, person_id: int) -> Select[Task]:
    """Select a person's tasks that are still to be annotated, in the order of the project."""
    found = select(Task).join(Picture, Picture.id == Task.picture_id)
    own = found.where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state.in_(OPEN_STATES)
    )
    return own.order_by(Picture.place, Task.id)


def count_free_tasks(session: Session, project: Project, person_id: int) -> int:
    """Return how many more tasks a person could get."""
    if project.state != "open" or not project.is_free:
        return 0
    free = (
        _select_free_tasks(project.id, person_id)
        .order_by(None)
        .with_only_columns(func.count(Task.picture_id.distinct()))
    )
    return session.scalar(free) or 0


def deal_tasks(session: Session, project: Project, people: Sequence[int]) -> int:
    """Deal the free tasks out evenly; return how many tasks nobody could get.

    Each task goes to the member with the fewest tasks who does not have its picture yet; the seed
    breaks ties.
    """
    # The lock keeps tasks that people request at the same time with those people.
    query = (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project.id)
        .order_by(Picture.place, Task.id)
        .with_for_update(of=Task)
    )
    tasks = list(session.scalars(query))
    counts = Counter(task.person_id for task in tasks)
    owners: dict[int, set[int | None]] = {}
    for task in tasks:
        owners.setdefault(task.picture_id, set()).add(task.person_id)
    rng = np.random.default_rng((project.seed, len(tasks)))
    left = 0
    for task in tasks:
        if task.person_id is not None:
            continue
        candidates = [person for person in people if person not in owners[task.picture_id]]
        if not candidates:
            left += 1
            continue
        lots = dict(zip(candidates, rng.random(len(candidates)), strict=True))
        person_id = min(candidates, key=lambda person: (counts[person], lots[person]))
        task.person_id = person_id
        owners[task.picture_id].add(person_id)
        counts[person_id] += 1
    session.flush()
    return left


def is_assignable(session: Session, task: Task) -> bool:
    """Tell whether a task can be reassigned: nobody began it, or its annotator left it unfinished."""
    if task.state == "clean":
        return True
    is_free = (
        task.person_id is None or session.get(Member, (task.project_id, task.person_id)) is None
    )
    return is_free and task.state in OPEN_STATES


def assign_task(session: Session, task: Task, person_id: int | None) -> None:
    """Assign a task to a member, or free it with None.

    The next annotator keeps the drawing and the sums of times of the previous one, but not their
    log or undo history.

    Raises:
        Refusal: the task cannot be reassigned, or the person is not a member or has this picture
            already.
    """
    if not is_assignable(session, task):
        raise http_errors.conflict(
            f"this task is {task.state} and belongs to its annotator; it can be reassigned once they have left"
            " the project and it is not finished"
        )
    if person_id is not None:
        if session.get(Member, (task.project_id, person_id), with_for_update=True) is None:
            raise http_errors.invalid("expected a member of the project; add them first")
        same = select(Task.id).where(
            Task.picture_id == task.picture_id, Task.person_id == person_id
        )
        if session.scalar(same) not in (None, task.id):
            raise http_errors.conflict(
                "they have this picture already; nobody annotates a picture twice"
            )
    if task.person_id is not None:
        _delete_history(session, [task])
    task.person_id = person_id
    session.flush()


def list_abandoned_tasks(session: Session, project_id: int) -> list[tuple[Person, int]]:
    """Return people who left a project with unfinished tasks, and how many."""
    members = select(Member.person_id).where(Member.project_id == project_id)
    query = (
        select(Person, func.count(Task.id))
        .join(Person, Person.id == Task.person_id)
        .where(Task.project_id == project_id, Task.state.in_(OPEN_STATES))
        .where(Task.person_id.not_in(members))
        .group_by(Person.id)
        .order_by(Person.folded)
    )
    return [(person, count) for person, count in session.execute(query)]


def release_begun_tasks(session: Session, project_id: int, person_id: int) -> None:
    """Free the unfinished tasks of somebody who left a project, so that others can go on with them.

    Raises:
        Refusal: the person is still a member.
    """
    if session.get(Member, (project_id, person_id), with_for_update=True) is not None:
        raise http_errors.conflict("they are still in the project; remove them first")
    own = select(Task).where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state.in_(OPEN_STATES)
    )
    tasks = list(session.scalars(own.with_for_update(of=Task)))
    _delete_history(session, tasks)
    for task in tasks:
        task.person_id = None
    session.flush()


def _delete_history(session: Session, tasks: Sequence[Task]) -> None:
    """Delete log and undo history of tasks before others go on with them."""
    session.connection().execute(
        delete(LogSegment).where(LogSegment.task_id.in_([task.id for task in tasks]))
    )
    for task in tasks:
        task.history = None
        task.logged_ms = None


def release_clean_tasks(session: Session, project_id: int, person_id: int) -> None:
    """Free the tasks that somebody leaving a project has not begun."""
    own = select(Task).where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state == "clean"
    )
    for task in session.scalars(own):
        task.person_id = None


def _select_free_tasks(project_id: int, person_id: int) -> Select[Task]:
    """Select the tasks that a person could get, the next one first; some start from annotations of a file."""
    same_picture = aliased(Task)
    annotators = (
        select(func.count(same_picture.person_id))
        .where(same_picture.picture_id == Task.picture_id)
        .scalar_subquery()
    )
    own = aliased(Task)
    has_picture = exists().where(own.picture_id == Task.picture_id, own.person_id == person_id)
    return (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project_id, Task.person_id.is_(None))
        .where(Task.state.in_(OPEN_STATES), ~has_picture)
        .order_by(annotators, Picture.place, Task.id)
    )
