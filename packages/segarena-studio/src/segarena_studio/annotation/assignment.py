"""Who annotates what: the next free task for whoever asks, or tasks dealt out to named people; balanced, by the seed.

Nobody gets a picture twice. Among free tasks those come first whose picture fewest people have, so that every picture
is annotated once before any is annotated twice; pictures come in the order of the project's seed.
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
"""Of one's own tasks: what somebody waits for comes first."""


def next_task(
    session: Session, project: Project, person_id: int, *, besides: int | None = None
) -> Task | None:
    """Return what somebody is to annotate next, and give it to them; None when there is nothing.

    Args:
        session: writes.
        project: where they are a member.
        person_id: who asks.
        besides: a task that they want to leave for later.
    """
    if project.state != "open":
        return None
    session.get(
        Member, (project.id, person_id), with_for_update=True
    )  # who asks twice at once is given one task
    own = [
        task
        for task in session.scalars(select_open_tasks(project.id, person_id))
        if task.id != besides
    ]
    if own:
        return min(own, key=lambda task: _ORDER[task.state])  # of equal ones the first by the seed
    if not project.is_free:
        return None
    task = session.scalar(
        _free(project.id, person_id).limit(1).with_for_update(of=Task, skip_locked=True)
    )
    if task is not None:
        task.person_id = person_id
        session.flush()
    return task


def select_open_tasks(project_id: int, person_id: int) -> Select[Task]:
    """Return the selection of somebody's tasks that are to be annotated, in the order of the project."""
    found = select(Task).join(Picture, Picture.id == Task.picture_id)
    own = found.where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state.in_(OPEN_STATES)
    )
    return own.order_by(Picture.place, Task.id)


def count_free_tasks(session: Session, project: Project, person_id: int) -> int:
    """Return how many tasks somebody could still be given."""
    if project.state != "open" or not project.is_free:
        return 0
    free = (
        _free(project.id, person_id)
        .order_by(None)
        .with_only_columns(func.count(Task.picture_id.distinct()))
    )
    return session.scalar(free) or 0


def deal_tasks(session: Session, project: Project, people: Sequence[int]) -> int:
    """Deal the free tasks of a project out to people, each as many; return how many tasks nobody could be given.

    Whoever has fewest tasks is next, of those who do not have the picture yet; the seed decides between equals.
    """
    found = (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(Task.project_id == project.id)
    )
    held = found.order_by(Picture.place, Task.id).with_for_update(
        of=Task
    )  # whoever asks meanwhile keeps what they got
    tasks = list(session.scalars(held))
    counts = Counter(task.person_id for task in tasks)
    owners: dict[int, set[int | None]] = {}
    for task in tasks:
        owners.setdefault(task.picture_id, set()).add(task.person_id)
    rng = np.random.default_rng((project.seed, len(tasks)))
    left = 0
    for task in tasks:
        if task.person_id is not None:
            continue
        may = [person for person in people if person not in owners[task.picture_id]]
        if not may:
            left += 1
            continue
        chances = rng.random(len(may))
        person_id = min(
            zip(may, chances, strict=True), key=lambda pair: (counts[pair[0]], pair[1])
        )[0]
        task.person_id = person_id
        owners[task.picture_id].add(person_id)
        counts[person_id] += 1
    session.flush()
    return left


def is_assignable(session: Session, task: Task) -> bool:
    """Tell whether a task can be given to others: nobody began it, or who did left and it is not finished."""
    if task.state == "clean":
        return True
    is_free = (
        task.person_id is None or session.get(Member, (task.project_id, task.person_id)) is None
    )
    return is_free and task.state in OPEN_STATES


def assign_task(session: Session, task: Task, person_id: int | None) -> None:
    """Give a task to a member, or take it back with None.

    With what somebody left behind goes what they drew and how long it took, not what they did when, nor their undo.

    Raises:
        Refusal: it may not be given, they have the picture already, or are not in the project.
    """
    if not is_assignable(session, task):
        raise http_errors.conflict(
            f"this task is {task.state}, and its annotator's; it can be given to others when they are in the project no"
            " more and it is not finished"
        )
    if person_id is not None:
        if session.get(Member, (task.project_id, person_id), with_for_update=True) is None:
            raise http_errors.invalid("expected a member of the project; add them first")
        same = select(Task.id).where(
            Task.picture_id == task.picture_id, Task.person_id == person_id
        )
        if session.scalar(same) not in (None, task.id):
            raise http_errors.conflict("they have this picture already; nobody annotates one twice")
    if task.person_id is not None:
        _forget_how(session, [task])
    task.person_id = person_id
    session.flush()


def list_abandoned_tasks(session: Session, project_id: int) -> list[tuple[Person, int]]:
    """Return who is in a project no more and has tasks that are not finished, with how many."""
    members = select(Member.person_id).where(Member.project_id == project_id)
    begun = select(Person, func.count(Task.id)).join(Person, Person.id == Task.person_id)
    theirs = begun.where(
        Task.project_id == project_id, Task.state.in_(OPEN_STATES), Task.person_id.not_in(members)
    )
    return [
        (person, count)
        for person, count in session.execute(theirs.group_by(Person.id).order_by(Person.folded))
    ]


def release_begun_tasks(session: Session, project_id: int, person_id: int) -> None:
    """Let others go on with what somebody began who is in a project no more.

    Raises:
        Refusal: they are in it.
    """
    if session.get(Member, (project_id, person_id), with_for_update=True) is not None:
        raise http_errors.conflict("they are in the project; take them out of it first")
    own = select(Task).where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state.in_(OPEN_STATES)
    )
    tasks = list(session.scalars(own.with_for_update(of=Task)))
    _forget_how(session, tasks)
    for task in tasks:
        task.person_id = None
    session.flush()


def _forget_how(session: Session, tasks: Sequence[Task]) -> None:
    """Delete what somebody did when, and could undo, before others go on."""
    session.connection().execute(
        delete(LogSegment).where(LogSegment.task_id.in_([task.id for task in tasks]))
    )
    for task in tasks:
        task.history = None
        task.logged_ms = None


def release_clean_tasks(session: Session, project_id: int, person_id: int) -> None:
    """Take from somebody what they have not begun, as they leave a project."""
    own = select(Task).where(
        Task.project_id == project_id, Task.person_id == person_id, Task.state == "clean"
    )
    for task in session.scalars(own):
        task.person_id = None


def _free(project_id: int, person_id: int) -> Select[Task]:
    """Return the selection of tasks that somebody could be given, the next first; some begin with a file."""
    of_picture = aliased(Task)
    taken = (
        select(func.count(of_picture.person_id))
        .where(of_picture.picture_id == Task.picture_id)
        .scalar_subquery()
    )
    mine = aliased(Task)
    has_it = exists().where(mine.picture_id == Task.picture_id, mine.person_id == person_id)
    return (
        select(Task)
        .join(Picture, Picture.id == Task.picture_id)
        .where(
            Task.project_id == project_id,
            Task.person_id.is_(None),
            Task.state.in_(OPEN_STATES),
            ~has_it,
        )
        .order_by(taken, Picture.place, Task.id)
    )
